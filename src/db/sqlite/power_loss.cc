#include "db/sqlite/power_loss.h"

#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "base/bytes.h"

namespace hearth::db {
namespace {

std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return std::move(out).str();
}

void put(std::string& content, int64_t offset, std::string_view bytes) {
  const auto at = static_cast<size_t>(offset);
  if (content.size() < at + bytes.size()) content.resize(at + bytes.size());
  std::memcpy(content.data() + at, bytes.data(), bytes.size());
}

}  // namespace

// What is surely on the disk and what may be.
class PowerLoss::Disk {
 public:
  void apply(const Kept& change) {
    Name& name = names_[change.path];
    switch (change.what) {
      case Change::open:
        // Who made it saw to it that it lasts.
        if (name.files.empty()) name = {{std::make_shared<File>(File{change.bytes, {}})}, 0};
        break;
      case Change::create:
        if (name.files.empty()) name.files.push_back(nullptr);
        name.files.push_back(std::make_shared<File>());
        break;
      case Change::remove:
        name.files.push_back(nullptr);
        break;
      case Change::write:
      case Change::truncate:
        CHECK(!name.files.empty() && name.files.back() != nullptr);
        name.files.back()->unsynced.push_back(&change);
        break;
      case Change::sync:
        CHECK(!name.files.empty() && name.files.back() != nullptr);
        name.files.back()->sync();
        break;
      case Change::sync_folder:
        for (auto& [path, each] : names_)
          if (!each.files.empty()) each.sure = each.files.size() - 1;
        break;
    }
  }

  void write_to(const std::string& folder, Random& random) const {
    // All kept, none kept, and between: each finds faults of its own.
    const uint64_t keep_percent = std::array<uint64_t, 4>{0, 50, 90, 100}[random.below(4)];
    const auto keep = [&] { return random.below(100) < keep_percent; };
    for (const auto& [path, name] : names_) {
      if (name.files.empty()) continue;
      size_t now = name.sure;
      while (now + 1 < name.files.size() && keep()) ++now;
      if (name.files[now] == nullptr) continue;
      const std::string content = name.files[now]->torn(keep);
      std::ofstream(folder + path.substr(path.rfind('/')), std::ios::binary) << content;
    }
  }

 private:
  struct File {
    std::string synced;
    std::vector<const Kept*> unsynced;

    void sync() {
      for (const Kept* change : unsynced) {
        if (change->what == Change::truncate)
          synced.resize(static_cast<size_t>(change->offset));
        else
          put(synced, change->offset, change->bytes);
      }
      unsynced.clear();
    }
    std::string torn(const std::function<bool()>& keep) const {
      std::string content = synced;
      for (const Kept* change : unsynced) {
        if (change->what == Change::truncate) {
          if (keep()) content.resize(static_cast<size_t>(change->offset));
          continue;
        }
        const int64_t end = change->offset + static_cast<int64_t>(change->bytes.size());
        for (int64_t at = change->offset; at < end;) {
          const int64_t next = std::min(end, (at / kSectorBytes + 1) * kSectorBytes);
          const std::string_view bytes(change->bytes);
          if (keep())
            put(content, at,
                bytes.substr(static_cast<size_t>(at - change->offset),
                             static_cast<size_t>(next - at)));
          at = next;
        }
      }
      return content;
    }
  };
  // What the name has stood for, one after the other (null: nothing); the disk holds one of them,
  // `sure` or a later one.
  struct Name {
    std::vector<std::shared_ptr<File>> files;
    size_t sure = 0;
  };
  std::map<std::string, Name> names_;
};

int PowerLoss::before(const FileChange& change) {
  const std::string path(change.path);
  Kept kept{change.what, path, change.offset, std::string(as_text(change.bytes))};
  if (change.what == Change::open) kept.bytes = content_of(path);
  const std::lock_guard lock(mutex_);
  changes_.push_back(std::move(kept));
  return SQLITE_OK;
}

size_t PowerLoss::size() const {
  const std::lock_guard lock(mutex_);
  return changes_.size();
}

Result<void> PowerLoss::build(size_t cut, Random& random, const std::string& folder,
                              const Ignore& ignore) const {
  const std::lock_guard lock(mutex_);
  if (cut > changes_.size()) return Error::invalid("the cut lies after the last change");
  Disk disk;
  for (size_t i = 0; i < cut; ++i) {
    const Kept& change = changes_[i];
    const bool syncs = change.what == Change::sync || change.what == Change::sync_folder;
    if (syncs && ignore && ignore(change.what, change.path)) continue;
    disk.apply(change);
  }
  disk.write_to(folder, random);
  return {};
}

}  // namespace hearth::db
