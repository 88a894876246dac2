#include "shim/sdk_server.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/format.h"
#include "base/log.h"
#include "domain/model.h"
#include "domain/scalar.h"

namespace hearth::shim {
namespace {

constexpr int kBacklog = 256;
constexpr size_t kReadBytes = 256 << 10;
constexpr int kMostReadsAtOnce = 8;
constexpr size_t kMostName = 1024;
constexpr size_t kMostText = 65'536;
constexpr int64_t kVersion = 1;

std::optional<int64_t> integer(const Node& node, std::string_view key) {
  const Node* const found = node.find(key);
  if (found == nullptr || found->kind != Node::Kind::integer) return std::nullopt;
  return integer_of(found->text);
}

std::string text(const Node& node, std::string_view key) {
  const Node* const found = node.find(key);
  return found != nullptr && found->kind == Node::Kind::text ? found->text : "";
}

// As people write it: texts without quotes, all else as JSON.
std::string words_of(const Node& node) {
  std::string out = node.kind == Node::Kind::text ? node.text : to_json(node);
  if (out.size() > kMostText) out.resize(kMostText);
  return out;
}

Result<TaskRecord> metric(const Node& node) {
  TaskRecord record{.kind = "metric"};
  record.step = integer(node, "step");
  record.time.micros = integer(node, "time_us").value_or(0);
  const Node* const values = node.find("values");
  if (values == nullptr || values->kind != Node::Kind::map)
    return Error::invalid("a metric has no values");
  for (const Node::Member& member : values->members) {
    const auto value = real_of(member.value.text);
    if (!value || member.key.empty() || member.key.size() > 256)
      return Error::invalid(format("the metric '{}' is no number", member.key.substr(0, 80)));
    record.values[member.key] = *value;
  }
  return record;
}

Result<TaskRecord> params(const Node& node) {
  TaskRecord record{.kind = "params"};
  const Node* const values = node.find("values");
  if (values == nullptr || values->kind != Node::Kind::map)
    return Error::invalid("params have no values");
  for (const Node::Member& member : values->members)
    record.texts[member.key] = words_of(member.value);
  return record;
}

Result<TaskRecord> live(const Node& node) {
  TaskRecord record{.kind = "live", .step = integer(node, "step")};
  record.name = text(node, "name");
  record.version = integer(node, "version").value_or(0);
  const Node* const value = node.find("value");
  if (record.name.empty() || record.name.size() > kMostName || value == nullptr)
    return Error::invalid("a live value has no name or value");
  record.text = words_of(*value);
  return record;
}

}  // namespace

std::string to_line(const SaveWish& wish) {
  std::string out =
      format("{{\"kind\":{},\"path\":{},\"name\":{},\"kind_of_artifact\":{}", json_quote(wish.kind),
             json_quote(wish.path), json_quote(wish.name), json_quote(wish.kind_of_artifact));
  if (wish.step) out += format(",\"step\":{}", *wish.step);
  return out + "}";
}

Result<SaveWish> wish_of(const std::string& line) {
  const Node node = TRY(parse_json(line));
  return SaveWish{text(node, "kind"), text(node, "path"), text(node, "name"),
                  text(node, "kind_of_artifact"), integer(node, "step")};
}

Result<std::unique_ptr<SdkServer>> SdkServer::start(const std::string& path, int64_t uid,
                                                    Spool& spool, Hooks hooks) {
  std::unique_ptr<SdkServer> server(new SdkServer(spool, std::move(hooks)));
  server->path_ = path;
  server->listener_ = os::Fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  server->wake_ = os::Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!server->listener_ || !server->wake_) return Error::from_errno("making a socket", errno);
  ignore(os::remove_file(path));
  // By the folder's descriptor: a socket's name has 107 bytes at most.
  const os::Fd folder(::open(os::parent_of(path).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const std::string name = format("/proc/self/fd/{}/{}", folder.get(), os::name_of(path));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.size() >= sizeof address.sun_path) return Error::internal("the socket's name is long");
  std::copy(name.begin(), name.end(), address.sun_path);
  if (bind(server->listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
          0 ||
      listen(server->listener_.get(), kBacklog) != 0)
    return Error::from_errno(format("listening at {}", path), errno);
  TRY(os::set_mode(path, 0600));
  if (uid >= 0) TRY(os::set_owner(path, static_cast<uid_t>(uid), static_cast<gid_t>(-1)));
  server->thread_ = std::thread([raw = server.get()] { raw->run(); });
  return server;
}

SdkServer::~SdkServer() {
  finish({});
}

void SdkServer::finish(Duration at_most) {
  if (!thread_.joinable()) return;
  finish_by_ = system_clock().steady() + at_most;
  finishing_.store(true);
  const uint64_t one = 1;
  if (::write(wake_.get(), &one, sizeof one) < 0) log_warning("waking the SDK's reader: {}", errno);
  thread_.join();
  listener_.reset();
  ignore(os::remove_file(path_));
}

void SdkServer::run() {
  for (;;) {
    const bool finishing = finishing_.load();
    if (finishing) {
      // What was sent by a process that is gone still lies in the backlog.
      while (accept_one()) {
      }
      if (clients_.empty() || system_clock().steady() >= finish_by_) break;
    }
    std::vector<pollfd> fds{{wake_.get(), POLLIN, 0}};
    fds.push_back({clients_.size() < kMostClients ? listener_.get() : -1, POLLIN, 0});
    for (const Client& client : clients_) fds.push_back({client.fd.get(), POLLIN, 0});
    if (poll(fds.data(), fds.size(), finishing ? 20 : -1) < 0 && errno != EINTR) break;
    uint64_t count = 0;
    if (fds[0].revents != 0 && ::read(wake_.get(), &count, sizeof count) < 0) count = 0;
    size_t i = 2;
    for (auto client = clients_.begin(); client != clients_.end(); ++i)
      client = fds[i].revents == 0 || read(*client) ? std::next(client) : clients_.erase(client);
    answer_flushes();
    if (fds[1].revents != 0) accept_one();
  }
  if (const auto synced = spool_.sync_records(); !synced.ok())
    log_error("{}", synced.error().text());
}

bool SdkServer::accept_one() {
  if (clients_.size() >= kMostClients) return false;
  os::Fd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd) return false;
  clients_.push_back({.fd = std::move(fd)});
  return true;
}

// False when the connection is over.
bool SdkServer::read(Client& client) {
  static thread_local std::string buffer(kReadBytes, '\0');
  for (int i = 0; i < kMostReadsAtOnce; ++i) {
    const ssize_t got = ::read(client.fd.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN;
    if (got == 0) return false;
    client.buffer.append(buffer.data(), static_cast<size_t>(got));
    if (!take_lines(client)) return false;
  }
  return true;
}

bool SdkServer::take_lines(Client& client) {
  size_t at = 0;
  for (size_t end = client.buffer.find('\n'); end != std::string::npos;
       end = client.buffer.find('\n', at)) {
    const std::string_view line = std::string_view(client.buffer).substr(at, end - at);
    at = end + 1;
    if (std::exchange(client.skipping, false) || line.size() >= kMostLineBytes) {
      wrong("it is too long");
      ++client.number;
      continue;
    }
    if (!take(client, line)) return false;
  }
  client.buffer.erase(0, at);
  if (client.buffer.size() >= kMostLineBytes) {
    client.skipping = true;
    client.buffer.clear();
  }
  return true;
}

void SdkServer::wrong(std::string_view what) {
  if (std::exchange(complained_, true)) return;
  hooks_.complain(format("a report of the task was not understood and left out: {}", what));
}

bool SdkServer::hello(Client& client, const Node& node) {
  client.session = text(node, "session");
  client.number = integer(node, "next").value_or(0);
  if (integer(node, "v") != kVersion || client.session.empty() || client.session.size() > 64)
    return false;
  if (sessions_.size() >= kMostSessions && !sessions_.contains(client.session)) return false;
  sessions_.try_emplace(client.session, 0);
  return true;
}

// False when the connection is to be closed.
bool SdkServer::take(Client& client, std::string_view line) {
  const auto node = parse_json(line);
  const std::string kind = node.ok() ? text(*node, "t") : "";
  if (client.session.empty()) return kind == "hello" && hello(client, *node);
  if (kind == "hello") return true;
  if (kind == "flush") {
    client.flush = std::max(client.flush, integer(*node, "id").value_or(-1));
    return true;
  }
  const int64_t number = client.number++;
  int64_t& spooled = sessions_[client.session];
  if (number < spooled) return true;  // sent again after a broken connection
  if (!node.ok()) {
    wrong("it is no JSON");
  } else if (const auto done = record(*node); !done.ok()) {
    if (done.error().code != Code::invalid) {
      // It is not on disk, so it was not taken: the client sends it again.
      log_error("spooling a report: {}", done.error().text());
      return false;
    }
    wrong(done.error().detail);
  }
  spooled = number + 1;
  return true;
}

Result<void> SdkServer::record(const Node& node) {
  const std::string kind = text(node, "t");
  if (kind == "metric") {
    TaskRecord record = TRY(metric(node));
    if (hooks_.metric) hooks_.metric(record.values);
    return spool_.add_record(std::move(record));
  }
  if (kind == "params") return spool_.add_record(TRY(params(node)));
  if (kind == "live_applied") return spool_.add_record(TRY(live(node)));
  if (kind == "checkpoint" || kind == "artifact" || kind == "model") return save(kind, node);
  return {};  // of a later version
}

Result<void> SdkServer::save(std::string_view kind, const Node& node) {
  SaveWish wish{std::string(kind), text(node, "path"), text(node, "name"), text(node, "kind"),
                integer(node, "step")};
  if (wish.path.empty() || wish.path.size() > 4096)
    return Error::invalid(format("a {} has no path", kind));
  if (kind == "model" && !wish.name.empty() && !is_model_name(wish.name))
    return Error::invalid(format("'{}' is no name of a model: {}",
                                 wish.name.substr(0, kMostModelNameBytes), kModelNameWords));
  const std::string line = to_line(wish);
  TRY(spool_.add_save(line));
  hooks_.save(line);
  return {};
}

void SdkServer::answer_flushes() {
  const bool any = std::any_of(clients_.begin(), clients_.end(),
                               [](const Client& client) { return client.flush >= 0; });
  if (!any) return;
  if (const auto synced = spool_.sync_records(); !synced.ok()) {
    log_error("{}", synced.error().text());
    return;
  }
  for (Client& client : clients_) {
    if (client.flush < 0) continue;
    const std::string answer = format("{{\"t\":\"flushed\",\"id\":{}}}\n", client.flush);
    client.flush = -1;
    // A few bytes: a socket whose peer reads nothing is the peer's own loss.
    if (send(client.fd.get(), answer.data(), answer.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0 &&
        errno != EAGAIN && errno != EPIPE && errno != ECONNRESET)
      log_warning("answering a flush: errno {}", errno);
  }
}

}  // namespace hearth::shim
