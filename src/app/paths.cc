#include "app/paths.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include <unistd.h>

#include "base/clock.h"
#include "base/format.h"
#include "os/files.h"
#include "os/system.h"

namespace hearth::app {

DataPaths data_paths(const std::string& given) {
  std::string root = given;
  if (root.empty()) {
    const char* xdg = std::getenv("XDG_DATA_HOME");
    if (xdg != nullptr && *xdg == '/')
      root = std::string(xdg) + "/hearth";
    else if (geteuid() == 0)
      root = "/var/lib/hearth";
    else
      root = os::home_directory() + "/.local/share/hearth";
  }
  std::error_code ignored;
  root = std::filesystem::absolute(root, ignored).lexically_normal().string();
  while (root.size() > 1 && root.ends_with('/')) root.pop_back();
  return {root};
}

Result<void> make_data_directories(const DataPaths& paths) {
  // Under root other users' tasks walk through the root of it to their own work directories.
  const mode_t open_mode = geteuid() == 0 ? 0755 : 0700;
  const auto make = [&](const std::string& path, mode_t mode) -> Result<void> {
    auto made = os::make_directories(path, mode, os::Sync::yes);
    if (made.ok()) return {};
    Error error = std::move(made).error().with(format("the data directory {}", path));
    error.mend = format("choose another with --data DIR, or make {} writable for {}", path,
                        os::user_name(geteuid()));
    return error;
  };
  const bool is_new = !os::exists(paths.root);
  TRY(make(paths.root, open_mode));
  // Inside a project neither git nor the code of a job takes it along, secrets and all.
  if (is_new) TRY(os::write_file_atomic(paths.root + "/.gitignore", "*\n"));
  TRY(make(paths.state(), 0700));
  TRY(make(paths.objects(), 0700));
  TRY(make(paths.logs(), 0700));
  TRY(make(paths.temporary(), 0700));
  TRY(make(paths.work(), open_mode));
  TRY(make(paths.sdk(), 0755));
  if (access(paths.state().c_str(), W_OK) != 0) {
    Error error =
        Error::from_errno(format("the data directory {} cannot be written to", paths.root), errno);
    error.mend = format(
        "mount it read-write and make it writable for {}, or choose another with "
        "--data DIR",
        os::user_name(geteuid()));
    return error;
  }
  return {};
}

Result<std::string> load_or_make_key(const std::string& path) {
  constexpr size_t kKeyBytes = 32;
  if (!os::exists(path)) {
    std::string key(kKeyBytes, '\0');
    system_random().fill(std::as_writable_bytes(std::span(key)));
    TRY(os::write_file_atomic(path, key, 0600));
    return key;
  }
  std::string key = TRY(os::read_file(path, 4096));
  if (key.size() != kKeyBytes)
    return Error::invalid(
        format("the key file {} has {} bytes instead of {}", path, key.size(), kKeyBytes),
        "put the right file back, or give it with --key-file");
  return key;
}

}  // namespace hearth::app
