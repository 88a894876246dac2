#include "shim/event_files.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/format.h"
#include "base/log.h"
#include "base/units.h"
#include "domain/codec.h"
#include "domain/scalar.h"
#include "os/paths.h"
#include "shim/event_artifact.h"

namespace hearth::shim {
namespace {

constexpr int64_t kMostStateBytes = 16 << 20;

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

bool lies_below(const std::string& path, const std::string& folder) {
  return folder.empty() ? !path.empty() : path.starts_with(folder + "/");
}

// What writers call the parts of one run.
bool is_set_name(std::string_view name) {
  for (const std::string_view word :
       {"train", "training", "validation", "valid", "val", "eval", "evaluation", "test"})
    if (name == word) return true;
  return false;
}

}  // namespace

EventFiles::EventFiles(const TaskSpec& spec, const Layout& layout, Spool& spool, MetricGate& gate,
                       Hooks hooks)
    : spec_(spec), layout_(layout), spool_(spool), gate_(gate), hooks_(std::move(hooks)) {
  load();
}

EventFiles::~EventFiles() {
  finish();
}

void EventFiles::start() {
  thread_ = std::thread([this] { run(); });
}

void EventFiles::run() {
  Duration pause = kLook;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (changed_.wait_for(lock, pause.chrono(), [&] { return finishing_; })) return;
    }
    const Time begin = system_clock().steady();
    const bool all = look();
    const Duration took = system_clock().steady() - begin;
    pause = all ? std::max(kLook, Duration{took.micros * kLookShare}) : Duration::millis(10);
  }
}

void EventFiles::finish() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(finishing_, true)) return;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  // The spool may take all of it now: nothing else comes any more.
  while (!look()) {
  }
}

void EventFiles::tell_once(std::string_view about, std::string words) {
  if (told_.emplace(about).second) hooks_.complain(std::move(words));
}

// --- finding ---------------------------------------------------------------------------------

bool EventFiles::passed_over(const std::string& path) const {
  if (path.substr(path.rfind('/') + 1).starts_with('.')) return true;
  return std::any_of(spec_.datasets.begin(), spec_.datasets.end(),
                     [&](const TaskDataset& data) { return data.at == path; });
}

void EventFiles::find_below(const std::string& directory) {
  const std::string root = directory.empty() ? layout_.work() : layout_.work() + "/" + directory;
  const auto walked = os::walk(
      root,
      [&](const os::Found& found) -> Result<bool> {
        const std::string path = directory.empty() ? found.path : directory + "/" + found.path;
        if (found.kind == os::EntryKind::directory) return !passed_over(path);
        if (found.kind != os::EntryKind::file || files_.contains(path) ||
            !track::is_event_file_name(os::name_of(path)))
          return true;
        if (files_.size() >= kMostFiles) {
          tell_once("files", format("only the first {} event files are read", kMostFiles));
          return true;
        }
        Known& file = files_[path];
        file.directory = folder_of(path);
        directories_.insert(file.directory);
        return true;
      },
      kMostNames);
  if (!walked.ok() && walked.error().code == Code::too_large)
    tell_once("names", format("event files are not looked for behind {} names; name their "
                              "directories in the job file: metrics.event_directories",
                              kMostNames));
}

void EventFiles::find_files() {
  if (spec_.metrics.event_directories.empty()) return find_below("");
  for (const std::string& named : spec_.metrics.event_directories) {
    std::string clean;
    for (const std::string_view part : split(named, '/'))
      if (!part.empty() && part != ".") clean += (clean.empty() ? "" : "/") + std::string(part);
    find_below(clean);
  }
}

// --- reading ---------------------------------------------------------------------------------

bool EventFiles::look() {
  if (!work_)
    work_ = os::Fd(::open(layout_.work().c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!work_) return true;
  find_files();
  if (files_.empty()) return true;
  const bool waiting = [&] {
    const std::lock_guard lock(mutex_);
    return !finishing_;
  }();
  // The server is away and the spool fills: the files keep what they hold.
  if (waiting && !spool_.roomy()) return true;
  int64_t budget = kMostBytesALook;
  bool changed = false, all = true;
  for (auto& [path, file] : files_) {
    if (file.done) continue;
    if (budget <= 0) {
      all = false;
      break;
    }
    const int64_t before = budget;
    all = read(path, file, budget) && all;
    changed = changed || budget != before;
  }
  if (changed) {
    if (const auto synced = spool_.sync_records(); !synced.ok())
      log_error("{}", synced.error().text());
    else
      save();
  }
  return all;
}

// False: the budget ended before the file did.
bool EventFiles::read(const std::string& path, Known& file, int64_t& budget) {
  auto fd =
      os::open_beneath(work_.get(), path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW, 0, os::Links::refuse);
  if (!fd.ok()) return true;  // gone, or not to be opened: perhaps the next time
  auto opened = os::File::adopt(std::move(*fd), path);
  if (!opened.ok()) return true;
  const auto status = opened->status();
  if (!status.ok() || !S_ISREG(status->st_mode)) {
    file.done = true;
    return true;
  }
  // Another file under this name begins anew.
  if (!file.reader || file.inode != status->st_ino || status->st_size < file.reader->offset())
    file.reader = std::make_unique<track::EventReader>(path);
  file.inode = status->st_ino;
  int64_t at = file.reader->next();
  if (at >= status->st_size) return true;
  track::EventReader& reader = *file.reader;
  Bytes buffer(kReadBytes);
  while (budget > 0) {
    const auto got = opened->pread(buffer, at);
    if (!got.ok() || *got == 0) break;
    at += static_cast<int64_t>(*got);
    budget -= static_cast<int64_t>(*got);
    const auto fed = reader.feed(as_text(std::span(buffer).first(*got)),
                                 [&](track::EventValue&& value) { take(file, std::move(value)); });
    if (fed.ok()) continue;
    hooks_.complain(fed.error().text());
    file.done = true;
    break;
  }
  return budget > 0;
}

void EventFiles::take(const Known& file, track::EventValue&& value) {
  if (value.time.micros == 0) value.time = system_clock().now();
  if (value.kind == track::EventValue::Kind::scalar)
    take_scalar(file, value);
  else
    make_file(file, value);
}

std::string EventFiles::key_of(const Known& file, const std::string& tag) {
  std::string key = is_utf8(tag) ? tag : to_utf8_lossy(tag);
  for (char& c : key)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '_';
  // The topmost directory above with event files of its own is the run; what lies below are parts.
  std::string prefix;
  for (const std::string& above : directories_)
    if (lies_below(file.directory, above)) {
      prefix = above.empty() ? file.directory : file.directory.substr(above.size() + 1);
      break;
    }
  const std::string last = os::name_of(file.directory);
  if (prefix.empty() && !file.directory.empty() && is_set_name(last)) prefix = last;
  if (prefix.empty()) {
    auto owner = owners_.find(key);
    if (owner == owners_.end() && owners_.size() < kMostKeys)
      owner = owners_.emplace(key, file.directory).first;
    if (owner != owners_.end() && owner->second != file.directory) prefix = file.directory;
  }
  return prefix.empty() ? key : prefix + "/" + key;
}

void EventFiles::take_scalar(const Known& file, const track::EventValue& value) {
  const std::string key = key_of(file, value.tag);
  if (key.empty() || key.size() > kMostKeyBytes)
    return tell_once(
        "key", format("a tag of an event file is not charted: its name has {} bytes, 1 to {} are "
                      "allowed",
                      key.size(), kMostKeyBytes));
  // The script says it better itself.
  if (gate_.client_has(key)) return;
  gate_.events_logged();
  TaskRecord record{.kind = "metric", .time = value.time, .step = value.step};
  record.values[key] = value.scalar;
  if (const auto added = spool_.add_record(std::move(record)); !added.ok())
    tell_once("disk", format("metrics of event files are lost: {}", added.error().text()));
}

void EventFiles::make_file(const Known& file, const track::EventValue& value) {
  for (const MadeFile& made : files_of(value, key_of(file, value.tag))) {
    const auto bytes = static_cast<int64_t>(made.bytes.size());
    if (made_ >= kMostMade || made_bytes_ + bytes > kMostMadeBytes)
      return tell_once("made", format("of images, texts and histograms in event files the first {} "
                                      "(at most {}) are kept",
                                      kMostMade, format_size(kMostMadeBytes)));
    const std::string path = layout_.made() + "/" + made.path;
    const auto written = [&]() -> Result<void> {
      TRY(os::make_directories(os::parent_of(path), 0700));
      return os::write_file_atomic(path, made.bytes, 0600, os::Sync::no);
    }();
    if (!written.ok()) return tell_once("write", written.error().text());
    ++made_;
    made_bytes_ += bytes;
    hooks_.save(path, made.name, made.kind, value.step);
  }
}

// --- over a shim's death ---------------------------------------------------------------------

void EventFiles::load() {
  const auto text = os::read_file(layout_.events(), kMostStateBytes);
  if (!text.ok()) return;
  const auto node = parse_json(*text, kMostStateBytes);
  if (!node.ok()) return;
  const auto number = [](const Node& of, const char* key) {
    const Node* const found = of.find(key);
    return found == nullptr ? 0 : integer_of(found->text).value_or(0);
  };
  made_ = static_cast<size_t>(number(*node, "made"));
  made_bytes_ = number(*node, "made_bytes");
  if (const Node* const files = node->find("files"))
    for (const Node::Member& member : files->members) {
      Known& file = files_[member.key];
      file.directory = folder_of(member.key);
      file.inode = static_cast<ino_t>(number(member.value, "inode"));
      file.done = number(member.value, "done") != 0;
      file.reader =
          std::make_unique<track::EventReader>(member.key, number(member.value, "offset"));
      directories_.insert(file.directory);
    }
  if (const Node* const owners = node->find("owners"))
    for (const Node::Member& member : owners->members) owners_[member.key] = member.value.text;
}

void EventFiles::save() const {
  std::string files, owners;
  for (const auto& [path, file] : files_)
    if (file.reader)
      files += format("{}{}:{{\"inode\":{},\"offset\":{},\"done\":{}}}", files.empty() ? "" : ",",
                      json_quote(path), file.inode, file.reader->offset(), file.done ? 1 : 0);
  for (const auto& [key, directory] : owners_)
    owners += format("{}{}:{}", owners.empty() ? "" : ",", json_quote(key), json_quote(directory));
  const std::string text =
      format("{{\"made\":{},\"made_bytes\":{},\"files\":{{{}}},\"owners\":{{{}}}}}\n", made_,
             made_bytes_, files, owners);
  if (const auto written = os::write_file_atomic(layout_.events(), text, 0600, os::Sync::no);
      !written.ok())
    log_warning("{}", written.error().text());
}

}  // namespace hearth::shim
