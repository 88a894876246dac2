#include "shim/packages.h"

#include "base/bytes.h"
#include "base/units.h"
#include "os/process.h"

namespace hearth::shim {
namespace {

constexpr Duration kAtMost = Duration::seconds(20);
constexpr size_t kMostBytes = 48 << 10;  // of the list in the record

// Old Pythons have no importlib.metadata; then the version alone is told.
constexpr const char* kScript = R"(import sys
print(sys.version.split()[0])
try:
    from importlib.metadata import distributions
    print(" ".join(sorted({d.metadata["Name"] + "==" + d.version for d in distributions()})))
except Exception:
    pass
)";

}  // namespace

std::map<std::string, std::string> packages_of(const std::vector<std::string>& environment,
                                               const std::string& directory, int64_t uid,
                                               int64_t gid) {
  os::SpawnOptions options;
  options.argv = {"python3", "-c", kScript};
  options.environment = environment;
  options.working_directory = directory;
  if (uid >= 0)
    options.identity =
        os::Identity{static_cast<uid_t>(uid), static_cast<gid_t>(gid < 0 ? uid : gid), {}};
  const auto result = os::run(std::move(options), kAtMost);
  if (!result.ok() || !result->exit.success()) return {};
  const auto lines = split(result->output, '\n');
  std::map<std::string, std::string> out;
  out["python_version"] = lines[0];
  if (lines.size() < 2 || lines[1].empty()) return out;
  out["packages_digest"] = sha256(lines[1]);
  out["packages"] = lines[1].substr(0, kMostBytes);
  return out;
}

}  // namespace hearth::shim
