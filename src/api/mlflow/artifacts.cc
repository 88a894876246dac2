// Files: the proxy (/api/2.0/mlflow-artifacts), artifacts/list, /get-artifact and their kin. Bytes
// are Hearth's objects; a path is a row.
#include <algorithm>

#include "api/answer.h"
#include "api/mlflow/encode.h"
#include "api/mlflow/face.h"
#include "api/mlflow/limits.h"
#include "api/mlflow/places.h"
#include "api/mlflow/registry.h"

namespace hearth::api::mlflow {
namespace {

constexpr int64_t kMostFileBytes = int64_t{1} << 40;  // of one upload
constexpr int64_t kMostPageUpload = 10 << 20;         // of the page's upload-artifact

control::Records& records(Call& call) {
  return call.services.records;
}

// As MLflow has it: what is text to people is text/plain, so that no browser runs it.
std::string media_type(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  std::string end = name.substr(name.rfind('.') + 1);
  for (char& c : end) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  static constexpr std::array kText = {
      "txt",  "log",   "err",  "cfg",  "conf", "cnf",     "cf",       "ini", "properties",
      "prop", "hocon", "toml", "yaml", "yml",  "xml",     "json",     "js",  "py",
      "py3",  "csv",   "tsv",  "md",   "rst",  "mlmodel", "mlproject"};
  if (std::find(kText.begin(), kText.end(), end) != kText.end()) return "text/plain";
  static const std::map<std::string_view, const char*> kTypes = {
      {"png", "image/png"},       {"jpg", "image/jpeg"},  {"jpeg", "image/jpeg"},
      {"gif", "image/gif"},       {"webp", "image/webp"}, {"svg", "image/svg+xml"},
      {"pdf", "application/pdf"}, {"html", "text/html"},  {"zip", "application/zip"},
      {"mp4", "video/mp4"},       {"wav", "audio/x-wav"}, {"bmp", "image/bmp"}};
  const auto found = kTypes.find(end);
  return found == kTypes.end() ? "application/octet-stream" : found->second;
}

// A name of plain letters stands bare, any other in quotes.
std::string attachment(const std::string& name) {
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("!#$%&+-.^_`|~").find(c) != std::string_view::npos;
  });
  if (plain) return "attachment; filename=" + name;
  std::string quoted;
  for (const char c : name) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += static_cast<unsigned char>(c) < 0x80 ? c : '_';
  }
  return format("attachment; filename=\"{}\"; filename*=UTF-8''{}", quoted,
                net::percent_encode(name));
}

Result<net::Response> send_file(Call& call, const Place& place) {
  const Artifact file = TRY(records(call).get_file(call.who, place.holder, place.path));
  const std::string path = TRY(records(call).open_object(call.who, file.digest));
  const std::string name = file.path.substr(file.path.rfind('/') + 1);
  auto response = TRY(file_answer(call.request, path, file.digest, media_type(file.path), name));
  response.headers.set("Content-Disposition", attachment(name));
  return response;
}

void write_entry(std::string& out, const control::FileEntry& entry, const std::string& prefix) {
  JsonObject object(out);
  object.text("path", prefix.empty() ? entry.name : prefix + "/" + entry.name);
  object.boolean("is_dir", entry.directory);
  if (!entry.directory) object.integer("file_size", entry.size_bytes);
}

// --- the proxy ----------------------------------------------------------------------------------

Result<Place> asked_place(Call& call) {
  return place_of_path(call, TRY(safe_path(call.at("path"))));
}

Result<net::Response> download(Call& call) {
  return send_file(call, TRY(asked_place(call)));
}

Result<net::Response> upload(Call& call) {
  const Place place = TRY(asked_place(call));
  if (place.path.empty()) return Error::invalid("Invalid path");
  TRY(records(call).put_file(call.who, place.holder, place.path, call.request.body_file));
  return json_text("{}");
}

Result<net::Response> erase(Call& call) {
  const Place place = TRY(asked_place(call));
  if (TRY(records(call).delete_files(call.who, place.holder, place.path)) == 0)
    return Error::not_found(format("there is no file '{}'", call.at("path")));
  return json_text("{}");
}

Result<net::Response> list_proxy(Call& call) {
  const std::string path = TRY(safe_path(call.query("path")));
  const Place place = TRY(place_of_path(call, path));
  const auto entries = TRY(records(call).list_files(call.who, place.holder, place.path));
  return json_text(json_object([&](JsonObject& object) {
    object.list("files", entries, [](std::string& to, const control::FileEntry& entry) {
      write_entry(to, entry, "");
    });
  }));
}

// --- of a run, a model's version, a logged model ------------------------------------------------

Result<void> check_ours(const std::string& uri) {
  const std::string_view scheme = scheme_of(uri);
  if (scheme == "mlflow-artifacts" || uri.find("/api/2.0/mlflow-artifacts/") != std::string::npos)
    return {};
  return Error::of(Code::unsupported,
                   format("the files lie at {}, which this server does not read", uri),
                   "ask for them there");
}

std::string listing(const std::vector<control::FileEntry>& entries, const std::string& path,
                    const std::string& root) {
  return json_object([&](JsonObject& object) {
    object.text("root_uri", root);
    object.list("files", entries, [&](std::string& to, const control::FileEntry& entry) {
      write_entry(to, entry, path);
    });
  });
}

Result<std::string> list_run(Call& call, const Fields& args) {
  const std::string id = TRY(run_id_of(args));
  const std::string path = TRY(safe_path(TRY(args.text("path"))));
  const auto run = TRY(of_run(call.services.tracking.get_run(call.who, id), id));
  const auto holder = TRY(of_run(records(call).file_holder(call.who, id), id));
  const auto entries = TRY(records(call).list_files(call.who, holder, path));
  const std::string uri = rooted(run.artifact_uri, call.options.mlflow_artifact_root);
  if (entries.empty()) TRY(check_ours(uri));
  return listing(entries, path, uri);
}

Result<net::Response> get_run_file(Call& call) {
  const Arguments arguments = TRY(Arguments::of(call.request));
  const std::string id = TRY(run_id_of(arguments.fields()));
  const std::string path = TRY(safe_path(TRY(arguments.fields().need_text("path"))));
  return send_file(call, {TRY(of_run(records(call).file_holder(call.who, id), id)), path});
}

Result<net::Response> get_version_file(Call& call) {
  const Arguments arguments = TRY(Arguments::of(call.request));
  const Fields args = arguments.fields();
  const std::string path = TRY(safe_path(TRY(args.need_text("path"))));
  const std::string name = TRY(args.need_text("name"));
  const int64_t number = TRY(version_number(args));
  const auto version = TRY(
      records(call).get_model_version(call.who, project_of(call), format("{}@{}", name, number)));
  const std::string uri = files_of(version);
  auto place = TRY(place_of_uri(call, uri));
  if (!place) TRY(check_ours(uri));
  if (!place) return Error::not_found(format("there is no file '{}'", path));
  if (!place->path.empty()) place->path += "/";
  place->path += path;
  return send_file(call, *place);
}

// What the page sends: a file in one body.
Result<net::Response> upload_from_page(Call& call) {
  const std::string id = call.query("run_uuid");
  if (id.empty()) return Error::invalid("Request must specify run_uuid.");
  if (call.query("path").empty()) return Error::invalid("Request must specify path.");
  const std::string path = TRY(safe_path(call.query("path")));
  if (call.request.body_file.empty()) return Error::invalid("Request must specify data.");
  const auto holder = TRY(of_run(records(call).file_holder(call.who, id), id));
  TRY(records(call).put_file(call.who, holder, path, call.request.body_file));
  return json_text("{}");
}

Result<net::Response> list_model(Call& call) {
  const std::string path = TRY(safe_path(call.query("artifact_directory_path")));
  const auto model = TRY(records(call).get_logged_model(call.who, call.at("model_id")));
  const auto holder = TRY(records(call).file_holder(call.who, model.id));
  const auto entries = TRY(records(call).list_files(call.who, holder, path));
  if (entries.empty()) TRY(check_ours(model.artifact_location));
  return json_text(listing(entries, path, model.artifact_location));
}

Result<net::Response> get_model_file(Call& call) {
  const std::string asked = call.query("artifact_file_path");
  if (asked.empty())
    return error_answer(400, "BAD_REQUEST",
                        "Request must include the \"artifact_file_path\" query parameter.");
  const std::string path = TRY(safe_path(asked));
  const auto model = TRY(records(call).get_logged_model(call.who, call.at("model_id")));
  return send_file(call, {TRY(records(call).file_holder(call.who, model.id)), path});
}

}  // namespace

void add_artifact_calls(RouteTable& table) {
  constexpr std::string_view kFiles = "/api/2.0/mlflow-artifacts/artifacts";
  constexpr std::string_view kFile = "/api/2.0/mlflow-artifacts/artifacts/{path*}";
  constexpr std::string_view kBytes = "application/octet-stream";
  table.add("GET", kFiles, "listProxiedFiles", "mlflow", "", list_proxy);
  table.add("GET", kFile, "getProxiedFile", "mlflow", "", download);
  table.add("PUT", kFile, "putProxiedFile", "mlflow", "", upload)
      .takes_bytes(kBytes, kMostFileBytes)
      .to_file();
  table.add("DELETE", kFile, "deleteProxiedFile", "mlflow", "", erase);
  add_json(table, "GET", "/artifacts/list", list_run);
  table.add("GET", "/get-artifact", "getRunFile", "mlflow", "", get_run_file);
  table.add("GET", "/model-versions/get-artifact", "getVersionFile", "mlflow", "",
            get_version_file);
  table
      .add("POST", "/api/2.0/mlflow/upload-artifact", "uploadFromPage", "mlflow", "",
           upload_from_page)
      .takes_bytes(kBytes, kMostPageUpload)
      .to_file();
  table.add("GET", "/api/2.0/mlflow/logged-models/{model_id}/artifacts/directories",
            "listModelFiles", "mlflow", "", list_model);
  table.add("GET", "/api/2.0/mlflow/logged-models/{model_id}/artifacts/files", "getModelFile",
            "mlflow", "", get_model_file);
}

}  // namespace hearth::api::mlflow
