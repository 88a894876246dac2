#include "shim/output.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/format.h"
#include "base/log.h"
#include "base/units.h"

namespace hearth::shim {
namespace {

constexpr Duration kTick = Duration::millis(500);
constexpr size_t kMostExceptionBytes = 2000;
constexpr int kMostReadsAtOnce = 16;

}  // namespace

OutputPump::OutputPump(Spool& spool, const std::vector<std::string>& secrets,
                       std::unique_ptr<LogMetrics> metrics)
    : spool_(spool),
      plain_(secrets),
      metrics_(std::move(metrics)),
      writer_(static_cast<uint64_t>(spool.next_log_seq())),
      buffer_(kReadBytes, '\0') {
  sources_.push_back({&out_.read, track::Stream::out, Redactor(secrets), {}, true});
  sources_.push_back({&err_.read, track::Stream::err, Redactor(secrets), {}, true});
}

Result<std::unique_ptr<OutputPump>> OutputPump::make(Spool& spool,
                                                     const std::vector<std::string>& secrets,
                                                     std::unique_ptr<LogMetrics> metrics) {
  std::unique_ptr<OutputPump> pump(new OutputPump(spool, secrets, std::move(metrics)));
  for (os::Pipe* const pipe : {&pump->out_, &pump->err_}) {
    *pipe = TRY(os::make_pipe());
    TRY(os::set_nonblocking(pipe->read.get()));
    fcntl(pipe->read.get(), F_SETPIPE_SZ, static_cast<int>(kPipeBytes));
  }
  pump->wake_ = os::Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!pump->wake_) return Error::from_errno("making an event descriptor", errno);
  pump->thread_ = std::thread([raw = pump.get()] { raw->run(); });
  return pump;
}

OutputPump::~OutputPump() {
  if (thread_.joinable()) finish({});
}

void OutputPump::child_started() {
  out_.write.reset();
  err_.write.reset();
}

void OutputPump::wake() {
  const uint64_t one = 1;
  if (::write(wake_.get(), &one, sizeof one) < 0 && errno != EAGAIN)
    log_warning("waking the reader of the output: errno {}", errno);
}

void OutputPump::say(std::string text) {
  {
    const std::lock_guard lock(mutex_);
    if (said_.size() >= kMostSaid) return;
    said_.push_back(std::move(text));
  }
  wake();
}

void OutputPump::finish(Duration at_most) {
  child_started();
  finish_by_ = system_clock().steady() + at_most;
  finishing_.store(true);
  wake();
  if (thread_.joinable()) thread_.join();
}

std::string OutputPump::last_exception() const {
  const std::lock_guard lock(mutex_);
  return last_exception_;
}

void OutputPump::run() {
  for (;;) {
    const bool finishing = finishing_.load();
    const Time now = system_clock().steady();
    const bool any_open = std::any_of(sources_.begin(), sources_.end(),
                                      [](const Source& source) { return source.open; });
    if (finishing && (!any_open || now >= finish_by_)) break;
    const Duration rest = writer_.empty() ? kTick : sealed_at_ + kSealInterval - now;
    pollfd fds[3] = {{wake_.get(), POLLIN, 0},
                     {sources_[0].open ? out_.read.get() : -1, POLLIN, 0},
                     {sources_[1].open ? err_.read.get() : -1, POLLIN, 0}};
    const auto millis = std::clamp<int64_t>((rest.micros + 999) / 1000, 0, 500);
    if (poll(fds, 3, static_cast<int>(millis)) < 0 && errno != EINTR) break;
    uint64_t count = 0;
    if (fds[0].revents != 0 && ::read(wake_.get(), &count, sizeof count) < 0) count = 0;
    take_said();
    for (size_t i = 0; i < sources_.size(); ++i)
      if (fds[i + 1].revents != 0 && !read(sources_[i])) end(sources_[i]);
    const Time wall = spool_.clock().now();
    for (Source& source : sources_)
      if (source.open && !source.splitter.idle())
        source.splitter.tick(wall, [&](const auto& line) { append(source.stream, line); });
    if (metrics_) metrics_->tick(wall);
    const bool due = !writer_.empty() && system_clock().steady() >= sealed_at_ + kSealInterval;
    if (due || !waiting_.empty()) seal();
  }
  for (Source& source : sources_)
    if (source.open) end(source);
  if (metrics_) metrics_->finish();
  take_said();
  seal();
  for (const Bytes& frame : waiting_) drop(track::read_frame(frame).frame, Added::later);
  if (dropped_ > 0) mark_dropped(static_cast<int64_t>(writer_.next_seq()) - 1, true);
}

// False at the end.
bool OutputPump::read(Source& source) {
  for (int i = 0; i < kMostReadsAtOnce; ++i) {
    const ssize_t got = ::read(source.fd->get(), buffer_.data(), buffer_.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN;
    if (got == 0) return false;
    const auto text = source.redactor.feed({buffer_.data(), static_cast<size_t>(got)});
    source.splitter.feed(text, spool_.clock().now(),
                         [&](const auto& line) { append(source.stream, line); });
  }
  return true;
}

void OutputPump::end(Source& source) {
  const auto emit = [&](const track::SplitLine& line) { append(source.stream, line); };
  const Time now = spool_.clock().now();
  if (const auto rest = source.redactor.finish(); !rest.empty())
    source.splitter.feed(rest, now, emit);
  source.splitter.finish(now, emit);
  source.open = false;
}

void OutputPump::append(track::Stream stream, const track::SplitLine& line) {
  if (writer_.full()) seal();
  if (writer_.empty()) sealed_at_ = system_clock().steady();
  writer_.append(line.time, stream, line.flags, line.bytes);
  if (stream == track::Stream::err) watch_traceback(line.bytes);
  if (stream != track::Stream::hearth && (line.flags & track::kBinary) == 0) remember(line.bytes);
  if (metrics_ && stream != track::Stream::hearth &&
      (line.flags & (track::kPartial | track::kBinary)) == 0)
    metrics_->line(line.bytes, line.time);
}

// "Traceback (most recent call last):", lines set in, then "ValueError: bad".
void OutputPump::watch_traceback(std::string_view line) {
  if (line.starts_with("Traceback (most recent call last)")) {
    in_traceback_ = true;
    return;
  }
  if (!in_traceback_ || line.empty() || line[0] == ' ') return;
  in_traceback_ = false;
  const std::lock_guard lock(mutex_);
  last_exception_ = line.substr(0, kMostExceptionBytes);
}

// On this thread alone, until it has ended.
void OutputPump::remember(std::string_view line) {
  std::string text;  // a kept one is written over, so that a busy log costs no memory of its own
  if (last_lines_.size() >= kMostFailureLines) {
    text = std::move(last_lines_.front());
    last_lines_.pop_front();
  }
  text = line.substr(0, kMostFailureLineBytes);
  last_lines_.push_back(std::move(text));
}

std::vector<std::string> OutputPump::last_lines() const {
  return {last_lines_.begin(), last_lines_.end()};
}

void OutputPump::take_said() {
  std::deque<std::string> said;
  {
    const std::lock_guard lock(mutex_);
    said.swap(said_);
  }
  for (const std::string& text : said)
    append(track::Stream::hearth, {spool_.clock().now(), 0, text});
}

void OutputPump::seal() {
  if (!writer_.empty()) {
    waiting_.push_back(writer_.seal());
    waiting_bytes_ += waiting_.back().size();
  }
  while (!waiting_.empty()) {
    const track::Frame frame = track::read_frame(waiting_.front()).frame;
    const Added added = add(frame);
    if (added == Added::later && waiting_bytes_ <= kMostWaitingBytes) return;
    if (added != Added::yes) drop(frame, added);
    waiting_bytes_ -= waiting_.front().size();
    waiting_.pop_front();
  }
}

OutputPump::Added OutputPump::add(const track::Frame& frame) {
  const auto first = static_cast<int64_t>(frame.first_seq);
  // Room again: first say what is missing.
  if (dropped_ > 0 && mark_dropped(first - 1, false)) dropped_ = 0;
  if (dropped_ > 0) return Added::no;
  const auto added = spool_.add_frame(frame.bytes, first, static_cast<int64_t>(frame.last_seq));
  if (!added.ok()) return Added::later;  // the disk is full: there may be room soon
  return *added ? Added::yes : Added::no;
}

void OutputPump::drop(const track::Frame& frame, Added why) {
  if (dropped_ == 0) {
    why_dropped_ =
        why == Added::later ? "the disk was full" : "the server was away and the spool was full";
    log_warning("log lines are dropped: {}", why_dropped_);
  }
  dropped_ += frame.count;
}

// The number of a line that was dropped is free for the one that says so.
bool OutputPump::mark_dropped(int64_t seq, bool always) {
  track::FrameWriter marker(static_cast<uint64_t>(seq));
  marker.append(spool_.clock().now(), track::Stream::hearth, 0,
                format("{} lines were dropped here: {}", dropped_, why_dropped_));
  const auto added = spool_.add_frame(marker.seal(), seq, seq, always);
  return added.ok() && *added;
}

}  // namespace hearth::shim
