#include "shim/link.h"

#include <algorithm>
#include <array>

#include "base/bytes.h"
#include "base/format.h"
#include "domain/codec.h"
#include "domain/wire/api.h"

namespace hearth::shim {
namespace {

constexpr int64_t kPartBytes = 16 << 20;
constexpr int64_t kMostAnswerBytes = 64 << 20;
constexpr int kMostParts = 1 << 20;
constexpr Duration kConnect = Duration::seconds(3);
constexpr Duration kCall = Duration::seconds(60);
constexpr Duration kTransfer = Duration::seconds(0);  // no limit: sizes are

Error error_of(const net::Answer& answer) {
  Error error = Error::of(Code::internal, format("the server answered {}", answer.status));
  switch (answer.status) {
    case 400:
      error.code = Code::invalid;
      break;
    case 401:
      error.code = Code::unauthenticated;
      break;
    case 403:
      error.code = Code::denied;
      break;
    case 404:
      error.code = Code::not_found;
      break;
    case 409:
      error.code = Code::conflict;
      break;
    case 410:
      error.code = Code::gone;
      break;
    case 413:
      error.code = Code::too_large;
      break;
    case 408:
    case 429:
      error.code = Code::busy;
      break;
    case 500:
      break;
    case 501:
      error.code = Code::unsupported;
      break;
    default:
      error.code = Code::unavailable;
      break;
  }
  const auto node = parse_json(answer.body);
  if (!node.ok()) return error;
  if (const Node* const detail = node->find("detail"); detail != nullptr)
    error.detail = detail->text;
  if (const Node* const mend = node->find("mend"); mend != nullptr) error.mend = mend->text;
  return error;
}

}  // namespace

bool may_pass(const Error& error) {
  return error.code == Code::unreachable || error.code == Code::timeout ||
         error.code == Code::busy || error.code == Code::unavailable ||
         error.code == Code::internal;
}

Result<net::Answer> ServerLink::call_once(net::ClientRequest& request, const std::string& path) {
  if (!spec_.server_socket.empty() && !socket_failed_) {
    request.unix_path = spec_.server_socket;
    request.url = "http://localhost" + path;
    auto answer = client_.send(request);
    if (answer.ok() || answer.error().code != Code::unreachable || spec_.server_url.empty())
      return answer;
    // Tried again the next time when the address fails too.
    socket_failed_ = true;
  }
  request.unix_path.clear();
  request.url = spec_.server_url + path;
  auto answer = client_.send(request);
  if (!answer.ok()) socket_failed_ = false;
  return answer;
}

Result<net::Answer> ServerLink::call(net::ClientRequest request, const std::string& path) {
  request.headers.set("Authorization", "Bearer " + spec_.shim_token);
  request.connect_time = kConnect;
  auto answer = call_once(request, path);
  if (!answer.ok()) {
    // Of the client that is "you ended it"; of the server it would be "I want no more".
    if (answer.error().code == Code::gone) answer.error().code = Code::busy;
    return answer;
  }
  if (answer->status / 100 != 2) return error_of(*answer);
  return answer;
}

Result<SyncAnswer> ServerLink::sync(std::string body, Duration wait) {
  net::ClientRequest request;
  request.method = "POST";
  request.headers.set("Content-Type", "application/x-hearth-sync");
  request.body = std::move(body);
  request.total_time = {kCall.micros + wait.micros};
  auto answer = call(std::move(request), "/api/v1/tasks/" + spec_.task_id + "/sync");
  if (answer.ok()) return from_json<SyncAnswer>(answer->body, Origin::server, kMostAnswerBytes);
  Error error = std::move(answer).error();
  // The job is deleted, the attempt is over, its token is taken back.
  if (error.code == Code::not_found || error.code == Code::unauthenticated ||
      error.code == Code::denied)
    error.code = Code::gone;
  return error;
}

Result<bool> ServerLink::has_object(const std::string& digest) {
  net::ClientRequest request;
  request.method = "HEAD";
  request.total_time = kCall;
  const auto answer = call(std::move(request), "/api/v1/objects/" + digest);
  if (answer.ok()) return true;
  if (answer.error().code == Code::not_found) return false;
  return answer.error();
}

Result<void> ServerLink::fetch_object(const std::string& digest, const std::string& to,
                                      const std::function<bool()>& keep_on) {
  os::File file = TRY(os::File::create_new(to));
  Sha256 hash;
  Result<void> written;
  net::ClientRequest request;
  request.total_time = kTransfer;
  request.keep_on = keep_on;
  request.sink = [&](std::string_view piece) {
    hash.update(piece);
    written = file.write(piece);
    return written.ok();
  };
  const auto answer = call(std::move(request), "/api/v1/objects/" + digest);
  Result<void> done;
  if (!written.ok())
    done = written;
  else if (!answer.ok())
    done = answer.error();
  else if (hash.finish_text() != digest)
    done = Error::of(Code::unavailable, format("object {} came damaged", digest));
  if (!done.ok()) ignore(os::remove_file(to));
  return done;
}

Result<void> ServerLink::send_parts(const std::string& digest, int64_t size, const Part& part) {
  if (TRY(has_object(digest))) return {};
  net::ClientRequest begin;
  begin.method = "POST";
  begin.headers.set("Content-Type", "application/json");
  begin.body = to_json(UploadBody{digest, size});
  begin.total_time = kCall;
  const auto begun = TRY(call(std::move(begin), "/api/v1/uploads"));
  auto upload = TRY(from_json<UploadResult>(begun.body));
  for (int i = 0; upload.received_bytes < size && i < kMostParts; ++i) {
    net::ClientRequest request;
    request.method = "PATCH";
    request.total_time = kTransfer;
    request.headers.set("Content-Type", "application/octet-stream");
    request.headers.set("Upload-Offset", format("{}", upload.received_bytes));
    part(request, upload.received_bytes, std::min(kPartBytes, size - upload.received_bytes));
    const auto answer = TRY(call(std::move(request), "/api/v1/uploads/" + upload.id));
    upload.received_bytes = TRY(from_json<UploadResult>(answer.body)).received_bytes;
  }
  net::ClientRequest finish;
  finish.method = "POST";
  finish.total_time = kTransfer;
  TRY(call(std::move(finish), "/api/v1/uploads/" + upload.id + "/finish"));
  return {};
}

Result<void> ServerLink::send_object(const os::File& file, const std::string& digest,
                                     int64_t size) {
  // By descriptor: the name may lead elsewhere by now.
  const std::string path = format("/proc/self/fd/{}", file.fd());
  return send_parts(digest, size, [&](net::ClientRequest& request, int64_t offset, int64_t length) {
    request.body_file = path;
    request.body_offset = offset;
    request.body_length = length;
  });
}

Result<void> ServerLink::send_object(std::string_view bytes, const std::string& digest) {
  return send_parts(digest, static_cast<int64_t>(bytes.size()),
                    [&](net::ClientRequest& request, int64_t offset, int64_t length) {
                      request.body =
                          bytes.substr(static_cast<size_t>(offset), static_cast<size_t>(length));
                    });
}

Result<void> with_patience(const std::function<Result<void>()>& work,
                           const std::function<bool(Duration pause)>& keep_on) {
  for (Duration pause = kFirstBackOff;;
       pause = std::min(Duration{pause.micros * 2}, kLongestBackOff)) {
    auto done = work();
    if (done.ok() || !may_pass(done.error()) || !keep_on(pause)) return done;
  }
}

}  // namespace hearth::shim
