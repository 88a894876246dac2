#include "shim/packages.h"

#include <filesystem>

#include "base/bytes.h"
#include "base/format.h"
#include "base/units.h"
#include "os/files.h"
#include "os/process.h"

namespace hearth::shim {
namespace {

constexpr Duration kAtMost = Duration::seconds(20);
constexpr size_t kMostBytes = 48 << 10;  // of the list in the record
constexpr int64_t kMostArguments = 8 << 20;

// Old Pythons have no importlib.metadata; then the version alone is told.
constexpr const char* kScript = R"(import sys
print(sys.version.split()[0])
print(sys.executable)
try:
    from importlib.metadata import distributions
    print(" ".join(sorted({d.metadata["Name"] + "==" + d.version for d in distributions()})))
except Exception:
    pass
)";

}  // namespace

std::string python_among(const std::vector<os::ProcessInfo>& processes) {
  for (const os::ProcessInfo& process : processes) {
    const std::string proc = format("/proc/{}", process.pid);
    const auto words = os::read_file(proc + "/cmdline", kMostArguments);
    if (!words.ok()) continue;
    const std::string program = words->substr(0, words->find('\0'));
    if (!os::name_of(program).starts_with("python")) continue;
    if (program.starts_with('/') || program.find('/') == std::string::npos) return program;
    std::error_code failed;
    const auto directory = std::filesystem::read_symlink(proc + "/cwd", failed);
    if (!failed) return (directory / program).string();
  }
  return "python3";
}

std::map<std::string, std::string> packages_of(const std::string& python,
                                               const std::vector<std::string>& environment,
                                               const std::string& directory, int64_t uid,
                                               int64_t gid) {
  os::SpawnOptions options;
  options.argv = {python, "-c", kScript};
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
  if (lines.size() > 1 && !lines[1].empty()) out["python"] = lines[1];
  if (lines.size() < 3 || lines[2].empty()) return out;
  out["packages_digest"] = sha256(lines[2]);
  out["packages"] = lines[2].substr(0, kMostBytes);
  return out;
}

}  // namespace hearth::shim
