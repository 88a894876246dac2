#include "net/transfer.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/format.h"

namespace hearth::net {
namespace {

constexpr const char* kIsItRunning = "is the server running, and the address right?";

bool clean(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
  });
}

}  // namespace

BodyFile::~BodyFile() {
  if (file_ >= 0) ::close(file_);
}

Result<void> BodyFile::open(const ClientRequest& request) {
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

ssize_t BodyFile::read(char* into, size_t most) {
  const int64_t left = length_ - done_;
  if (left == 0) return 0;
  ssize_t n = 0;
  do {
    n = pread(file_, into, static_cast<size_t>(std::min<int64_t>(left, static_cast<int64_t>(most))),
              offset_ + done_);
  } while (n < 0 && errno == EINTR);
  if (n <= 0) return -1;
  done_ += n;
  return n;
}

bool BodyFile::seek(int64_t to) {
  if (to < 0 || to > length_) return false;
  done_ = to;
  return true;
}

std::string Transfer::where() const {
  return request.unix_path.empty() ? request.url : "unix:" + request.unix_path;
}

bool Transfer::take_body(std::string_view piece) {
  if (request.sink && succeeds) {
    if (request.sink(piece)) return true;
    refused = Error::of(Code::gone, "the transfer was ended by its receiver");
    return false;
  }
  const auto held = static_cast<int64_t>(answer.body.size());
  if (held + static_cast<int64_t>(piece.size()) > request.most_answer_bytes) {
    refused = Error::of(Code::too_large, format("the answer of {} is longer than {} bytes",
                                                request.url, request.most_answer_bytes));
    return false;
  }
  answer.body.append(piece);
  return true;
}

bool Transfer::tell_progress(int64_t sent_now, int64_t total) {
  if (!request.progress || sent_now == sent || total == 0) return true;
  sent = sent_now;
  if (request.progress(sent_now, total)) return true;
  refused = Error::of(Code::gone, "the transfer was ended by its sender");
  return false;
}

void Transfer::file_cut_short() {
  refused = Error::internal(format("{} was cut short while it was sent", request.body_file));
}

void Transfer::head_too_large() {
  refused = Error::of(Code::too_large, format("the answer's headers are longer than {} bytes",
                                              kMostAnswerHeaderBytes));
}

Result<void> check(const ClientRequest& request) {
  if (!clean(request.url) || !clean(request.method) || request.method.empty())
    return Error::invalid(format("'{} {}' is no request", request.method, request.url));
  for (const auto& [name, value] : request.headers.all())
    if (name.empty() || !clean(name) || !clean(value) || name.find(':') != std::string::npos)
      return Error::invalid(format("the header '{}' holds control characters", name));
  return {};
}

Result<void> Ends::look() {
  if (const Time now = system_clock().steady(); request_.keep_on && now >= ask_at_) {
    if (!request_.keep_on()) return Error::of(Code::gone, "the request was ended by its sender");
    ask_at_ = now + kKeepOn;
  }
  if (cancelled_.exchange(false)) return Error::of(Code::gone, "the request was cancelled");
  return {};
}

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

Error not_reached(const Transfer& transfer, std::string_view why) {
  return Error::of(Code::unreachable, format("{} is not reached: {}", transfer.where(), why),
                   kIsItRunning);
}

Error not_answered(const Transfer& transfer, std::string_view why, bool connected) {
  if (connected) return Error::of(Code::timeout, format("{}: {}", transfer.where(), why));
  return Error::of(Code::unreachable, format("{} does not answer: {}", transfer.where(), why),
                   kIsItRunning);
}

}  // namespace hearth::net
