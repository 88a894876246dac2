#include "client/contexts.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <pwd.h>
#include <unistd.h>

#include "base/format.h"
#include "domain/codec.h"

namespace hearth::client {
namespace {

constexpr size_t kMostPasswdBytes = 16 << 10;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// A service of the system's systemd has no HOME, though root has a home.
std::string home() {
  if (std::string home = variable("HOME"); home.starts_with('/')) return home;
  passwd entry{};
  passwd* found = nullptr;
  std::string buffer(kMostPasswdBytes, '\0');
  const int error = getpwuid_r(geteuid(), &entry, buffer.data(), buffer.size(), &found);
  return error == 0 && found != nullptr ? entry.pw_dir : "";
}

std::string same_address(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  return url;
}

}  // namespace

std::string contexts_path() {
  std::string root = variable("XDG_CONFIG_HOME");
  if (!root.starts_with('/')) root = home() + "/.config";
  return root + "/hearth/contexts.json";
}

Result<Contexts> load_contexts() {
  const std::string path = contexts_path();
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    if (errno == ENOENT) return Contexts{};
    return Error::from_errno(path, errno);
  }
  std::ostringstream text;
  text << file.rdbuf();
  auto contexts = from_json<Contexts>(text.str());
  if (!contexts.ok()) return std::move(contexts).error().with(path);
  return contexts;
}

Result<void> save_contexts(const Contexts& contexts) {
  const std::filesystem::path path = contexts_path();
  std::error_code failure;
  std::filesystem::create_directories(path.parent_path(), failure);
  if (failure) return Error::from_errno(path.parent_path().string(), failure.value());
  const std::string beside = path.string() + ".new" + std::to_string(getpid());
  const int fd = open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return Error::from_errno(beside, errno);
  const std::string text = to_json(contexts) + "\n";
  const bool written =
      write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && fsync(fd) == 0;
  const int why = errno;
  close(fd);
  if (!written || std::rename(beside.c_str(), path.c_str()) != 0) {
    const int saved = written ? errno : why;
    unlink(beside.c_str());
    return Error::from_errno(path.string(), saved);
  }
  return {};
}

Result<ServerContext> choose_context(const Choice& choice) {
  const Contexts known = TRY(load_contexts());
  const std::string url = same_address(choice.url.empty() ? variable("HEARTH_URL") : choice.url);
  const std::string token = variable("HEARTH_TOKEN");
  std::optional<ServerContext> found;
  if (!choice.context.empty()) {
    for (const auto& [name, context] : known.contexts)
      if (name == choice.context || context.server_id == choice.context) found = context;
    if (!found)
      return Error::not_found(format("there is no context '{}'", choice.context),
                              "`hearth context list` shows those there are");
  } else if (!url.empty()) {
    for (const auto& [name, context] : known.contexts)
      if (same_address(context.url) == url) found = context;
    if (!found) found = ServerContext{};
  } else if (const auto at = known.contexts.find(known.current); at != known.contexts.end()) {
    found = at->second;
  }
  if (!found)
    return Error::of(Code::unreachable, "no server is known here",
                     "`hearth up` starts one; `hearth login URL` signs in to another");
  if (!url.empty()) found->url = url;
  if (!token.empty()) found->token = token;
  return std::move(*found);
}

}  // namespace hearth::client
