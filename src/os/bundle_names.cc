#include "os/bundle_names.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/format.h"
#include "base/units.h"
#include "os/ignore.h"
#include "os/paths.h"

namespace hearth::os {
namespace {

constexpr int64_t kMostIgnoreBytes = 1 << 20;
constexpr size_t kMostNamedLinks = 20;
constexpr size_t kMostLinkBytes = 4096;
constexpr int kMostDepth = 256;

class Planner {
 public:
  Planner(const std::string& directory, const BundleBounds& bounds)
      : directory_(directory), bounds_(bounds) {}

  Result<BundlePlan> run() {
    const Fd root(::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!root) return Error::from_errno(format("opening {}", directory_), errno);
    TRY(folder(root.get(), "", 0));
    return std::move(plan_);
  }

 private:
  // `prefix` is "" or "a/b/".
  Result<void> folder(int fd, const std::string& prefix, int depth) {
    if (depth > kMostDepth)
      return Error::of(Code::too_large, format("{}/{} lies more than {} folders deep", directory_,
                                               prefix, kMostDepth));
    const std::vector<Entry> entries = TRY(list_directory(fd, directory_ + "/" + prefix));
    const size_t rules = rules_.count();
    for (const char* const name : {".gitignore", ".hearthignore"}) TRY(add_rules(fd, prefix, name));
    for (const Entry& entry : entries) TRY(add(fd, prefix, entry, depth));
    rules_.shrink(rules);
    return {};
  }

  Result<void> add_rules(int fd, const std::string& prefix, const char* name) {
    Fd file(openat(fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!file) return {};
    const auto text = read_file(format("/proc/self/fd/{}", file.get()), kMostIgnoreBytes);
    if (!text.ok() && text.error().code == Code::too_large)
      return Error::of(Code::too_large, format("{}/{}{} has more than {}", directory_, prefix, name,
                                               format_size(kMostIgnoreBytes)));
    if (!text.ok()) return {};  // a folder of that name, say
    rules_.add(prefix.empty() ? "" : std::string_view(prefix).substr(0, prefix.size() - 1), *text);
    return {};
  }

  Result<void> add(int fd, const std::string& prefix, const Entry& entry, int depth) {
    if (entry.name == ".git" || entry.kind == EntryKind::other) return {};
    const std::string path = prefix + entry.name;
    const bool is_folder = entry.kind == EntryKind::directory;
    if (rules_.ignored_itself(path, is_folder)) return {};
    BundleEntry taken{path, entry.kind, ""};
    if (entry.kind == EntryKind::symlink) {
      taken.target.resize(kMostLinkBytes);
      const ssize_t size =
          readlinkat(fd, entry.name.c_str(), taken.target.data(), taken.target.size());
      if (size < 0) return Error::from_errno(format("reading link {}/{}", directory_, path), errno);
      taken.target.resize(static_cast<size_t>(size));
      if (!link_stays_inside(path, taken.target)) {
        if (plan_.left_out_links.size() < kMostNamedLinks) plan_.left_out_links.push_back(path);
        return {};
      }
    }
    // Counted here and not while packing: gigabytes would be packed in vain.
    struct stat status{};
    const bool sized = entry.kind == EntryKind::file &&
                       fstatat(fd, entry.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
    plan_.entries.push_back(std::move(taken));
    TRY(count(path, sized ? status.st_size : 0));
    if (!is_folder) return {};
    const Fd next(openat(fd, entry.name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next) return Error::from_errno(format("opening {}/{}", directory_, path), errno);
    return folder(next.get(), path + "/", depth + 1);
  }

  Result<void> count(const std::string& path, int64_t size) {
    using Part = BundleContents::Part;
    const auto add = [size](Part& part) {
      part.files += 1;
      part.bytes += size;
    };
    add(plan_.contents.all);
    if (const size_t slash = path.find('/'); slash != std::string::npos)
      add(plan_.contents.folders[path.substr(0, slash)]);
    if (plan_.contents.all.bytes > bounds_.bytes) {
      const auto* largest = plan_.contents.largest(&Part::bytes);
      return Error::of(
          Code::too_large,
          format("{} has more than {} to bundle", directory_, format_size(bounds_.bytes)),
          largest == nullptr
              ? "put what the job does not need into .hearthignore"
              : format("{} of it lies in {}/: make it a dataset, or put it into .hearthignore",
                       format_size(largest->second.bytes), largest->first));
    }
    if (plan_.contents.all.files <= bounds_.files) return {};
    const auto* largest = plan_.contents.largest(&Part::files);
    return Error::of(Code::too_large,
                     format("{} has more than {} files to bundle", directory_, bounds_.files),
                     largest == nullptr ? "put what the job does not need into .hearthignore"
                                        : format("{} of them lie in {}/: put it into .hearthignore",
                                                 largest->second.files, largest->first));
  }

  const std::string& directory_;
  const BundleBounds& bounds_;
  IgnoreRules rules_;
  BundlePlan plan_;
};

}  // namespace

const std::pair<const std::string, BundleContents::Part>* BundleContents::largest(
    int64_t Part::* by) const {
  const auto found =
      std::max_element(folders.begin(), folders.end(),
                       [by](const auto& a, const auto& b) { return a.second.*by < b.second.*by; });
  return found == folders.end() ? nullptr : &*found;
}

Result<BundlePlan> plan_bundle(const std::string& directory, const BundleBounds& bounds) {
  return Planner(directory, bounds).run();
}

}  // namespace hearth::os
