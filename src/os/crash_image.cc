#include "os/crash_image.h"

#include <algorithm>
#include <map>
#include <set>

#include <fcntl.h>
#include <unistd.h>

#include "base/format.h"
#include "base/units.h"
#include "os/files.h"
#include "os/paths.h"

namespace hearth::os {
namespace {

constexpr int64_t kSectorBytes = 512;
constexpr size_t kMostLinkBytes = 4096;
constexpr int kMostDepth = 256;

bool below(const std::string& path, const std::string& root) {
  return path == root || path.starts_with(root + "/");
}

// --- the recorded tree -----------------------------------------------------------------------

struct Change {  // of one name in a folder
  std::string name;
  int node = -1;  // -1: the name is gone
};
struct NameOp {
  size_t op = 0;  // its number in the recording
  std::vector<Change> changes;
  bool durable = false;
  // Of a rename across folders: what the new folder must have before the old one loses the name.
  int needs_folder = -1;
  size_t needs_op = 0;
};
struct Node {
  char kind = 'f';
  mode_t mode = 0600;
  std::string content;               // file: the synced bytes; link: its text
  std::vector<size_t> pending;       // file: writes and truncates since
  std::map<std::string, int> names;  // folder: now, in memory
  std::map<std::string, int> synced_names;
  std::vector<NameOp> name_ops;  // folder: since synced_names, in order
};

void put(std::string& content, int64_t offset, std::string_view bytes) {
  const size_t end = static_cast<size_t>(offset) + bytes.size();
  if (content.size() < end) content.resize(end, '\0');
  std::copy(bytes.begin(), bytes.end(), content.begin() + offset);
}

// Replays a recording: what is there, what of it is durable, what hangs in the air.
class Replay {
 public:
  Replay(const Recording& recording, const CrashOptions& options)
      : recording_(recording), options_(options) {
    nodes_.push_back({.kind = 'd', .mode = 0700});
  }

  Result<void> run(size_t cut) {
    for (const BaseEntry& entry : recording_.base) TRY(add_base(entry));
    for (size_t i = 0; i < std::min(cut, recording_.ops.size()); ++i)
      if (recording_.ops[i].mark.empty())
        if (auto done = apply(i); !done.ok())
          return std::move(done).error().with(format("operation {}", i));
    return {};
  }
  std::vector<Node>& nodes() { return nodes_; }
  NameOp* find(int folder, size_t op) {
    for (NameOp& name_op : nodes_[static_cast<size_t>(folder)].name_ops)
      if (name_op.op == op) return &name_op;
    return nullptr;
  }

 private:
  Node& node(int index) { return nodes_[static_cast<size_t>(index)]; }

  int resolve(const std::string& path) {
    if (!below(path, recording_.root)) return -1;
    int at = 0;
    for (const std::string_view part :
         split(std::string_view(path).substr(recording_.root.size()), '/')) {
      if (part.empty()) continue;
      const auto found = node(at).names.find(std::string(part));
      if (found == node(at).names.end()) return -1;
      at = found->second;
    }
    return at;
  }

  int add_node(Node made) {
    nodes_.push_back(std::move(made));
    return static_cast<int>(nodes_.size() - 1);
  }

  Result<void> add_base(const BaseEntry& entry) {
    const int folder = resolve(parent_of(entry.path));
    if (folder < 0) return Error::internal(format("{} has no folder", entry.path));
    const int made = add_node({.kind = entry.kind, .mode = entry.mode, .content = entry.content});
    node(folder).names[name_of(entry.path)] = made;
    node(folder).synced_names[name_of(entry.path)] = made;
    if (entry.kind == 'f') by_inode_[entry.inode] = made;
    return {};
  }

  Result<int> folder_of(const std::string& path) {
    const int folder = resolve(parent_of(path));
    if (folder < 0) return Error::internal(format("{} lies in an unknown folder", path));
    return folder;
  }

  void change_names(int folder, NameOp op) {
    for (const Change& change : op.changes) {
      if (change.node < 0) node(folder).names.erase(change.name);
      if (change.node >= 0) node(folder).names[change.name] = change.node;
    }
    node(folder).name_ops.push_back(std::move(op));
  }

  Result<void> apply(size_t index) {
    const RecordedOp& op = recording_.ops[index];
    const FileEvent& event = op.event;
    switch (event.op) {
      case FileOp::create:
      case FileOp::make_directory:
      case FileOp::make_symlink:
        return make(index);
      case FileOp::unlink:
      case FileOp::remove_directory:
        change_names(TRY(folder_of(event.path)),
                     {.op = index, .changes = {{name_of(event.path), -1}}});
        return {};
      case FileOp::rename:
        return rename(index);
      case FileOp::write:
      case FileOp::truncate:
      case FileOp::sync:
        return change_file(index);
      case FileOp::sync_directory:
        return sync_folder(event);
    }
    return {};
  }

  Result<void> make(size_t index) {
    const FileEvent& event = recording_.ops[index].event;
    const int folder = TRY(folder_of(event.path));
    Node fresh;
    if (event.op == FileOp::make_directory) fresh = {.kind = 'd', .mode = 0700};
    if (event.op == FileOp::make_symlink) fresh = {.kind = 'l', .content = event.to};
    const int made = add_node(std::move(fresh));
    if (event.op == FileOp::create) by_inode_[event.inode] = made;
    change_names(folder, {.op = index, .changes = {{name_of(event.path), made}}});
    return {};
  }

  Result<void> rename(size_t index) {
    const RecordedOp& op = recording_.ops[index];
    const std::string &from = op.event.path, &to = op.event.to;
    const bool from_inside = below(from, recording_.root), to_inside = below(to, recording_.root);
    int moved = from_inside ? resolve(from) : -1;
    if (from_inside && moved < 0) return Error::internal(format("{} was never made", from));
    // Brought in from elsewhere: taken as it came.
    if (!from_inside) {
      moved = add_node({.content = op.data});
      by_inode_[op.event.inode] = moved;
    }
    const int source = from_inside ? TRY(folder_of(from)) : -1;
    const int target = to_inside ? TRY(folder_of(to)) : -1;
    if (source == target) {
      change_names(source, {.op = index, .changes = {{name_of(from), -1}, {name_of(to), moved}}});
      return {};
    }
    if (target >= 0) change_names(target, {.op = index, .changes = {{name_of(to), moved}}});
    if (source >= 0)
      change_names(source, {.op = index,
                            .changes = {{name_of(from), -1}},
                            .needs_folder = target,
                            .needs_op = index});
    return {};
  }

  Result<void> change_file(size_t index) {
    const FileEvent& event = recording_.ops[index].event;
    const auto found = by_inode_.find(event.inode);
    if (found == by_inode_.end())
      return Error::internal(
          format("{} of {}, which was never made", name_of(event.op), event.path));
    Node& file = node(found->second);
    if (event.op != FileOp::sync) {
      file.pending.push_back(index);
    } else if (!options_.ignore_sync || !options_.ignore_sync(event)) {
      for (const size_t pending : file.pending) {
        const RecordedOp& op = recording_.ops[pending];
        if (op.event.op == FileOp::write) put(file.content, op.event.offset, op.data);
        if (op.event.op == FileOp::truncate)
          file.content.resize(static_cast<size_t>(op.event.size), '\0');
      }
      file.pending.clear();
    }
    return {};
  }

  Result<void> sync_folder(const FileEvent& event) {
    if (options_.ignore_sync && options_.ignore_sync(event)) return {};
    const int index = resolve(event.path);
    if (index < 0) return Error::internal(format("{} was never made", event.path));
    Node& folder = node(index);
    for (const NameOp& op : folder.name_ops) {
      if (op.needs_folder >= 0)
        if (NameOp* const other = find(op.needs_folder, op.needs_op)) other->durable = true;
      for (const Change& change : op.changes) {
        if (change.node < 0) folder.synced_names.erase(change.name);
        if (change.node >= 0) folder.synced_names[change.name] = change.node;
      }
    }
    folder.name_ops.clear();
    return {};
  }

  const Recording& recording_;
  const CrashOptions& options_;
  std::vector<Node> nodes_;
  std::map<uint64_t, int> by_inode_;
};

// --- the image -------------------------------------------------------------------------------

class Image {
 public:
  Image(const Recording& recording, Replay& replay, Random& random)
      : recording_(recording), replay_(replay), random_(random) {
    // The extremes are where the faults are: all of it gone, all of it there.
    const uint64_t mood = random_.below(4);
    if (mood == 0) fate_ = Fate::all_lost;
    if (mood == 1) fate_ = Fate::all_kept;
  }

  Result<void> build(const std::string& into) {
    decide_names();
    return folder(0, into, 0);
  }

 private:
  enum class Fate { mixed, all_lost, all_kept };

  bool keep() { return fate_ == Fate::mixed ? random_.below(2) == 0 : fate_ == Fate::all_kept; }

  // First all, then the pairs: a lost name needs its new one.
  void decide_names() {
    for (Node& node : replay_.nodes())
      for (NameOp& op : node.name_ops) op.durable = op.durable || keep();
    for (Node& node : replay_.nodes())
      for (NameOp& op : node.name_ops) {
        if (!op.durable || op.needs_folder < 0) continue;
        if (NameOp* const other = replay_.find(op.needs_folder, op.needs_op)) other->durable = true;
      }
  }

  Result<void> folder(int index, const std::string& path, int depth) {
    if (depth > kMostDepth) return Error::internal("the recorded tree is too deep");
    Node& node = replay_.nodes()[static_cast<size_t>(index)];
    TRY(make_directory(path, 0700));
    std::map<std::string, int> names = node.synced_names;
    for (const NameOp& op : node.name_ops) {
      if (!op.durable) continue;
      for (const Change& change : op.changes) {
        if (change.node < 0) names.erase(change.name);
        if (change.node >= 0) names[change.name] = change.node;
      }
    }
    on_path_.insert(index);
    for (const auto& [name, child] : names) {
      const std::string at = path + "/" + name;
      const Node& inside = replay_.nodes()[static_cast<size_t>(child)];
      if (inside.kind == 'd' && !on_path_.contains(child)) TRY(folder(child, at, depth + 1));
      if (inside.kind == 'l') TRY(make_symlink(inside.content, at));
      if (inside.kind != 'f') continue;
      TRY(append_file(at, content(child), Sync::no));
      TRY(set_mode(at, inside.mode));
    }
    on_path_.erase(index);
    return set_mode(path, node.mode);
  }

  // Decided once: a file may be found under two names.
  const std::string& content(int index) {
    const auto [found, fresh] = contents_.try_emplace(index);
    if (!fresh) return found->second;
    const Node& file = replay_.nodes()[static_cast<size_t>(index)];
    std::string& text = found->second;
    text = file.content;
    for (const size_t pending : file.pending) {
      const RecordedOp& op = recording_.ops[pending];
      if (op.event.op == FileOp::truncate) {
        if (keep()) text.resize(static_cast<size_t>(op.event.size), '\0');
      } else if (fate_ == Fate::mixed && random_.below(2) == 0) {
        tear(text, op.event.offset, op.data);
      } else if (keep()) {
        put(text, op.event.offset, op.data);
      }
    }
    return text;
  }

  void tear(std::string& text, int64_t offset, std::string_view bytes) {
    enum class Way { prefix, suffix, some, size_alone };
    const Way way = static_cast<Way>(random_.below(4));
    const int64_t end = offset + static_cast<int64_t>(bytes.size());
    if (way == Way::size_alone) {
      if (static_cast<int64_t>(text.size()) < end) text.resize(static_cast<size_t>(end), '\0');
      return;
    }
    const int64_t first = offset / kSectorBytes, last = (end + kSectorBytes - 1) / kSectorBytes;
    const int64_t border =
        first + static_cast<int64_t>(random_.below(static_cast<uint64_t>(last - first + 1)));
    for (int64_t sector = first; sector < last; ++sector) {
      const bool there = way == Way::prefix   ? sector < border
                         : way == Way::suffix ? sector >= border
                                              : random_.below(2) == 0;
      if (!there) continue;
      const int64_t from = std::max(offset, sector * kSectorBytes);
      const int64_t to = std::min(end, (sector + 1) * kSectorBytes);
      put(text, from,
          bytes.substr(static_cast<size_t>(from - offset), static_cast<size_t>(to - from)));
    }
  }

  const Recording& recording_;
  Replay& replay_;
  Random& random_;
  Fate fate_ = Fate::mixed;
  std::map<int, std::string> contents_;
  std::set<int> on_path_;
};

}  // namespace

Result<std::unique_ptr<PowerRecorder>> PowerRecorder::start(const std::string& root) {
  std::unique_ptr<PowerRecorder> recorder(new PowerRecorder());
  Recording& recording = recorder->recording_;
  recording.root = absolute_path(root);
  TRY(walk(recording.root, [&](const Found& found) -> Result<bool> {
    BaseEntry entry{.path = recording.root + "/" + found.path};
    const struct stat status = TRY(link_status(entry.path));
    entry.inode = status.st_ino;
    entry.mode = status.st_mode & 0777;
    if (found.kind == EntryKind::other) return false;
    if (found.kind == EntryKind::directory) entry.kind = 'd';
    if (found.kind == EntryKind::symlink) {
      entry.kind = 'l';
      entry.content.resize(kMostLinkBytes);
      const ssize_t size = readlink(entry.path.c_str(), entry.content.data(), entry.content.size());
      entry.content.resize(static_cast<size_t>(std::max<ssize_t>(size, 0)));
    }
    if (found.kind == EntryKind::file)
      entry.content = TRY(read_file(entry.path, kMostRecordedBytes));
    recorder->bytes_ += static_cast<int64_t>(entry.content.size());
    recording.base.push_back(std::move(entry));
    return true;
  }));
  return recorder;
}

void PowerRecorder::happened(const FileEvent& event) {
  const std::lock_guard lock(mutex_);
  const bool from_inside = below(event.path, recording_.root);
  if (!from_inside && !(event.op == FileOp::rename && below(event.to, recording_.root))) return;
  RecordedOp op{.event = event, .data = std::string(event.data)};
  op.event.data = {};
  if (!from_inside) {
    if (const auto status = link_status(event.to); status.ok()) op.event.inode = status->st_ino;
    op.data = read_file(event.to, kMostRecordedBytes).value_or("");
  }
  bytes_ += static_cast<int64_t>(op.data.size());
  if (bytes_ > kMostRecordedBytes) return;
  recording_.ops.push_back(std::move(op));
}

void PowerRecorder::mark(const std::string& text) {
  // Behind the operations that have been reported, before those to come.
  const std::lock_guard order(file_observer_mutex());
  const std::lock_guard lock(mutex_);
  recording_.ops.push_back({.mark = text});
}

size_t PowerRecorder::size() const {
  const std::lock_guard lock(mutex_);
  return recording_.ops.size();
}

Result<Recording> PowerRecorder::recording() const {
  const std::lock_guard lock(mutex_);
  if (bytes_ > kMostRecordedBytes)
    return Error::conflict(
        format("more than {} were written while recording", format_size(kMostRecordedBytes)));
  return recording_;
}

Result<void> build_crash_image(const Recording& recording, size_t cut, Random& random,
                               const std::string& into, const CrashOptions& options) {
  Replay replay(recording, options);
  TRY(replay.run(cut));
  return Image(recording, replay, random).build(into);
}

std::vector<std::string> marks_before(const Recording& recording, size_t cut) {
  std::vector<std::string> marks;
  for (size_t i = 0; i < std::min(cut, recording.ops.size()); ++i)
    if (!recording.ops[i].mark.empty()) marks.push_back(recording.ops[i].mark);
  return marks;
}

}  // namespace hearth::os
