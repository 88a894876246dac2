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
    if (const auto at = known.contexts.find(choice.context); at != known.contexts.end())
      found = at->second;
    for (const auto& [name, context] : known.contexts)
      if (!found && context.server_id == choice.context) found = context;
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

namespace {
// What cannot be looked at is another place, and is not there.
bool same_place(const std::string& a, const std::string& b) {
  std::error_code none;
  return a == b || std::filesystem::equivalent(a, b, none);
}
bool is_there(const std::string& path) {
  std::error_code none;
  return std::filesystem::exists(path, none);
}
}  // namespace

std::string place_server(Contexts& known, const std::string& server_id, const std::string& url,
                         const std::string& data,
                         const std::function<bool(const std::string& data)>& runs) {
  const auto first = known.contexts.find(server_id);
  if (first == known.contexts.end()) return "";
  const auto beside = [&](int number) {
    return server_id + "-copy" + (number == 1 ? "" : "-" + std::to_string(number));
  };
  const auto at = [&](const std::string& name) {
    const auto found = known.contexts.find(name);
    return found == known.contexts.end() ? nullptr : &found->second;
  };
  std::string own, free;  // a copy's name that is this server's already, and one it may have
  for (int number = 1; own.empty() && (free.empty() || at(beside(number)) != nullptr); ++number) {
    const ServerContext* one = at(beside(number));
    if (one != nullptr && same_place(one->data, data))
      own = beside(number);
    else if (free.empty() && (one == nullptr || !runs(one->data)))
      free = beside(number);
  }
  const std::string& there = first->second.data;
  const bool elsewhere = !there.empty() && !same_place(there, data);
  const bool second = elsewhere && (runs(there) || (!own.empty() && is_there(there)));
  const std::string name = !second ? server_id : own.empty() ? free : own;
  ServerContext mine = second && !own.empty() ? *at(own) : first->second;
  mine.url = url;
  mine.data = data;
  known.contexts[name] = std::move(mine);
  if (!second && !own.empty()) {
    known.contexts.erase(own);
    if (known.current == own) known.current = server_id;
  }
  return name;
}

}  // namespace hearth::client
