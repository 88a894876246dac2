#include "net/client.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>

#include <arpa/inet.h>
#include <curl/curl.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/format.h"
#include "base/units.h"
#include "net/peer.h"

namespace hearth::net {
namespace {

constexpr int kMostPollMillis = 1000;  // between two looks at a cancellation that got lost
constexpr int kKeepOnMillis = 100;     // between two questions to ClientRequest::keep_on
constexpr long kMostIdleConnections = 4;
constexpr size_t kMostAnswerHeaderBytes = 256 << 10;

struct FreeEasy {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct FreeMulti {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};
struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using HeaderList = std::unique_ptr<curl_slist, FreeList>;

void init_curl_once() {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
}

bool clean(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
  });
}

// "http://[::1]:8470/x" -> "::1"
std::string_view host_of(std::string_view url) {
  const size_t scheme = url.find("://");
  if (scheme != std::string_view::npos) url.remove_prefix(scheme + 3);
  url = url.substr(0, url.find_first_of("/?#"));
  const size_t user = url.rfind('@');
  if (user != std::string_view::npos) url.remove_prefix(user + 1);
  if (url.starts_with('[')) return url.substr(1, url.find(']') - 1);
  return url.substr(0, url.find(':'));
}

bool loopback(std::string_view host) {
  return host == "localhost" || host.ends_with(".localhost") || host.starts_with("127.") ||
         host == "::1";
}

// The file, or part of a file, that is sent as the body.
class BodyFile {
 public:
  ~BodyFile() {
    if (file_ >= 0) ::close(file_);
  }
  Result<void> open(const ClientRequest& request) {
    file_ = ::open(request.body_file.c_str(), O_RDONLY | O_CLOEXEC);
    if (file_ < 0) return Error::from_errno(request.body_file, errno);
    struct stat about{};
    if (::fstat(file_, &about) != 0) return Error::from_errno(request.body_file, errno);
    offset_ = request.body_offset;
    length_ = request.body_length < 0 ? about.st_size - offset_ : request.body_length;
    if (!S_ISREG(about.st_mode) || offset_ < 0 || length_ < 0 || offset_ > about.st_size ||
        length_ > about.st_size - offset_)
      return Error::invalid(format("{} does not hold {} bytes from {} on", request.body_file,
                                   request.body_length, request.body_offset));
    return {};
  }
  int64_t length() const { return length_; }
  // Bytes read; -1: the file cannot be read or has become shorter.
  ssize_t read(char* into, size_t most) {
    const int64_t left = length_ - done_;
    if (left == 0) return 0;
    ssize_t n = 0;
    do {
      n = pread(file_, into,
                static_cast<size_t>(std::min<int64_t>(left, static_cast<int64_t>(most))),
                offset_ + done_);
    } while (n < 0 && errno == EINTR);
    if (n <= 0) return -1;
    done_ += n;
    return n;
  }
  bool seek(int64_t to) {
    if (to < 0 || to > length_) return false;
    done_ = to;
    return true;
  }

 private:
  int file_ = -1;
  int64_t offset_ = 0, length_ = 0, done_ = 0;
};

// One send(): what libcurl's callbacks are given.
struct Transfer {
  const ClientRequest& request;
  Answer answer;
  BodyFile file;
  HeaderList headers;
  size_t header_bytes = 0;
  bool succeeds = true;          // the status is 2xx
  std::optional<Error> refused;  // why a callback ended the transfer
  curl_off_t sent = -1;          // as last told to progress
};

size_t take_header(char* data, size_t size, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::string_view line = trim(std::string_view(data, size * count));
  transfer.header_bytes += size * count;
  if (transfer.header_bytes > kMostAnswerHeaderBytes) {
    transfer.refused =
        Error::of(Code::too_large,
                  format("the answer's headers are longer than {} bytes", kMostAnswerHeaderBytes));
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
  auto& transfer = *static_cast<Transfer*>(user);
  const size_t bytes = size * count;
  if (transfer.request.sink && transfer.succeeds) {
    if (transfer.request.sink(std::string_view(data, bytes))) return bytes;
    transfer.refused = Error::of(Code::gone, "the transfer was ended by its receiver");
    return 0;
  }
  const auto held = static_cast<int64_t>(transfer.answer.body.size());
  if (held + static_cast<int64_t>(bytes) > transfer.request.most_answer_bytes) {
    transfer.refused = Error::of(
        Code::too_large, format("the answer of {} is longer than {} bytes", transfer.request.url,
                                transfer.request.most_answer_bytes));
    return 0;
  }
  transfer.answer.body.append(data, bytes);
  return bytes;
}

size_t give_body(char* data, size_t size, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const ssize_t n = transfer.file.read(data, size * count);
  if (n >= 0) return static_cast<size_t>(n);
  transfer.refused =
      Error::internal(format("{} was cut short while it was sent", transfer.request.body_file));
  return CURL_READFUNC_ABORT;
}

int seek_body(void* user, curl_off_t offset, int origin) {
  auto& transfer = *static_cast<Transfer*>(user);
  return origin == SEEK_SET && transfer.file.seek(offset) ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL;
}

int tell_progress(void* user, curl_off_t, curl_off_t, curl_off_t total, curl_off_t sent) {
  auto& transfer = *static_cast<Transfer*>(user);
  if (sent == transfer.sent || total == 0) return 0;
  transfer.sent = sent;
  if (transfer.request.progress(sent, total)) return 0;
  transfer.refused = Error::of(Code::gone, "the transfer was ended by its sender");
  return 1;
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
    curl_slist* longer = curl_slist_append(list.get(), line.c_str());
    if (longer == nullptr) return false;
    (void)list.release();
    list.reset(longer);
    return true;
  };
  for (const auto& [name, value] : request.headers.all()) {
    if (name.empty() || !clean(name) || !clean(value) || name.find(':') != std::string::npos)
      return Error::invalid(format("the header '{}' holds control characters", name));
    if (!add(value.empty() ? name + ";" : name + ": " + value))
      return Error::internal("out of memory");
  }
  // libcurl would call every body a form.
  if (!request.headers.get("content-type") && !add("Content-Type:"))
    return Error::internal("out of memory");
  return list;
}

Error curl_error(CURLcode code, const ClientRequest& request, const char* text, bool connected) {
  const std::string why = text[0] != '\0' ? text : curl_easy_strerror(code);
  const std::string where = request.unix_path.empty() ? request.url : "unix:" + request.unix_path;
  switch (code) {
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return Error::invalid(format("'{}' is no URL to talk to: {}", request.url, why),
                            "write http://HOST:PORT/... or https://...");
    case CURLE_OPERATION_TIMEDOUT:
      if (connected) return Error::of(Code::timeout, format("{}: {}", where, why));
      return Error::of(Code::unreachable, format("{} does not answer: {}", where, why),
                       "is the server running, and the address right?");
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
      return Error::of(Code::unreachable, format("{} cannot be trusted: {}", where, why),
                       "give the certificate that signed the server's");
    case CURLE_COULDNT_CONNECT:
    case CURLE_COULDNT_RESOLVE_HOST:
      return Error::of(Code::unreachable, format("{} is not reached: {}", where, why),
                       "is the server running, and the address right?");
    case CURLE_OUT_OF_MEMORY:
      return Error::internal("out of memory");
    default:
      return Error::of(Code::unreachable, format("{}: {}", where, why));
  }
}

}  // namespace

struct Client::State {
  // The easy handle goes first: it may be part of the other.
  std::unique_ptr<CURLM, FreeMulti> multi;
  std::unique_ptr<CURL, FreeEasy> easy;
  std::atomic<bool> cancelled = false;
  char error[CURL_ERROR_SIZE] = {};

  Result<void> prepare(Transfer& transfer);
  void set_limits(const ClientRequest& request);
  void set_method(Transfer& transfer);
  void set_route(Transfer& transfer);
  Result<void> perform(const ClientRequest& request);
};

Client::Client() : state_(std::make_unique<State>()) {
  init_curl_once();
  state_->multi.reset(curl_multi_init());
  state_->easy.reset(curl_easy_init());
  CHECK(state_->multi != nullptr && state_->easy != nullptr);
  curl_multi_setopt(state_->multi.get(), CURLMOPT_MAXCONNECTS, kMostIdleConnections);
}
Client::~Client() = default;
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;

void Client::cancel() {
  state_->cancelled = true;
  curl_multi_wakeup(state_->multi.get());
}

void Client::State::set_limits(const ClientRequest& request) {
  CURL* curl = easy.get();
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, error);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(curl, CURLOPT_TCP_NODELAY, 1L);
  curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS,
                   std::max<long>(1, static_cast<long>(request.connect_time.micros / 1000)));
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS,
                   request.total_time.micros == 0
                       ? 0L
                       : std::max<long>(1, static_cast<long>(request.total_time.micros / 1000)));
}

void Client::State::set_route(Transfer& transfer) {
  CURL* curl = easy.get();
  const ClientRequest& request = transfer.request;
  if (!request.unix_path.empty())
    curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, request.unix_path.c_str());
  // Debian's libcurl looks into the system's directory of certificates beside this file.
  if (!request.ca_file.empty()) curl_easy_setopt(curl, CURLOPT_CAINFO, request.ca_file.c_str());
  // A proxy of the environment is for the world outside, and would hide the address to refuse.
  if (!request.unix_path.empty() || request.refuse_address || loopback(host_of(request.url)))
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
  if (request.refuse_address) {
    curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, &transfer);
    curl_easy_setopt(curl, CURLOPT_FRESH_CONNECT, 1L);
  }
}

void Client::State::set_method(Transfer& transfer) {
  CURL* curl = easy.get();
  const ClientRequest& request = transfer.request;
  const std::string& method = request.method;
  if (!request.body_file.empty()) {
    curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE,
                     static_cast<curl_off_t>(transfer.file.length()));
    curl_easy_setopt(curl, CURLOPT_READFUNCTION, give_body);
    curl_easy_setopt(curl, CURLOPT_READDATA, &transfer);
    curl_easy_setopt(curl, CURLOPT_SEEKFUNCTION, seek_body);
    curl_easy_setopt(curl, CURLOPT_SEEKDATA, &transfer);
  } else if (method == "HEAD") {
    curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
  } else if (!request.body.empty() || method == "POST" || method == "PUT" || method == "PATCH") {
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.body.c_str());
  }
  if (method != "HEAD") curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method.c_str());
}

Result<void> Client::State::prepare(Transfer& transfer) {
  CURL* curl = easy.get();
  const ClientRequest& request = transfer.request;
  if (!clean(request.url) || !clean(request.method) || request.method.empty())
    return Error::invalid(format("'{} {}' is no request", request.method, request.url));
  if (!request.body_file.empty()) TRY(transfer.file.open(request));
  transfer.headers = TRY(header_list(request));
  curl_easy_reset(curl);
  error[0] = '\0';
  curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, transfer.headers.get());
  set_limits(request);
  set_route(transfer);
  set_method(transfer);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, hearth::net::take_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
  if (request.progress) {
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, tell_progress);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &transfer);
  }
  return {};
}

// Drives the transfer to its end; the multi interface, as only that can be woken from outside.
Result<void> Client::State::perform(const ClientRequest& request) {
  int running = 1;
  const int most_wait = request.keep_on ? kKeepOnMillis : kMostPollMillis;
  Time ask_at = system_clock().steady();
  while (running > 0) {
    if (const Time now = system_clock().steady(); request.keep_on && now >= ask_at) {
      if (!request.keep_on()) return Error::of(Code::gone, "the request was ended by its sender");
      ask_at = now + Duration::millis(kKeepOnMillis);
    }
    if (cancelled.exchange(false)) return Error::of(Code::gone, "the request was cancelled");
    CURLMcode failed = curl_multi_perform(multi.get(), &running);
    if (failed == CURLM_OK && running > 0)
      failed = curl_multi_poll(multi.get(), nullptr, 0, most_wait, nullptr);
    if (failed != CURLM_OK) return Error::internal(curl_multi_strerror(failed));
  }
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi.get(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    if (message->data.result == CURLE_OK) return {};
    curl_off_t connected = 0;
    curl_easy_getinfo(easy.get(), CURLINFO_CONNECT_TIME_T, &connected);
    return curl_error(message->data.result, request, error, connected > 0);
  }
  return Error::internal("the transfer ended without a result");
}

Result<Answer> Client::send(const ClientRequest& request) {
  Transfer transfer{request};
  TRY(state_->prepare(transfer));
  if (curl_multi_add_handle(state_->multi.get(), state_->easy.get()) != CURLM_OK)
    return Error::internal("libcurl takes no request");
  Result<void> done = state_->perform(request);
  long status = 0;
  curl_easy_getinfo(state_->easy.get(), CURLINFO_RESPONSE_CODE, &status);
  curl_multi_remove_handle(state_->multi.get(), state_->easy.get());
  curl_easy_reset(state_->easy.get());
  if (transfer.refused) return std::move(*transfer.refused);
  if (!done.ok()) return std::move(done).error();
  transfer.answer.status = static_cast<int>(status);
  return std::move(transfer.answer);
}

}  // namespace hearth::net
