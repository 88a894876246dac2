#include "executors/local/ports.h"

#include <algorithm>
#include <charconv>

#include "base/format.h"
#include "hw/machine.h"

namespace hearth::executors {
namespace {

constexpr const char* kKernelRange = "/proc/sys/net/ipv4/ip_local_port_range";
constexpr const char* kAddress = "127.0.0.1";  // the tasks of this executor share one machine
constexpr const char* kInterface = "lo";
constexpr const char* kEveryAddress = "0.0.0.0";  // a listener on any of them is in the way

// The last port that may be given out.
int64_t last_port(const hw::Root& root) {
  const std::string line = root.line(kKernelRange).value_or("");
  int64_t first = 0;
  std::from_chars(line.data(), line.data() + line.size(), first);
  // A kernel that gives out nearly all of them leaves no better choice.
  return first > kFirstPort + kPortsOfTask ? std::min(first - 1, kLastPort) : kLastPort;
}

bool is_free(int64_t first) {
  for (int64_t port = first; port < first + kPortsOfTask; ++port)
    if (!hw::port_free(kEveryAddress, static_cast<uint16_t>(port))) return false;
  return true;
}

}  // namespace

Result<std::vector<int64_t>> find_ports(size_t rows, uint64_t seed, const std::set<int64_t>& held,
                                        const hw::Root& root) {
  const auto count = static_cast<uint64_t>((last_port(root) + 1 - kFirstPort) / kPortsOfTask);
  std::vector<int64_t> found;
  for (uint64_t i = 0; i < count && found.size() < rows; ++i) {
    const int64_t first = kFirstPort + static_cast<int64_t>((seed + i) % count) * kPortsOfTask;
    if (!held.contains(first) && is_free(first)) found.push_back(first);
  }
  if (found.size() == rows) return found;
  return Error::unavailable(
      format("{} tasks need {} ports each from {} to {}, and only {} rows of them are free", rows,
             kPortsOfTask, kFirstPort, last_port(root), found.size()));
}

int64_t first_port_of(const TaskSpec& task) {
  for (const Peer& peer : task.peers)
    if (peer.rank == task.rank) return peer.first_port;
  return 0;
}

Result<void> allot_ports(std::vector<TaskSpec>& tasks, uint64_t seed,
                         const std::set<int64_t>& held) {
  if (tasks.empty() || tasks.front().peers.empty()) return {};
  std::vector<Peer> peers = tasks.front().peers;
  const auto ports = TRY(find_ports(peers.size(), seed, held));
  for (size_t i = 0; i < peers.size(); ++i) {
    peers[i].address = kAddress;
    peers[i].first_port = ports[i];
  }
  for (TaskSpec& task : tasks) {
    task.peers = peers;
    task.interface = kInterface;
  }
  return {};
}

}  // namespace hearth::executors
