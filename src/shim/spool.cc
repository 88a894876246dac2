#include "shim/spool.h"

#include <algorithm>
#include <chrono>

#include <fcntl.h>

#include "base/format.h"
#include "base/log.h"
#include "base/units.h"
#include "track/log_frame.h"

namespace hearth::shim {
namespace {

constexpr int64_t kMostStateBytes = 16 << 20;
constexpr int64_t kReserveBytes = 256 << 10;
constexpr int64_t kMostBatchLogBytes = 3 << 20;
constexpr int64_t kMostBatchRecordBytes = 3 << 20;
// Of a file left by an earlier shim: a segment and the frame that went over its end.
constexpr int64_t kMostSegmentBytes = 64 << 20;

Result<int64_t> seq_of(std::string_view line) {
  const auto record = from_json<TaskRecord>(line, Origin::server, kMostStateBytes);
  if (!record.ok()) return record.error();
  return record->seq;
}

Result<std::vector<Segments::Piece>> scan_records(const std::string& path,
                                                  const std::string& bytes) {
  std::vector<Segments::Piece> pieces;
  size_t at = 0;
  for (size_t end = bytes.find('\n'); end != std::string::npos; end = bytes.find('\n', at)) {
    const auto seq = seq_of(std::string_view(bytes).substr(at, end - at));
    if (!seq.ok()) break;  // a torn line was followed by nothing
    const auto length = static_cast<int64_t>(end + 1 - at);
    pieces.push_back({path, static_cast<int64_t>(at), length, *seq, *seq, 1, true});
    at = end + 1;
  }
  return pieces;
}

Result<std::vector<Segments::Piece>> scan_frames(const std::string& path,
                                                 const std::string& bytes) {
  std::vector<Segments::Piece> pieces;
  const auto all = as_bytes(bytes);
  const track::Tail tail = track::last_whole_frame(all);
  int64_t offset = 0;
  TRY(track::each_frame(all.first(tail.whole_bytes), [&](const track::Frame& frame) {
    const auto length = static_cast<int64_t>(frame.bytes.size());
    pieces.push_back({path, offset, length, static_cast<int64_t>(frame.first_seq),
                      static_cast<int64_t>(frame.last_seq), static_cast<int>(frame.count), true});
    offset += length;
    return Result<void>();
  }));
  return pieces;
}

Result<std::string> content_of(const std::vector<Segments::Piece>& pieces) {
  std::string out;
  for (const Segments::Piece& piece : pieces) {
    const os::File file = TRY(os::File::open_read(piece.path));
    const size_t before = out.size();
    out.resize(before + static_cast<size_t>(piece.length));
    const size_t got =
        TRY(file.pread(std::as_writable_bytes(std::span(out).subspan(before)), piece.offset));
    if (static_cast<int64_t>(got) != piece.length)
      return Error::internal(format("{} is shorter than it was", piece.path));
  }
  return out;
}

}  // namespace

// --- Segments --------------------------------------------------------------------------------

Result<void> Segments::open(Scan scan) {
  const auto entries = TRY(os::list_directory(folder_));
  for (const os::Entry& entry : entries) {  // sorted: the numbers have leading zeros
    if (!entry.name.starts_with(prefix_ + ".")) continue;
    const std::string path = folder_ + "/" + entry.name;
    const std::string bytes = TRY(os::read_file(path, kMostSegmentBytes));
    const auto pieces = TRY(scan(path, bytes));
    if (pieces.empty()) continue;
    const Piece& last = pieces.back();
    segments_.push_back({path, last.offset + last.length, last.last_seq});
    bytes_ += segments_.back().bytes;
    last_seq_ = std::max(last_seq_, last.last_seq);
    pieces_.insert(pieces_.end(), pieces.begin(), pieces.end());
  }
  return {};
}

Result<void> Segments::append(std::string_view bytes, int64_t first_seq, int64_t last_seq,
                              int count) {
  if (!file_.is_open() || segments_.empty() || segments_.back().bytes >= kSegmentBytes) {
    if (unsynced_ && file_.is_open()) TRY(file_.sync());
    const std::string path = format("{}/{}.{:020}", folder_, prefix_, first_seq);
    file_ = TRY(os::File::open(path, {.write = true, .create = true, .append = true}));
    segments_.push_back({path, TRY(file_.size()), 0});
  }
  Segment& segment = segments_.back();
  if (const auto written = file_.write(bytes); !written.ok()) {
    // Half a record must not stand before the next one.
    ignore(file_.truncate(segment.bytes));
    return written;
  }
  unsynced_ = true;
  const auto length = static_cast<int64_t>(bytes.size());
  const bool grows =
      !pieces_.empty() && !pieces_.back().taken && pieces_.back().path == segment.path &&
      pieces_.back().length + length <= kPieceBytes && pieces_.back().count + count <= kPieceCount;
  if (grows) {
    pieces_.back().length += length;
    pieces_.back().last_seq = last_seq;
    pieces_.back().count += count;
  } else {
    pieces_.push_back({segment.path, segment.bytes, length, first_seq, last_seq, count});
  }
  segment.bytes += length;
  segment.last_seq = last_seq;
  bytes_ += length;
  last_seq_ = last_seq;
  return {};
}

Result<void> Segments::sync() {
  if (!unsynced_) return {};
  TRY(file_.sync());
  unsynced_ = false;
  return {};
}

std::vector<Segments::Piece> Segments::take(int64_t most_bytes, int most_count) {
  std::vector<Piece> out;
  int64_t bytes = 0;
  int count = 0;
  for (Piece& piece : pieces_) {
    if (!out.empty() && (bytes + piece.length > most_bytes || count + piece.count > most_count))
      break;
    piece.taken = true;
    bytes += piece.length;
    count += piece.count;
    out.push_back(piece);
  }
  return out;
}

void Segments::acknowledge(int64_t seq) {
  while (!pieces_.empty() && pieces_.front().last_seq <= seq) pieces_.pop_front();
  while (!segments_.empty() && segments_.front().last_seq <= seq &&
         (pieces_.empty() || pieces_.front().path != segments_.front().path)) {
    const bool current = segments_.size() == 1 && file_.is_open();
    // The one being written stays until it is full.
    if (current && segments_.front().bytes < kSegmentBytes) break;
    if (current) file_ = os::File();
    ignore(os::remove_file(segments_.front().path));
    bytes_ -= segments_.front().bytes;
    segments_.pop_front();
  }
}

// --- Spool -----------------------------------------------------------------------------------

Spool::Spool(const std::string& folder, int64_t most_bytes, Clock& clock)
    : folder_(folder),
      most_bytes_(most_bytes),
      clock_(clock),
      records_(folder, "records"),
      log_(folder, "log") {}

Result<std::unique_ptr<Spool>> Spool::open(const std::string& folder, int64_t most_bytes,
                                           Clock& clock) {
  TRY(os::make_directories(folder, 0700));
  std::unique_ptr<Spool> spool(new Spool(folder, most_bytes, clock));
  TRY(spool->load());
  spool->make_reserve();
  return spool;
}

Result<void> Spool::load() {
  const std::string path = folder_ + "/states.jsonl";
  std::string text;
  if (os::exists(path)) text = TRY(os::read_file(path, kMostStateBytes));
  size_t whole = 0;
  for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', whole)) {
    auto state = from_json<StateRecord>(std::string_view(text).substr(whole, end - whole));
    if (!state.ok()) break;
    state_seq_ = state->seq;
    last_state_ = *state;
    states_.push_back(std::move(*state));
    whole = end + 1;
  }
  state_file_ = std::make_unique<os::File>(TRY(os::File::open_append(path)));
  if (whole < text.size()) TRY(state_file_->truncate(static_cast<int64_t>(whole)));
  TRY(records_.open(scan_records));
  TRY(log_.open(scan_frames));
  const std::string saves = folder_ + "/saves.jsonl";
  if (!os::exists(saves)) return {};
  const std::string lines = TRY(os::read_file(saves, kMostSegmentBytes));
  for (const std::string_view line : split(lines, '\n')) {
    if (line.starts_with('+')) saves_.emplace_back(line.substr(1));
    if (line.starts_with('-')) {
      const auto found = std::find(saves_.begin(), saves_.end(), line.substr(1));
      if (found != saves_.end()) saves_.erase(found);
    }
  }
  return {};
}

Result<void> Spool::add_state(StateRecord state) {
  const std::lock_guard lock(mutex_);
  state.seq = ++state_seq_;
  state.time = clock_.now();
  if (auto written = write_state(to_json(state) + "\n"); !written.ok()) {
    --state_seq_;
    return written;
  }
  last_state_ = state;
  states_.push_back(std::move(state));
  changed_.notify_all();
  return {};
}

Result<void> Spool::write_state(const std::string& line) {
  const int64_t size = TRY(state_file_->size());
  auto written = state_file_->write(line);
  if (!written.ok() && written.error().code == Code::unavailable) {
    // The disk is full, but how a task ended must be said: that is what the reserve is for.
    ignore(os::remove_file(folder_ + "/reserve"));
    TRY(state_file_->truncate(size));
    written = state_file_->write(line);
  }
  if (!written.ok()) {
    ignore(state_file_->truncate(size));
    return written;
  }
  return state_file_->sync();
}

void Spool::make_reserve() const {
  auto file = os::File::create_new(folder_ + "/reserve");
  if (file.ok() && posix_fallocate(file->fd(), 0, kReserveBytes) != 0)
    log_warning("no room is kept for the last words of this task: the disk is nearly full");
}

Result<void> Spool::add_record(TaskRecord record) {
  const std::lock_guard lock(mutex_);
  record.seq = records_.last_seq() + 1;
  if (record.time.micros == 0) record.time = clock_.now();
  TRY(records_.append(to_json(record) + "\n", record.seq, record.seq, 1));
  changed_.notify_all();
  return {};
}

Result<void> Spool::sync_records() {
  const std::lock_guard lock(mutex_);
  return records_.sync();
}

Result<bool> Spool::add_frame(std::span<const std::byte> frame, int64_t first_seq, int64_t last_seq,
                              bool always) {
  const std::lock_guard lock(mutex_);
  const auto length = static_cast<int64_t>(frame.size());
  if (!always && log_.bytes() + records_.bytes() + length > most_bytes_) return false;
  TRY(log_.append(as_text(frame), first_seq, last_seq, 1));
  changed_.notify_all();
  return true;
}

int64_t Spool::next_log_seq() const {
  const std::lock_guard lock(mutex_);
  return log_.last_seq() + 1;
}

Result<void> Spool::add_save(const std::string& line) {
  const std::lock_guard lock(mutex_);
  TRY(os::append_file(folder_ + "/saves.jsonl", "+" + line + "\n", os::Sync::yes));
  saves_.push_back(line);
  return {};
}

Result<void> Spool::finish_save(const std::string& line) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find(saves_.begin(), saves_.end(), line);
  if (found != saves_.end()) saves_.erase(found);
  return os::append_file(folder_ + "/saves.jsonl", "-" + line + "\n", os::Sync::no);
}

std::vector<std::string> Spool::open_saves() const {
  const std::lock_guard lock(mutex_);
  return saves_;
}

bool Spool::roomy() const {
  const std::lock_guard lock(mutex_);
  return log_.bytes() + records_.bytes() < most_bytes_ / 2;
}

std::optional<StateRecord> Spool::last_state() const {
  const std::lock_guard lock(mutex_);
  return last_state_;
}

Result<SpoolBatch> Spool::next_batch() {
  std::vector<Segments::Piece> records, frames;
  SpoolBatch batch;
  {
    const std::lock_guard lock(mutex_);
    records = records_.take(kMostBatchRecordBytes, kMostSyncRecords);
    frames = log_.take(kMostBatchLogBytes, 1 << 30);
    const bool rest = records.size() < records_.pieces() || frames.size() < log_.pieces();
    for (const StateRecord& state : states_)
      if (!rest || !finished(state.state)) batch.states.push_back(state);
  }
  // Files go only when they are acknowledged, and only this thread's answers do that.
  batch.frames = TRY(content_of(frames));
  batch.records = TRY(content_of(records));
  if (!batch.records.empty()) batch.records.pop_back();
  std::replace(batch.records.begin(), batch.records.end(), '\n', ',');
  return batch;
}

void Spool::acknowledge(const Marks& marks) {
  const std::lock_guard lock(mutex_);
  while (!states_.empty() && states_.front().seq <= marks.state) states_.pop_front();
  records_.acknowledge(marks.metrics);
  log_.acknowledge(marks.log);
}

bool Spool::drained() const {
  const std::lock_guard lock(mutex_);
  return states_.empty() && records_.empty() && log_.empty();
}

void Spool::wait(Duration at_most) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, at_most.chrono(), [&] {
    return woken_ || !states_.empty() || !records_.empty() || !log_.empty();
  });
  woken_ = false;
}

void Spool::wake() {
  const std::lock_guard lock(mutex_);
  woken_ = true;
  changed_.notify_all();
}

}  // namespace hearth::shim
