#include "net/client.h"

#include <algorithm>
#include <atomic>
#include <cerrno>

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/format.h"
#include "base/units.h"
#include "net/curl.h"
#include "net/local_client.h"
#include "net/peer.h"
#include "net/transfer.h"

namespace hearth::net {
namespace {

constexpr long kMostIdleConnections = 4;

struct FreeEasy {
  void operator()(CURL* easy) const { curl().easy_cleanup(easy); }
};
struct FreeMulti {
  void operator()(CURLM* multi) const { curl().multi_cleanup(multi); }
};
struct FreeList {
  void operator()(curl_slist* list) const { curl().slist_free_all(list); }
};
using HeaderList = std::unique_ptr<curl_slist, FreeList>;

// Of what is Transfer's, libcurl's callbacks are given this.
struct CurlTransfer {
  Transfer& transfer;
  Ends ends;
  HeaderList headers;
  size_t header_bytes = 0;
};

size_t take_header(char* data, size_t size, size_t count, void* user) {
  auto& [transfer, ends, headers, header_bytes] = *static_cast<CurlTransfer*>(user);
  const std::string_view line = trim(std::string_view(data, size * count));
  header_bytes += size * count;
  if (header_bytes > kMostAnswerHeaderBytes) {
    transfer.head_too_large();
    return 0;
  }
  if (line.starts_with("HTTP/")) {
    transfer.answer.headers = Headers();  // those before were of a 100 Continue
    const size_t space = line.find(' ');
    transfer.succeeds = space != std::string_view::npos && line.substr(space + 1).starts_with('2');
  } else if (const size_t colon = line.find(':'); colon != std::string_view::npos) {
    transfer.answer.headers.add(std::string(line.substr(0, colon)),
                                std::string(trim(line.substr(colon + 1))));
  }
  return size * count;
}

size_t take_body(char* data, size_t size, size_t count, void* user) {
  auto& sent = *static_cast<CurlTransfer*>(user);
  // libcurl goes on by itself while more comes.
  if (auto goes_on = sent.ends.look(); !goes_on.ok()) {
    sent.transfer.refused = std::move(goes_on).error();
    return 0;
  }
  const size_t bytes = size * count;
  return sent.transfer.take_body(std::string_view(data, bytes)) ? bytes : 0;
}

size_t give_body(char* data, size_t size, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const ssize_t n = transfer.file.read(data, size * count);
  if (n >= 0) return static_cast<size_t>(n);
  transfer.file_cut_short();
  return CURL_READFUNC_ABORT;
}

int seek_body(void* user, curl_off_t offset, int origin) {
  auto& transfer = *static_cast<Transfer*>(user);
  return origin == SEEK_SET && transfer.file.seek(offset) ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL;
}

int tell_progress(void* user, curl_off_t, curl_off_t, curl_off_t total, curl_off_t sent) {
  return static_cast<Transfer*>(user)->tell_progress(sent, total) ? 0 : 1;
}

curl_socket_t open_socket(void* user, curlsocktype, curl_sockaddr* where) {
  auto& transfer = *static_cast<Transfer*>(user);
  const auto address = Address::of(&where->addr);
  const std::string name = address ? address->text() : "a local socket";
  std::string reason = transfer.request.refuse_address(name);
  if (reason.empty())
    return ::socket(where->family, where->socktype | SOCK_CLOEXEC, where->protocol);
  transfer.refused = Error::denied(std::move(reason));
  return CURL_SOCKET_BAD;
}

Result<HeaderList> header_list(const ClientRequest& request) {
  HeaderList list;
  const auto add = [&](const std::string& line) {
    curl_slist* longer = curl().slist_append(list.get(), line.c_str());
    if (longer == nullptr) return false;
    (void)list.release();
    list.reset(longer);
    return true;
  };
  for (const auto& [name, value] : request.headers.all()) {
    if (!add(value.empty() ? name + ";" : name + ": " + value))
      return Error::internal("out of memory");
  }
  // libcurl would call every body a form.
  if (!request.headers.get("content-type") && !add("Content-Type:"))
    return Error::internal("out of memory");
  return list;
}

Error curl_error(CURLcode code, const Transfer& transfer, const char* text, bool connected) {
  const std::string why = text[0] != '\0' ? text : curl().easy_strerror(code);
  switch (code) {
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return Error::invalid(format("'{}' is no URL to talk to: {}", transfer.request.url, why),
                            "write http://HOST:PORT/... or https://...");
    case CURLE_OPERATION_TIMEDOUT:
      return not_answered(transfer, why, connected);
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
      return Error::of(Code::unreachable, format("{} cannot be trusted: {}", transfer.where(), why),
                       "give the certificate that signed the server's");
    case CURLE_COULDNT_CONNECT:
    case CURLE_COULDNT_RESOLVE_HOST:
      return not_reached(transfer, why);
    case CURLE_OUT_OF_MEMORY:
      return Error::internal("out of memory");
    default:
      return Error::of(Code::unreachable, format("{}: {}", transfer.where(), why));
  }
}

}  // namespace

struct Client::State {
  explicit State(bool curl_alone) : by_curl(curl_alone) {}
  const bool by_curl;
  LocalClient local;
  // The easy handle goes first: it may be part of the other.
  std::unique_ptr<CURLM, FreeMulti> multi;
  std::unique_ptr<CURL, FreeEasy> easy;
  std::atomic<CURLM*> awake = nullptr;  // `multi`, for cancel(); null before its first send
  std::atomic<bool> cancelled = false;
  char error[CURL_ERROR_SIZE] = {};

  Result<void> open_curl();
  Result<void> prepare(CurlTransfer& transfer);
  void set_limits(const ClientRequest& request);
  void set_method(Transfer& transfer);
  void set_route(Transfer& transfer);
  Result<void> perform(CurlTransfer& sent);
  Result<void> send_by_curl(Transfer& transfer);
};

Client::Client(Way way) : state_(std::make_unique<State>(way == Way::libcurl)) {}
Client::~Client() = default;
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;

void Client::cancel() {
  state_->cancelled = true;
  state_->local.wake();
  // Whoever sets `awake` looks at `cancelled` afterwards.
  if (CURLM* const multi = state_->awake) curl().multi_wakeup(multi);
}

Result<void> Client::State::open_curl() {
  if (multi != nullptr) return {};
  TRY(load_curl());
  easy.reset(curl().easy_init());
  multi.reset(curl().multi_init());
  CHECK(multi != nullptr && easy != nullptr);
  curl().multi_setopt(multi.get(), CURLMOPT_MAXCONNECTS, kMostIdleConnections);
  awake = multi.get();
  return {};
}

void Client::State::set_limits(const ClientRequest& request) {
  CURL* const handle = easy.get();
  curl().easy_setopt(handle, CURLOPT_ERRORBUFFER, error);
  curl().easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl().easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
  curl().easy_setopt(handle, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl().easy_setopt(handle, CURLOPT_TCP_NODELAY, 1L);
  curl().easy_setopt(handle, CURLOPT_TCP_KEEPALIVE, 1L);
  curl().easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS,
                     std::max<long>(1, static_cast<long>(request.connect_time.micros / 1000)));
  curl().easy_setopt(handle, CURLOPT_TIMEOUT_MS,
                     request.total_time.micros == 0
                         ? 0L
                         : std::max<long>(1, static_cast<long>(request.total_time.micros / 1000)));
}

void Client::State::set_route(Transfer& transfer) {
  CURL* const handle = easy.get();
  const ClientRequest& request = transfer.request;
  if (!request.unix_path.empty())
    curl().easy_setopt(handle, CURLOPT_UNIX_SOCKET_PATH, request.unix_path.c_str());
  // Debian's libcurl looks into the system's directory of certificates beside this file.
  if (!request.ca_file.empty()) curl().easy_setopt(handle, CURLOPT_CAINFO, request.ca_file.c_str());
  // A proxy of the environment is for the world outside, and would hide the address to refuse.
  if (!request.unix_path.empty() || request.refuse_address || loopback(host_of(request.url)))
    curl().easy_setopt(handle, CURLOPT_PROXY, "");
  if (request.refuse_address) {
    curl().easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl().easy_setopt(handle, CURLOPT_OPENSOCKETDATA, &transfer);
    curl().easy_setopt(handle, CURLOPT_FRESH_CONNECT, 1L);
  }
}

void Client::State::set_method(Transfer& transfer) {
  CURL* const handle = easy.get();
  const ClientRequest& request = transfer.request;
  const std::string& method = request.method;
  if (!request.body_file.empty()) {
    curl().easy_setopt(handle, CURLOPT_UPLOAD, 1L);
    curl().easy_setopt(handle, CURLOPT_INFILESIZE_LARGE,
                       static_cast<curl_off_t>(transfer.file.length()));
    curl().easy_setopt(handle, CURLOPT_READFUNCTION, give_body);
    curl().easy_setopt(handle, CURLOPT_READDATA, &transfer);
    curl().easy_setopt(handle, CURLOPT_SEEKFUNCTION, seek_body);
    curl().easy_setopt(handle, CURLOPT_SEEKDATA, &transfer);
  } else if (method == "HEAD") {
    curl().easy_setopt(handle, CURLOPT_NOBODY, 1L);
  } else if (!request.body.empty() || method == "POST" || method == "PUT" || method == "PATCH") {
    curl().easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE,
                       static_cast<curl_off_t>(request.body.size()));
    curl().easy_setopt(handle, CURLOPT_POSTFIELDS, request.body.c_str());
  }
  if (method != "HEAD") curl().easy_setopt(handle, CURLOPT_CUSTOMREQUEST, method.c_str());
}

Result<void> Client::State::prepare(CurlTransfer& sent) {
  CURL* const handle = easy.get();
  Transfer& transfer = sent.transfer;
  const ClientRequest& request = transfer.request;
  sent.headers = TRY(header_list(request));
  curl().easy_reset(handle);
  error[0] = '\0';
  // Known since 7.85: without it file:// would be read.
  if (curl().easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https") != CURLE_OK)
    return Error::of(Code::unsupported, "this libcurl is older than 7.85");
  curl().easy_setopt(handle, CURLOPT_URL, request.url.c_str());
  curl().easy_setopt(handle, CURLOPT_HTTPHEADER, sent.headers.get());
  set_limits(request);
  set_route(transfer);
  set_method(transfer);
  curl().easy_setopt(handle, CURLOPT_HEADERFUNCTION, take_header);
  curl().easy_setopt(handle, CURLOPT_HEADERDATA, &sent);
  curl().easy_setopt(handle, CURLOPT_WRITEFUNCTION, hearth::net::take_body);
  curl().easy_setopt(handle, CURLOPT_WRITEDATA, &sent);
  if (request.progress) {
    curl().easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
    curl().easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, tell_progress);
    curl().easy_setopt(handle, CURLOPT_XFERINFODATA, &transfer);
  }
  return {};
}

// Drives the transfer to its end; the multi interface, as only that can be woken from outside.
Result<void> Client::State::perform(CurlTransfer& sent) {
  const Transfer& transfer = sent.transfer;
  int running = 1;
  const Duration most_wait = transfer.request.keep_on ? kKeepOn : kMostPoll;
  while (running > 0) {
    TRY(sent.ends.look());
    CURLMcode failed = curl().multi_perform(multi.get(), &running);
    if (failed == CURLM_OK && running > 0)
      failed = curl().multi_poll(multi.get(), nullptr, 0, static_cast<int>(most_wait.micros / 1000),
                                 nullptr);
    if (failed != CURLM_OK) return Error::internal(curl().multi_strerror(failed));
  }
  int left = 0;
  while (const CURLMsg* message = curl().multi_info_read(multi.get(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    if (message->data.result == CURLE_OK) return {};
    curl_off_t connected = 0;
    curl().easy_getinfo(easy.get(), CURLINFO_CONNECT_TIME_T, &connected);
    return curl_error(message->data.result, transfer, error, connected > 0);
  }
  return Error::internal("the transfer ended without a result");
}

Result<void> Client::State::send_by_curl(Transfer& transfer) {
  TRY(open_curl());
  CurlTransfer sent{transfer, Ends(transfer.request, cancelled), {}, 0};
  TRY(prepare(sent));
  if (curl().multi_add_handle(multi.get(), easy.get()) != CURLM_OK)
    return Error::internal("libcurl takes no request");
  Result<void> done = perform(sent);
  long status = 0;
  curl().easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &status);
  curl().multi_remove_handle(multi.get(), easy.get());
  curl().easy_reset(easy.get());
  transfer.answer.status = static_cast<int>(status);
  return done;
}

Result<Answer> Client::send(const ClientRequest& request) {
  Transfer transfer{request};
  TRY(check(request));
  if (!request.body_file.empty()) TRY(transfer.file.open(request));
  const bool here = LocalClient::takes(request) && !state_->by_curl;
  const Result<void> done =
      here ? state_->local.send(transfer, state_->cancelled) : state_->send_by_curl(transfer);
  if (transfer.refused) return std::move(*transfer.refused);
  if (!done.ok()) return done.error();
  return std::move(transfer.answer);
}

}  // namespace hearth::net
