#include "client/client.h"

#include <thread>

#include "base/format.h"
#include "base/id.h"

namespace hearth::client {
namespace {

constexpr Duration kFirstPause = Duration::millis(200);

bool worth_another_try(const Error& error) {
  return error.code == Code::unreachable || error.code == Code::timeout;
}

void pause(int attempt) {
  std::this_thread::sleep_for(std::chrono::microseconds(kFirstPause.micros << attempt));
}

}  // namespace

std::string path_part(std::string_view name) {
  return net::percent_encode(name);
}

Error problem_of(const net::Answer& answer) {
  const auto problem = from_json<Problem>(answer.body);
  if (problem.ok() && !problem->code.empty()) {
    Error error = Error::of(code_from_name(problem->code), problem->detail, problem->mend);
    error.errors = problem->errors;
    if (error.code == Code::internal && !problem->request_id.empty())
      error.detail += format(" (request {})", problem->request_id);
    return error;
  }
  Code code = answer.status >= 500 ? Code::internal : Code::invalid;
  for (const Code known : {Code::unauthenticated, Code::denied, Code::not_found, Code::conflict,
                           Code::busy, Code::unavailable, Code::too_large, Code::timeout})
    if (info(known).http_status == answer.status) code = known;
  return Error::of(code, format("the server answered {}", answer.status));
}

std::string token_request(const Token& wanted) {
  std::string body = format("{{\"name\":{}", json_quote(wanted.name));
  if (!wanted.project.empty()) body += format(",\"project\":{}", json_quote(wanted.project));
  if (wanted.role != Grade::none) body += format(",\"role\":\"{}\"", word(wanted.role));
  if (wanted.expires_at.micros != 0)
    body += format(",\"expires_at\":\"{}\"", to_rfc3339(wanted.expires_at));
  return body + "}";
}

Client::Client(ServerContext context) : context_(std::move(context)) {
  while (context_.url.ends_with('/')) context_.url.pop_back();
}

net::ClientRequest Client::request(const std::string& method, const std::string& path,
                                   const Query& query) const {
  net::ClientRequest request;
  request.method = method;
  request.url = context_.url + path;
  char separator = '?';
  for (const auto& [name, value] : query) {
    if (value.empty()) continue;
    request.url += separator + net::percent_encode(name) + "=" + net::percent_encode(value);
    separator = '&';
  }
  if (!context_.token.empty()) request.headers.set("Authorization", "Bearer " + context_.token);
  request.ca_file = context_.ca_file;
  request.most_answer_bytes = kMostAnswerBytes;
  return request;
}

Result<net::Answer> Client::call(net::ClientRequest request) {
  auto answer = http_.send(request);
  if (answer.ok()) return answer;
  Error error = std::move(answer).error();
  if (error.code == Code::unreachable) {
    error.detail = format("no server answers at {}", context_.url);
    error.mend = "start one with `hearth up`, or name another with --url or `hearth context use`";
  }
  return error;
}

Result<std::string> Client::get(const std::string& path, const Query& query) {
  for (int attempt = 0;; ++attempt) {
    auto answer = call(request("GET", path, query));
    if (answer.ok()) {
      if (answer->status >= 400) return problem_of(*answer);
      return std::move(answer->body);
    }
    // A server that is not there at all is said at once; one that broke off is asked again.
    if (answer.error().code != Code::timeout || attempt + 1 >= kTries) return answer.error();
    pause(attempt);
  }
}

Result<std::string> Client::send(const std::string& method, const std::string& path,
                                 const std::string& body, const Query& query,
                                 const std::string& type, const net::Headers& extra) {
  const std::string key = new_id();
  for (int attempt = 0;; ++attempt) {
    net::ClientRequest asked = request(method, path, query);
    asked.body = body;
    for (const auto& [name, value] : extra.all()) asked.headers.set(name, value);
    if (!body.empty()) asked.headers.set("Content-Type", type);
    if (method == "POST") asked.headers.set("Idempotency-Key", key);
    auto answer = call(std::move(asked));
    if (answer.ok()) {
      if (answer->status >= 400) return problem_of(*answer);
      return std::move(answer->body);
    }
    if (method != "POST" || answer.error().code != Code::timeout || attempt + 1 >= kTries)
      return answer.error();
    pause(attempt);
  }
}

Result<bool> Client::have(const std::string& digest) {
  const auto answer = TRY(call(request("HEAD", "/api/v1/objects/" + digest, {})));
  if (answer.status == 404) return false;
  if (answer.status >= 400) return problem_of(answer);
  return true;
}

Result<void> Client::upload(const std::string& digest, const std::string& file, int64_t size_bytes,
                            const Progress& progress) {
  if (TRY(have(digest))) {
    if (progress) progress(size_bytes, size_bytes);
    return {};
  }
  auto state = TRY(
      send_as<UploadResult>("POST", "/api/v1/uploads", to_json(UploadBody{digest, size_bytes})));
  int failures = 0;
  while (state.received_bytes < size_bytes) {
    net::ClientRequest part = request("PATCH", "/api/v1/uploads/" + state.id, {});
    part.headers.set("Content-Type", "application/octet-stream");
    part.headers.set("Upload-Offset", std::to_string(state.received_bytes));
    part.body_file = file;
    part.body_offset = state.received_bytes;
    part.body_length = std::min(kPartBytes, size_bytes - state.received_bytes);
    part.total_time = Duration::seconds(600);
    const int64_t before = state.received_bytes;
    if (progress)
      part.progress = [&](int64_t sent, int64_t) {
        progress(before + sent, size_bytes);
        return true;
      };
    auto answer = call(std::move(part));
    if (answer.ok() && answer->status < 400) {
      state = TRY(from_json<UploadResult>(answer->body));
      failures = 0;
      continue;
    }
    Error error = answer.ok() ? problem_of(*answer) : answer.error();
    const bool again = worth_another_try(error) || error.code == Code::conflict;
    if (!again || ++failures >= kTries) return error;
    pause(failures);
    state = TRY(get_as<UploadResult>("/api/v1/uploads/" + state.id));
  }
  TRY(send("POST", "/api/v1/uploads/" + state.id + "/finish", "{}"));
  return {};
}

Result<void> Client::put_file(const std::string& path, const std::string& file,
                              const std::function<bool()>& keep_on) {
  net::ClientRequest asked = request("PUT", path, {});
  asked.headers.set("Content-Type", "application/octet-stream");
  asked.body_file = file;
  asked.total_time = Duration{0};
  asked.keep_on = keep_on;
  const auto answer = TRY(call(std::move(asked)));
  if (answer.status >= 400) return problem_of(answer);
  return {};
}

Result<void> Client::stream(const std::string& path, const Query& query, const std::string& accept,
                            const std::function<bool(std::string_view)>& sink,
                            const net::Headers& extra) {
  net::ClientRequest asked = request("GET", path, query);
  for (const auto& [name, value] : extra.all()) asked.headers.set(name, value);
  if (!accept.empty()) asked.headers.set("Accept", accept);
  asked.total_time = Duration{0};
  asked.sink = sink;
  const auto answer = TRY(call(std::move(asked)));
  if (answer.status >= 400) return problem_of(answer);
  return {};
}

}  // namespace hearth::client
