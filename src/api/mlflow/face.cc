#include "api/mlflow/face.h"

#include <array>
#include <deque>

#include "api/answer.h"
#include "base/bytes.h"
#include "base/format.h"

namespace hearth::api::mlflow {
namespace {

constexpr std::string_view kApi = "/api/2.0/mlflow";
constexpr std::string_view kAjax = "/ajax-api/";
constexpr int64_t kLatestMillis = 253'402'300'799'999;  // 9999-12-31

struct CodeName {
  Code code;
  int status;
  std::string_view name;
};
// What MLflow answers for each of our codes. Its clients try 408, 429, 500, 502, 503 and 504 again
// for minutes: nothing that stays as it is may answer these; also damage and our own mistakes,
// which are `internal`.
constexpr std::array kCodes = {
    CodeName{Code::invalid, 400, "INVALID_PARAMETER_VALUE"},
    CodeName{Code::too_large, 400, "INVALID_PARAMETER_VALUE"},
    CodeName{Code::unauthenticated, 401, "UNAUTHENTICATED"},
    CodeName{Code::denied, 403, "PERMISSION_DENIED"},
    CodeName{Code::not_found, 404, "RESOURCE_DOES_NOT_EXIST"},
    CodeName{Code::gone, 404, "RESOURCE_DOES_NOT_EXIST"},
    CodeName{Code::conflict, 409, "RESOURCE_CONFLICT"},
    CodeName{Code::exists, 400, "RESOURCE_ALREADY_EXISTS"},
    CodeName{Code::busy, 429, "REQUEST_LIMIT_EXCEEDED"},
    CodeName{Code::unavailable, 503, "TEMPORARILY_UNAVAILABLE"},
    CodeName{Code::timeout, 503, "TEMPORARILY_UNAVAILABLE"},
    CodeName{Code::method, 405, "ENDPOINT_NOT_FOUND"},
    CodeName{Code::unsupported, 501, "NOT_IMPLEMENTED"},
    CodeName{Code::internal, 422, "INTERNAL_ERROR"},
};

// One slash where several stand, and no /ajax-api.
std::string plain(std::string_view path) {
  std::string out;
  for (const char c : path)
    if (c != '/' || out.empty() || out.back() != '/') out += c;
  if (std::string_view(out).starts_with(kAjax)) out = "/api/" + out.substr(kAjax.size());
  return out;
}

bool is_ours(std::string_view path) {
  static constexpr std::array kPaths = {
      std::string_view("/health"), std::string_view("/version"), std::string_view("/graphql"),
      std::string_view("/get-artifact"), std::string_view("/model-versions/get-artifact")};
  for (const std::string_view one : kPaths)
    if (path == one) return true;
  return path.starts_with("/api/2.0/") || path.starts_with("/api/3.0/");
}

}  // namespace

std::optional<std::string> canonical_path(std::string_view path) {
  // A quick look first: this is asked of every request.
  if (path.starts_with("/api/v1/")) return std::nullopt;
  std::string out = plain(path);
  if (!is_ours(out)) return std::nullopt;
  return out;
}

const RouteTable& table() {
  static const RouteTable the_table = [] {
    RouteTable table;
    add_experiment_calls(table);
    add_run_calls(table);
    add_metric_calls(table);
    add_input_calls(table);
    add_artifact_calls(table);
    add_model_calls(table);
    add_version_calls(table);
    add_logged_model_calls(table);
    add_other_calls(table);
    return table;
  }();
  return the_table;
}

net::Response error_answer(int status, std::string_view error_code, std::string_view message) {
  std::string body;
  {
    JsonObject object(body);
    object.text("error_code", error_code);
    object.text("message", message);
  }
  net::Response response = json_text(std::move(body), status);
  if (status == 401) response.headers.set("WWW-Authenticate", "Basic realm=\"hearth\"");
  if (status == 429 || status == 503) response.headers.set("Retry-After", "1");
  return response;
}

net::Response error_answer(const Error& error) {
  std::string message = to_utf8_lossy(error.detail);
  for (const FieldError& one : error.errors) {
    message += format("\n{}: found {}, allowed: {}", one.path, one.found, one.allowed);
  }
  if (!error.mend.empty()) message += " (" + error.mend + ")";
  for (const CodeName& one : kCodes)
    if (one.code == error.code) return error_answer(one.status, one.name, message);
  return error_answer(500, "INTERNAL_ERROR", message);
}

net::Response no_route(const RouteTable::Match& match, const net::Request& request) {
  if (match.allowed.empty())
    return error_answer(404, "ENDPOINT_NOT_FOUND",
                        format("there is nothing at {} {}", request.method, request.path));
  net::Response response = error_answer(
      405, "ENDPOINT_NOT_FOUND", format("{} is not known at {}", request.method, request.path));
  response.headers.set("Allow", format("{}", join(match.allowed, ", ")));
  return response;
}

Route& add_json(RouteTable& table, std::string_view method, std::string_view path,
                JsonHandler handler) {
  // Route keeps a view of its path; the table and with it these names live as long as the program.
  static std::deque<std::string> paths;
  const std::string& full = paths.emplace_back(std::string(kApi) + std::string(path));
  return table.add(method, full, full, "mlflow", "",
                   [handler](Call& call) -> Result<net::Response> {
                     const Arguments arguments = TRY(Arguments::of(call.request));
                     return json_text(TRY(handler(call, arguments.fields())));
                   });
}

std::string project_of(const Call& call) {
  return std::string(call.request.headers.get("X-MLFLOW-WORKSPACE").value_or(""));
}

Result<std::string> run_id_of(const Fields& args) {
  std::string id = TRY(args.text("run_id"));
  if (id.empty()) id = TRY(args.text("run_uuid"));
  if (id.empty()) return args.missing("run_id");
  return id;
}

Result<Time> time_of(std::string_view name, int64_t millis) {
  if (millis < 0 || millis > kLatestMillis)
    return invalid_value(name, std::to_string(millis),
                         "Timestamp must be a nonnegative number of milliseconds since 1970");
  return Time{millis * 1000};
}

Result<control::View> view_of(const Fields& args, std::string_view name) {
  const Node* found = args.find(name);
  const std::string text = found == nullptr ? "ACTIVE_ONLY" : found->text;
  if (text == "ACTIVE_ONLY" || text == "1") return control::View::active;
  if (text == "DELETED_ONLY" || text == "2") return control::View::deleted;
  if (text == "ALL" || text == "3") return control::View::all;
  return invalid_value(name, json_quote(text), "valid ones are: ACTIVE_ONLY, DELETED_ONLY, ALL");
}

Error run_error(Error error, const std::string& run_id) {
  if (error.code == Code::not_found)
    return Error::not_found(format("Run with id={} not found", run_id));
  if (error.code == Code::conflict)
    return Error::invalid(
        format("The run {} must be in the 'active' state. Current state is deleted.", run_id));
  return error;
}

Error experiment_error(Error error, const std::string& experiment) {
  if (error.code == Code::not_found)
    return Error::not_found(format("No Experiment with id={} exists", experiment));
  if (error.code == Code::conflict)
    return Error::invalid(format(
        "The experiment {} must be in the 'active' state. Current state is deleted.", experiment));
  return error;
}

}  // namespace hearth::api::mlflow
