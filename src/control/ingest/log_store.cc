#include "control/ingest/log_store.h"

#include <algorithm>

#include "base/format.h"
#include "base/id.h"
#include "base/log.h"

namespace hearth::control {
namespace {

constexpr std::string_view kEnd = ".frames";

// Where a frame of the open file stands, to find a seq without reading it all.
struct FrameAt {
  uint64_t first_seq = 0, last_seq = 0;
  int64_t offset = 0;
};

struct Checked {
  std::vector<FrameAt> frames;  // those that are new, offsets from the first of them
  std::span<const std::byte> bytes;
  uint64_t last_seq = 0;
};

Error refused(size_t offset, std::string_view why) {
  return Error::invalid(format("the log frame at byte {} is refused: {}", offset, why),
                        "send frames as they were sealed, whole and in order");
}

// All frames whole and in order; those up to `mark` are passed over.
Result<Checked> check(std::span<const std::byte> bytes, uint64_t mark) {
  Checked checked;
  checked.last_seq = mark;
  size_t first_new = bytes.size();
  for (size_t at = 0; at < bytes.size();) {
    const track::FrameRead read = track::read_frame(bytes.subspan(at));
    if (read.state != track::FrameState::whole) return refused(at, read.reason);
    const track::Frame& frame = read.frame;
    if (frame.last_seq > mark) {
      if (frame.first_seq <= checked.last_seq)
        return refused(
            at, format("it begins at {}, {} is here already", frame.first_seq, checked.last_seq));
      first_new = std::min(first_new, at);
      checked.frames.push_back(
          {frame.first_seq, frame.last_seq, static_cast<int64_t>(at - first_new)});
      checked.last_seq = frame.last_seq;
    } else if (!checked.frames.empty()) {
      return refused(at, "the sequence goes back");
    }
    at += frame.bytes.size();
  }
  checked.bytes = bytes.subspan(first_new);
  return checked;
}

}  // namespace

struct LogStore::Log {
  std::string task_id, path;
  std::mutex mutex;  // guards busy, synced_seq, failed
  std::condition_variable changed;
  bool busy = false;
  uint64_t synced_seq = 0;
  std::string failed;  // a sync failed: nothing more is written
  // What follows belongs to whoever holds the Claim.
  bool loaded = false;
  os::File file;
  int64_t size = 0;
  uint64_t last_seq = 0;  // written, sealed ones included
  std::vector<FrameAt> frames;
  uint64_t used = 0;  // guarded by LogStore::mutex_
  bool queued = false;
};

// One thread at a log's file at a time.
class LogStore::Claim {
 public:
  explicit Claim(std::shared_ptr<Log> log) : log_(std::move(log)) {
    std::unique_lock lock(log_->mutex);
    log_->changed.wait(lock, [&] { return !log_->busy; });
    log_->busy = true;
  }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
  ~Claim() {
    {
      const std::lock_guard lock(log_->mutex);
      log_->busy = false;
    }
    log_->changed.notify_all();
  }

 private:
  std::shared_ptr<Log> log_;
};

LogStore::LogStore(std::string directory,
                   std::function<Result<uint64_t>(const std::string&)> sealed)
    : directory_(std::move(directory)), sealed_(std::move(sealed)) {}

LogStore::~LogStore() {
  stop();
}

Result<void> LogStore::start() {
  TRY(os::make_directories(directory_, 0700, os::Sync::yes));
  const std::lock_guard lock(mutex_);
  if (running_) return {};
  running_ = true;
  thread_ = std::thread([this] { run(); });
  return {};
}

void LogStore::stop() {
  {
    const std::lock_guard lock(mutex_);
    running_ = false;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::string LogStore::path_of(const std::string& task_id) const {
  return format("{}/{}{}", directory_, task_id, kEnd);
}

Result<std::shared_ptr<LogStore::Log>> LogStore::log_of(const std::string& task_id) {
  if (!is_id(task_id)) return Error::not_found(format("there is no task '{}'", task_id));
  const std::lock_guard lock(mutex_);
  if (logs_.size() >= kMostOpenLogs && !logs_.contains(task_id)) close_idle();
  std::shared_ptr<Log>& log = logs_[task_id];
  if (!log) {
    log = std::make_shared<Log>();
    log->task_id = task_id;
    log->path = path_of(task_id);
  }
  log->used = ++uses_;
  return log;
}

// Forgets the half that was not used for longest; whoever still has one keeps it till he is done.
void LogStore::close_idle() {
  std::vector<uint64_t> uses;
  for (const auto& [id, log] : logs_) uses.push_back(log->used);
  std::ranges::nth_element(uses, uses.begin() + static_cast<ptrdiff_t>(uses.size() / 2));
  const uint64_t middle = uses[uses.size() / 2];
  std::erase_if(logs_, [&](const auto& entry) {
    if (entry.second->used >= middle || entry.second.use_count() > 1) return false;
    const std::lock_guard lock(entry.second->mutex);
    return entry.second->failed.empty();
  });
}

// What a crash left behind the last whole frame goes; damage is kept aside first.
Result<void> LogStore::mend_tail(Log& log, os::File& file, std::span<const std::byte> bytes,
                                 const track::Tail& tail) {
  if (tail.state == track::FrameState::damaged) {
    const std::string aside = format("{}.damaged-{}", log.path, tail.whole_bytes);
    log_error(
        "log {} is damaged at byte {} ({}); lines from {} on are lost, its bytes are kept as {}",
        log.path, tail.whole_bytes, tail.reason, tail.next_seq, aside);
    TRY(os::write_file_atomic(aside, as_text(bytes), 0600));
  }
  return file.truncate(static_cast<int64_t>(tail.whole_bytes));
}

Result<void> LogStore::load(Log& log, const std::string& task_id) {
  if (log.loaded) return {};
  const uint64_t sealed = TRY(sealed_(task_id));
  const bool there = os::exists(log.path);
  uint64_t last = sealed;
  log.frames.clear();
  log.size = 0;
  if (there) {
    const std::string text = TRY(os::read_file(log.path, kMostOpenLogBytes));
    const std::span<const std::byte> bytes = as_bytes(text);
    log.file = TRY(os::File::open(log.path, {.write = true}));
    const track::Tail tail = track::last_whole_frame(bytes);
    if (tail.whole_bytes < bytes.size()) TRY(mend_tail(log, log.file, bytes, tail));
    // What an earlier process wrote may be known to the kernel alone.
    TRY(log.file.sync());
    TRY(os::fsync_directory(directory_));
    log.size = static_cast<int64_t>(tail.whole_bytes);
    for (size_t at = 0; at < tail.whole_bytes;) {
      const track::Frame frame = track::read_frame(bytes.subspan(at)).frame;
      log.frames.push_back({frame.first_seq, frame.last_seq, static_cast<int64_t>(at)});
      at += frame.bytes.size();
    }
    last = std::max(sealed, tail.next_seq - 1);
  }
  log.last_seq = last;
  log.loaded = true;
  const std::lock_guard lock(log.mutex);
  log.synced_seq = last;
  return {};
}

Result<void> LogStore::write(Log& log, std::span<const std::byte> bytes) {
  if (!log.file.is_open()) {
    log.file = TRY(os::File::open(log.path, {.write = true, .create = true}));
    TRY(os::fsync_directory(directory_));
  }
  auto written = log.file.pwrite(as_text(bytes), log.size);
  if (written.ok()) {
    log.size += static_cast<int64_t>(bytes.size());
    return {};
  }
  // A part may be there; it must not stand behind frames that come later.
  if (auto cut = log.file.truncate(log.size); !cut.ok()) {
    const std::lock_guard lock(log.mutex);
    log.failed = written.error().detail;
  }
  return written;
}

Result<uint64_t> LogStore::append(const std::string& task_id, std::span<const std::byte> frames) {
  const std::shared_ptr<Log> log = TRY(log_of(task_id));
  uint64_t wanted = 0;
  {
    const Claim claim(log);
    TRY(load(*log, task_id));
    const Checked checked = TRY(check(frames, log->last_seq));
    wanted = checked.last_seq;
    if (!checked.bytes.empty()) {
      {
        const std::lock_guard lock(log->mutex);
        if (!log->failed.empty())
          return Error::unavailable(format("the log is read-only: {}", log->failed),
                                    "look at the disk, then restart the server");
      }
      const int64_t begin = log->size;
      if (begin + static_cast<int64_t>(checked.bytes.size()) > kMostOpenLogBytes)
        return Error::unavailable(format("{} is full, as it cannot be sealed", log->path),
                                  "look into the server's log for the reason");
      TRY(write(*log, checked.bytes));
      for (const FrameAt& at : checked.frames)
        log->frames.push_back({at.first_seq, at.last_seq, begin + at.offset});
      log->last_seq = wanted;
    }
  }
  TRY(wait_synced(log, wanted));
  return wanted;
}

Result<void> LogStore::wait_synced(const std::shared_ptr<Log>& log, uint64_t seq) {
  {
    const std::lock_guard lock(log->mutex);
    if (log->synced_seq >= seq) return {};
  }
  {
    const std::lock_guard lock(mutex_);
    if (!running_) return Error::unavailable("the server is stopping", "try again");
    if (!log->queued) {
      log->queued = true;
      dirty_.push_back(log);
    }
  }
  wake_.notify_one();
  std::unique_lock lock(log->mutex);
  const bool done = log->changed.wait_for(lock, kLongestSyncWait.chrono(), [&] {
    return log->synced_seq >= seq || !log->failed.empty();
  });
  if (log->synced_seq >= seq) return {};
  if (done) return Error::unavailable(format("the log is read-only: {}", log->failed));
  return Error::unavailable("the disk is too slow: a sync took longer than a minute", "try again");
}

void LogStore::sync_one(Log& log) {
  const uint64_t seq = log.last_seq;
  const auto synced = log.file.sync();
  {
    const std::lock_guard lock(log.mutex);
    if (synced.ok())
      log.synced_seq = std::max(log.synced_seq, seq);
    else
      log.failed = synced.error().detail;
  }
  if (!synced.ok()) log_error("{}", synced.error().text());
  log.changed.notify_all();
}

void LogStore::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return !running_ || !dirty_.empty(); });
    if (dirty_.empty()) return;
    std::vector<std::shared_ptr<Log>> round = std::exchange(dirty_, {});
    for (const auto& log : round) log->queued = false;
    lock.unlock();
    for (const auto& log : round) {
      const Claim claim(log);
      sync_one(*log);
    }
    round.clear();
    lock.lock();
  }
}

Result<uint64_t> LogStore::mark(const std::string& task_id) {
  const std::shared_ptr<Log> log = TRY(log_of(task_id));
  {
    const Claim claim(log);
    TRY(load(*log, task_id));
  }
  const std::lock_guard lock(log->mutex);
  return log->synced_seq;
}

Result<LogStore::Extent> LogStore::extent(const std::string& task_id) {
  const std::shared_ptr<Log> log = TRY(log_of(task_id));
  Extent extent;
  {
    const Claim claim(log);
    TRY(load(*log, task_id));
    if (!log->frames.empty()) extent.first_open = log->frames.front().first_seq;
  }
  const std::lock_guard lock(log->mutex);
  extent.last = log->synced_seq;
  return extent;
}

Result<Bytes> LogStore::read(const std::string& task_id, uint64_t after_seq) {
  const std::shared_ptr<Log> log = TRY(log_of(task_id));
  const Claim claim(log);
  TRY(load(*log, task_id));
  const auto first = std::ranges::upper_bound(log->frames, after_seq, {}, &FrameAt::last_seq);
  if (first == log->frames.end()) return Bytes();
  Bytes bytes(static_cast<size_t>(log->size - first->offset));
  const size_t got = TRY(log->file.pread(bytes, first->offset));
  if (got != bytes.size()) return Error::internal(format("{} is shorter than it was", log->path));
  return bytes;
}

int64_t LogStore::open_bytes(const std::string& task_id) {
  const auto log = log_of(task_id);
  if (!log.ok()) return 0;
  const Claim claim(*log);
  return load(**log, task_id).ok() ? (*log)->size : 0;
}

Result<LogStore::Taken> LogStore::take(const std::string& task_id) {
  const std::shared_ptr<Log> log = TRY(log_of(task_id));
  const uint64_t sealed = TRY(sealed_(task_id));
  Taken taken;
  taken.frames = TRY(read(task_id, sealed));
  if (taken.frames.empty()) return taken;
  taken.last_seq = track::last_whole_frame(taken.frames).next_seq - 1;
  return taken;
}

Result<void> LogStore::cut(const std::string& task_id, uint64_t last_seq) {
  const std::shared_ptr<Log> log = TRY(log_of(task_id));
  const Claim claim(log);
  TRY(load(*log, task_id));
  if (!log->file.is_open()) return {};
  const auto rest = std::ranges::upper_bound(log->frames, last_seq, {}, &FrameAt::last_seq);
  const int64_t gone = rest == log->frames.end() ? log->size : rest->offset;
  if (gone == 0) return {};
  Bytes bytes(static_cast<size_t>(log->size - gone));
  if (TRY(log->file.pread(bytes, gone)) != bytes.size())
    return Error::internal(format("{} is shorter than it was", log->path));
  // A new file, never this one made shorter: a backup may be copying it, and after a power loss new
  // frames might be found over old ones.
  TRY(os::write_file_atomic(log->path, as_text(bytes), 0600));
  auto fresh = os::File::open(log->path, {.write = true});
  log->file = fresh.ok() ? std::move(*fresh) : os::File();
  log->loaded = fresh.ok();
  if (!fresh.ok()) return fresh.error();
  log->frames.erase(log->frames.begin(), rest);
  for (FrameAt& at : log->frames) at.offset -= gone;
  log->size -= gone;
  return {};
}

Result<void> LogStore::drop(const std::string& task_id) {
  const std::shared_ptr<Log> log = TRY(log_of(task_id));
  const Claim claim(log);
  if (auto done = os::remove_file(log->path); !done.ok() && done.error().code != Code::not_found)
    return done;
  log->file = os::File();
  log->loaded = false;
  return {};
}

Result<std::map<std::string, int64_t>> LogStore::list() {
  std::map<std::string, int64_t> all;
  for (const os::Entry& entry : TRY(os::list_directory(directory_))) {
    if (entry.kind != os::EntryKind::file || !entry.name.ends_with(kEnd)) continue;
    const auto status = os::status(directory_ + "/" + entry.name);
    const std::string id = entry.name.substr(0, entry.name.size() - kEnd.size());
    if (status.ok() && is_id(id)) all[id] = status->st_size;
  }
  return all;
}

}  // namespace hearth::control
