#include "shim/checkpoint_watch.h"

#include <algorithm>
#include <climits>

#include <fcntl.h>
#include <unistd.h>

#include "base/format.h"
#include "base/units.h"
#include "domain/scalar.h"
#include "os/paths.h"

namespace hearth::shim {
namespace {

constexpr int64_t kMostInfoBytes = 64 << 10;
constexpr const char* kFlat = ".";  // the files that lie in no folder, together

// The last number in a name: "ckpt-300.index" -> 300.
int64_t number_in(const std::string& name) {
  const size_t end = name.find_last_of("0123456789");
  if (end == std::string::npos) return -1;
  size_t begin = end;
  while (begin > 0 && name[begin - 1] >= '0' && name[begin - 1] <= '9') --begin;
  return integer_of(std::string_view(name).substr(begin, end - begin + 1)).value_or(-1);
}

bool not_ours(std::string_view name) {
  // The SDK's: told of by a record of their own. Hidden: temporary.
  return name.starts_with('.') || (name.starts_with("step-") && name.size() >= 15);
}

}  // namespace

void CheckpointWatch::begin() {
  seen_ = scan();
  for (auto& [name, seen] : seen_) seen.saved = seen.state;
}

std::map<std::string, CheckpointWatch::Seen> CheckpointWatch::scan() const {
  std::map<std::string, Seen> found;
  ignore(os::walk(
      directory_,
      [&](const os::Found& entry) -> Result<bool> {
        const std::string top = entry.path.substr(0, entry.path.find('/'));
        if (not_ours(top)) return false;
        if (entry.kind != os::EntryKind::file) return true;
        const auto status = os::link_status(directory_ + "/" + entry.path);
        if (!status.ok()) return true;
        Seen& seen = found[top == entry.path ? kFlat : top];
        const int64_t changed =
            std::max(int64_t{status->st_mtim.tv_sec} * 1'000'000'000 + status->st_mtim.tv_nsec,
                     int64_t{status->st_ctim.tv_sec} * 1'000'000'000 + status->st_ctim.tv_nsec);
        seen.state.newest = std::max(seen.state.newest, changed);
        seen.state.bytes += status->st_size;
        ++seen.state.files;
        seen.step = std::max(seen.step, number_in(top));
        return true;
      },
      kMostFiles));
  return found;
}

std::vector<SaveWish> CheckpointWatch::look(Time now, const os::TreeQuery& tree, bool ended) {
  std::vector<SaveWish> wishes;
  std::map<std::string, Seen> found = scan();
  for (auto& [name, seen] : found) {
    const auto before = seen_.find(name);
    const bool same = before != seen_.end() && before->second.state == seen.state;
    seen.since = same ? before->second.since : now;
    if (before != seen_.end()) seen.saved = before->second.saved;
    if (seen.saved == seen.state) continue;
    const std::string path = name == kFlat ? directory_ : directory_ + "/" + name;
    if (!ended && (now - seen.since < kQuiet || open_for_writing(path, tree))) continue;
    seen.saved = seen.state;
    wishes.push_back({"checkpoint", path, "", "", seen.step > 0 ? seen.step : ++count_});
  }
  seen_ = std::move(found);
  return wishes;
}

bool CheckpointWatch::open_for_writing(const std::string& path, const os::TreeQuery& tree) {
  for (const os::ProcessInfo& info : os::find_tree(tree)) {
    const std::string folder = format("/proc/{}/fd", info.pid);
    const auto entries = os::list_directory(folder);
    if (!entries.ok()) continue;
    for (const os::Entry& entry : *entries) {
      char target[PATH_MAX];
      const ssize_t size =
          readlink(format("{}/{}", folder, entry.name).c_str(), target, sizeof target);
      if (size <= 0 || !std::string_view(target, static_cast<size_t>(size)).starts_with(path + "/"))
        continue;
      const auto text =
          os::read_file(format("/proc/{}/fdinfo/{}", info.pid, entry.name), kMostInfoBytes);
      if (!text.ok()) continue;
      for (const std::string_view line : split(*text, '\n')) {
        if (!line.starts_with("flags:")) continue;
        const std::string octal = "0o" + std::string(trim(line.substr(6)));
        if ((integer_of(octal).value_or(0) & O_ACCMODE) != O_RDONLY) return true;
      }
    }
  }
  return false;
}

}  // namespace hearth::shim
