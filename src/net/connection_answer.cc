#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/format.h"
#include "base/log.h"
#include "net/connection.h"

namespace hearth::net {
namespace {

constexpr size_t kJoined = 16 << 10;     // a body up to this goes out in one piece with its head
constexpr int64_t kFilePiece = 1 << 20;  // of a file, per trip to a worker
constexpr int64_t kEncryptedPiece = 256 << 10;  // the same where it goes through memory

class OpenFile {
 public:
  explicit OpenFile(int file) : file_(file) {}
  ~OpenFile() {
    if (file_ >= 0) ::close(file_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int get() const { return file_; }

 private:
  const int file_;
};

// Null where the answer is no text.
const std::string* text_of(const Response& response) {
  if (const auto* text = std::get_if<std::string>(&response.body)) return text;
  const auto* shared = std::get_if<std::shared_ptr<const std::string>>(&response.body);
  return shared != nullptr ? shared->get() : nullptr;
}

std::string_view body_text(const Response& response) {
  const std::string* text = text_of(response);
  return text != nullptr ? std::string_view(*text) : std::string_view();
}

// As in the Date header, of this second; good until this thread asks again.
std::string_view date_now() {
  thread_local int64_t of_second = -1;
  thread_local std::string text;
  const int64_t second = system_clock().now().micros / 1'000'000;
  if (std::exchange(of_second, second) == second) return text;
  const time_t t = second;
  tm parts{};
  gmtime_r(&t, &parts);
  std::array<char, 64> made{};
  text.assign(made.data(), strftime(made.data(), made.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts));
  return text;
}

size_t read_piece(int file, int64_t offset, std::string& piece) {
  size_t done = 0;
  while (done < piece.size()) {
    const ssize_t n =
        pread(file, piece.data() + done, piece.size() - done, offset + static_cast<int64_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<size_t>(n);
  }
  return done;
}

}  // namespace

// Runs where the rule says: on a worker, or here.
void Connection::call_handler() {
  Exchange& x = *exchange_;
  try {
    x.response = core_.handler.handle(x.request);
  } catch (const std::exception& error) {
    log_error("a handler threw at {} {}: {}", x.request.method, x.request.path, error.what());
    job_threw_ = true;
  }
}

void Connection::handle_on_worker() {
  if (core_.abandoned) return;
  call_handler();
  if (job_threw_) return;
  try {
    answer_at_once();
  } catch (const std::exception& error) {
    log_error("an answer could not be made: {}", error.what());
    job_threw_ = true;
  }
}

Task<void> Connection::handle() {
  Exchange& x = *exchange_;
  job_threw_ = false;
  if (x.rule.on_io_thread) {
    call_handler();
  } else {
    job_done_ = false;
    const bool taken = core_.pool->try_post([self = shared_from_this()] {
      self->handle_on_worker();
      self->job_ended();
    });
    core_.metrics.queued.set(static_cast<double>(core_.pool->queued()));
    if (!taken) {
      core_.metrics.met(Bound::queue);
      x.response = malformed(503, "too many requests wait for a worker");
      co_return;
    }
    co_await job_end();
  }
  if (job_threw_) x.response = malformed(500, "the handler of this request failed");
}

// On a worker: a short answer goes out before the connection's own thread wakes up.
void Connection::answer_at_once() {
  Exchange& x = *exchange_;
  const std::string* whole = text_of(x.response);
  if (whole == nullptr || whole->size() > kJoined) return;
  settle_answer();
  std::string_view text = *whole;
  x.out = begin_text(text);
  std::string_view rest = x.out;
  x.begun = true;
  x.broken = !write_now(rest, MoreFollows::no);
  x.written = x.out.size() - rest.size();
  if (x.broken || rest.empty()) core_.metrics.answered(x.broken ? 0 : x.response.status);
}

// What answer_at_once() began. False: the client has gone.
Task<bool> Connection::end_answer() {
  Exchange& x = *exchange_;
  const std::string_view rest = std::string_view(x.out).substr(x.written);
  if (x.broken || rest.empty()) co_return !x.broken;
  const bool sent = co_await write_all(rest, MoreFollows::no);
  core_.metrics.answered(sent ? x.response.status : 0);
  co_return sent;
}

// Until there is an answer that waits for nothing. False: the client has gone.
Task<bool> Connection::finish_waits() {
  Exchange& x = *exchange_;
  bool stopped = false;
  while (std::holds_alternative<Wait>(x.response.body)) {
    release_request();
    if (stopped) {
      x.response = malformed(503, "the server is stopping");
      break;
    }
    Wait wait = std::move(std::get<Wait>(x.response.body));
    Topics topics;
    topics.emplace_back(std::move(wait.topic), wait.since);
    const Woken woken = co_await wait_for(topics, wait.wait);
    if (woken == Woken::gone) co_return false;
    stopped = woken == Woken::stop;
    std::function<void()> work = [&] { x.response = wait.then(); };
    co_await on_worker(std::move(work));
    if (job_threw_) x.response = malformed(500, "the handler of this request failed");
  }
  // A request that no worker took up any more has no answer.
  co_return !aborted_ && !core_.abandoned;
}

Framing Connection::framing() {
  Framing framing;
  framing.http11 = exchange_->http11;
  framing.keep_alive = exchange_->keep_alive;
  framing.date = date_now();
  framing.request_id = exchange_->id;
  return framing;
}

Task<bool> Connection::send_response() {
  Exchange& x = *exchange_;
  const bool is_file = std::holds_alternative<FileBody>(x.response.body);
  const bool is_stream = std::holds_alternative<StreamBody>(x.response.body);
  if (is_file) {
    const bool sent = co_await send_file();
    co_return sent;
  }
  if (is_stream) {
    const bool sent = co_await send_stream();
    co_return sent;
  }
  const bool sent = co_await send_text(body_text(x.response));
  co_return sent;
}

// Before the answer's first byte.
void Connection::settle_answer() {
  release_request();
  if (core_.stopping) exchange_->keep_alive = false;
}

// The head, and `text` with it where that is short; `text` is then what follows.
std::string Connection::begin_text(std::string_view& text) {
  const Exchange& x = *exchange_;
  Framing frame = framing();
  const bool bodiless = status_without_body(x.response.status);
  if (!bodiless) frame.content_length = static_cast<int64_t>(text.size());
  std::string out = encode_head(x.response, frame);
  if (bodiless || x.head_only) text = {};
  if (text.size() > kJoined) return out;
  out += text;
  text = {};
  return out;
}

Task<bool> Connection::send_text(std::string_view text) {
  const std::string out = begin_text(text);
  const MoreFollows more = text.empty() ? MoreFollows::no : MoreFollows::yes;
  // Nearly every answer goes out at once, and then costs no coroutine.
  std::string_view rest = out;
  if (!write_now(rest, more)) co_return false;
  if (!rest.empty()) {
    const bool sent = co_await write_all(rest, more);
    if (!sent) co_return false;
  }
  const bool sent = co_await write_all(text, MoreFollows::no);
  co_return sent;
}

int Connection::open_file(const FileBody& body, std::string& why) {
  const int file = ::open(body.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    why = Error::from_errno(body.path, errno).text();
    return -1;
  }
  struct stat about{};
  if (::fstat(file, &about) == 0 && S_ISREG(about.st_mode) && body.offset >= 0 &&
      body.length >= 0 && body.offset <= about.st_size &&
      body.length <= about.st_size - body.offset)
    return file;
  why =
      format("{} does not hold the bytes {}-{}", body.path, body.offset, body.offset + body.length);
  ::close(file);
  return -1;
}

Task<bool> Connection::send_file() {
  Exchange& x = *exchange_;
  const FileBody body = std::move(std::get<FileBody>(x.response.body));
  std::string why;
  int opened = -1;
  std::function<void()> work = [&] { opened = open_file(body, why); };
  co_await on_worker(std::move(work));
  const OpenFile file(opened);
  if (file.get() < 0) {
    log_error("a file cannot be sent: {}", why);
    x.response = malformed(500, "the file behind this answer cannot be read");
    const bool told = co_await send_text(body_text(x.response));
    co_return told;
  }
  Framing frame = framing();
  frame.content_length = body.length;
  const bool bodiless = x.head_only || status_without_body(x.response.status);
  const std::string head = encode_head(x.response, frame);
  const MoreFollows more = bodiless ? MoreFollows::no : MoreFollows::yes;
  const bool begun = co_await write_all(head, more);
  if (!begun || bodiless) co_return begun;
  const bool sent = co_await send_file_pieces(file.get(), body);
  co_return sent;
}

// The file is read by workers, so that no disk holds up the I/O thread.
Task<bool> Connection::send_file_pieces(int file, FileBody body) {
  std::string piece;
  const bool direct = stream_->plain();
  while (body.length > 0) {
    IoStep step;
    std::function<void()> work = [&] {
      if (direct) {
        const auto most = static_cast<size_t>(std::min(body.length, kFilePiece));
        step = stream_->send_file(file, body.offset, most);
      } else {
        piece.resize(static_cast<size_t>(std::min(body.length, kEncryptedPiece)));
        step = {IoStatus::done, read_piece(file, body.offset, piece)};
      }
    };
    co_await on_worker(std::move(work));
    if (job_threw_ || aborted_ || step.status == IoStatus::closed) co_return false;
    if (step.status != IoStatus::done) {
      const bool can = co_await room(step.status);
      if (!can) co_return false;
      continue;
    }
    if (step.bytes == 0) co_return false;  // the file was cut short: the length is a lie now
    if (direct) {
      taken_ += static_cast<int64_t>(step.bytes);
    } else {
      const bool sent =
          co_await write_all(std::string_view(piece).substr(0, step.bytes), MoreFollows::no);
      if (!sent) co_return false;
    }
    body.offset += static_cast<int64_t>(step.bytes);
    body.length -= static_cast<int64_t>(step.bytes);
  }
  co_return true;
}

Task<bool> Connection::send_stream() {
  Exchange& x = *exchange_;
  StreamBody stream = std::move(std::get<StreamBody>(x.response.body));
  Framing frame = framing();
  frame.chunked = x.http11;
  if (!x.http11) frame.keep_alive = x.keep_alive = false;  // its end is the end of the connection
  const std::string head = encode_head(x.response, frame);
  const bool begun = co_await write_all(head, MoreFollows::no);
  if (!begun || x.head_only || status_without_body(x.response.status)) co_return begun;
  const bool ended = co_await send_pieces(stream);
  if (!ended || !x.http11) co_return ended;
  if (core_.stopping) x.keep_alive = false;
  const bool sent = co_await write_all(kLastChunk, MoreFollows::no);
  co_return sent;
}

// False: the client has gone, or the stream failed; it must not look complete then.
Task<bool> Connection::send_pieces(StreamBody& stream) {
  Exchange& x = *exchange_;
  Topics topics;
  for (std::string& topic : stream.topics) topics.emplace_back(std::move(topic), 0);
  for (;;) {
    Chunk chunk;
    std::function<void()> work = [&] {
      for (auto& [topic, seen] : topics) seen = core_.signals.version(topic);
      chunk = stream.next();
    };
    co_await on_worker(std::move(work));
    if (job_threw_ || aborted_) co_return false;
    if (!chunk.data.empty()) {
      std::string out;
      if (x.http11) out = chunk_header(chunk.data.size());
      out += chunk.data;
      if (x.http11) out += kChunkEnd;
      chunk.data = std::string();
      const bool sent = co_await write_all(out, MoreFollows::no);
      if (!sent) co_return false;
    }
    if (chunk.end) co_return true;
    if (chunk.more) continue;
    const Woken woken = co_await wait_for(topics, stream.heartbeat);
    if (woken == Woken::gone) co_return false;
    if (woken == Woken::stop) co_return true;
  }
}

}  // namespace hearth::net
