// Facts about the disk of the data directory.
#include <filesystem>

#include "base/format.h"
#include "base/units.h"
#include "hw/doctor_facts.h"

namespace hearth::hw {
namespace {

constexpr int64_t kLittleSpace = int64_t{10} << 30;
constexpr int64_t kSlowSyncMicros = 50'000;

// The folder itself or the nearest one above it that is there.
std::string nearest_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::path at = std::filesystem::absolute(path, error);
  while (at.has_parent_path() && at != at.root_path() && !std::filesystem::exists(at, error)) {
    at = at.parent_path();
  }
  return at.string();
}

}  // namespace

Fact disk_fact(const Root& root, const std::string& data_directory) {
  Fact fact{.name = "disk"};
  const auto found = disk(root, data_directory);
  if (!found)
    return lacking("disk", found.why(), "Hearth has no place for its data.",
                   "Give another directory with --data.");
  fact.found = format("{} is on {} ({}), {} of {} free", data_directory, found->mount_point,
                      found->filesystem, format_size(found->free), format_size(found->total));
  if (found->rotational) fact.found += *found->rotational ? ", rotational" : ", solid state";
  fact.means = "Database, logs and models fit here.";
  if (!found->fit_for_database()) {
    fact.state = FactState::missing;
    fact.means = found->read_only
                     ? "Nothing can be written here."
                     : "A database on a network or FUSE file system can be damaged; Hearth refuses "
                       "to start on it.";
    fact.mend = "Give a directory on a local disk with --data.";
  } else if (found->in_memory) {
    fact.state = FactState::warning;
    fact.means = "Everything is lost when the machine restarts.";
    fact.mend = "Give a directory on a disk with --data.";
  } else if (found->free < kLittleSpace || found->free_files == 0) {
    fact.state = FactState::warning;
    fact.means = "Checkpoints and logs may soon fill the disk; Hearth then refuses new data.";
    fact.mend = "Free some space, or give a directory on a larger disk with --data.";
  }
  return fact;
}

Fact sync_fact(const DoctorOptions& options, Clock& clock) {
  Fact fact{.name = "disk sync"};
  const std::string folder = nearest_folder(options.data_directory);
  const auto found = sync_latency(folder, options.syncs, clock);
  if (!found)
    return lacking("disk sync", found.why(), "Hearth cannot write there.",
                   "Give a directory of your own with --data.");
  fact.found = format("{} fdatasyncs: half within {:.2f} ms, the slowest {:.2f} ms", found->count,
                      static_cast<double>(found->p50_micros) / 1e3,
                      static_cast<double>(found->most_micros) / 1e3);
  fact.means = format(
      "Nothing is acknowledged before it is on disk: a submitted job waits about "
      "{:.1f} ms for that.",
      static_cast<double>(3 * found->p50_micros) / 1e3);
  if (found->p50_micros > kSlowSyncMicros) {
    fact.state = FactState::warning;
    fact.means += " That is slow: many small jobs will queue up behind the disk.";
    fact.mend = "Use a solid-state disk for --data, or move other writers away from it.";
  }
  return fact;
}

}  // namespace hearth::hw
