#include "os/tree.h"

#include <algorithm>
#include <set>

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/format.h"
#include "base/units.h"
#include "os/numbers.h"

namespace hearth::os {
namespace {

constexpr int64_t kMostStatBytes = 64 << 10;
constexpr int64_t kMostEnvironBytes = 8 << 20;
constexpr int64_t kMostProcsBytes = 16 << 20;
constexpr int kMostGroupFolders = 10'000;
constexpr int kStopRounds = 20;  // looks for new children while all known ones are stopped
constexpr int kMostRounds = 10'000;
constexpr Duration kLook = Duration::millis(20);  // between two looks
constexpr Duration kSlowestLook = Duration::millis(250);
constexpr int kEmptyLooks = 20;  // until none is believed to be left,
constexpr int kCalmLooks = 2;    // or so many in a row while nobody made a process
constexpr int kEmptyPauseMillis = 3;
constexpr int64_t kYoungSeconds = 2;  // so long, at most, an exec is believed to take
constexpr size_t kMostNamed = 10;
constexpr size_t kMostPolled = 256;

Duration from_ticks(int64_t ticks) {
  static const int64_t per_second = std::max(1L, sysconf(_SC_CLK_TCK));
  return {ticks * 1'000'000 / per_second};
}

bool dead(const ProcessInfo& info) {
  return info.state == 'Z' || info.state == 'X';
}

Result<ProcessInfo> parse_stat(pid_t pid, std::string_view text) {
  const Error odd = Error::internal(format("/proc/{}/stat is not understood", pid));
  // The command may hold blanks and brackets: it ends with the last ')'.
  const size_t open = text.find('('), close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return odd;
  ProcessInfo info;
  info.pid = pid;
  info.command = text.substr(open + 1, close - open - 1);
  const auto fields = split(trim(text.substr(close + 1)), ' ');
  if (fields.size() < 22) return odd;
  // proc(5) counts from 1 with the pid; fields[0] is number 3.
  const auto number = [&](size_t field) {
    return leading_number<int64_t>(fields[field - 3]).value_or(0);
  };
  info.state = fields[0].empty() ? '?' : fields[0][0];
  info.parent = static_cast<pid_t>(number(4));
  info.group = static_cast<pid_t>(number(5));
  info.session = static_cast<pid_t>(number(6));
  constexpr int64_t kKernelThread = 0x00200000;  // PF_KTHREAD
  info.kernel = (number(9) & kKernelThread) != 0;
  info.cpu = from_ticks(number(14) + number(15) + number(16) + number(17));
  info.threads = number(20);
  info.start_time = static_cast<uint64_t>(number(22));
  info.rss_bytes = number(24) * sysconf(_SC_PAGESIZE);
  return info;
}

bool has_variable(pid_t pid, const std::string& marker) {
  const auto text = read_file(format("/proc/{}/environ", pid), kMostEnvironBytes);
  if (!text.ok()) return false;
  const auto variables = split(*text, '\0');
  return std::find(variables.begin(), variables.end(), marker) != variables.end();
}

void add_group(const std::string& file, std::set<pid_t>& into, int& folders) {
  if (++folders > kMostGroupFolders) return;
  if (const auto text = read_file(file, kMostProcsBytes); text.ok())
    for (const std::string_view line : split(*text, '\n'))
      if (const auto pid = leading_number<pid_t>(line)) into.insert(*pid);
  const std::string folder = parent_of(file);
  const auto entries = list_directory(folder);
  if (!entries.ok()) return;
  for (const Entry& entry : *entries)
    if (entry.kind == EntryKind::directory)
      add_group(format("{}/{}/{}", folder, entry.name, name_of(file)), into, folders);
}

std::set<pid_t> group_members(const std::string& procs_file) {
  std::set<pid_t> pids;
  int folders = 0;
  add_group(procs_file, pids, folders);
  return pids;
}

// Ourselves and those above us: never part of a tree.
std::set<pid_t> untouchable(const std::map<pid_t, const ProcessInfo*>& by_pid,
                            const TreeQuery& query) {
  std::set<pid_t> out(query.except.begin(), query.except.end());
  out.insert({0, 1});
  pid_t at = getpid();
  for (size_t step = 0; at > 0 && step <= by_pid.size(); ++step) {
    out.insert(at);
    const auto found = by_pid.find(at);
    at = found == by_pid.end() ? 0 : found->second->parent;
  }
  return out;
}

bool named_by(const ProcessInfo& info, const TreeQuery& query, const std::set<pid_t>& grouped) {
  for (const TreeQuery::Root& root : query.roots)
    if (root.pid == info.pid && (root.start_time == 0 || root.start_time == info.start_time))
      return true;
  for (const pid_t session : query.sessions)
    if (info.session == session || info.group == session) return true;
  if (grouped.contains(info.pid)) return true;
  return !query.marker.empty() && has_variable(info.pid, query.marker);
}

struct IoBytes {
  int64_t read = 0, written = 0;
};
IoBytes io_of(pid_t pid) {
  IoBytes out;
  const auto text = read_file(format("/proc/{}/io", pid), kMostStatBytes);
  if (!text.ok()) return out;
  for (const std::string_view line : split(*text, '\n')) {
    if (line.starts_with("read_bytes:"))
      out.read = leading_number<int64_t>(line.substr(11)).value_or(0);
    if (line.starts_with("write_bytes:"))
      out.written = leading_number<int64_t>(line.substr(12)).value_or(0);
  }
  return out;
}

void add_memory(const ProcessInfo& info, TreeSample& sample) {
  const auto text = read_file(format("/proc/{}/smaps_rollup", info.pid), kMostStatBytes);
  std::optional<int64_t> pss;
  if (text.ok()) {
    for (const std::string_view line : split(*text, '\n')) {
      if (line.starts_with("Pss:")) pss = leading_number<int64_t>(line.substr(4));
      if (line.starts_with("SwapPss:"))
        sample.swap_bytes += leading_number<int64_t>(line.substr(8)).value_or(0) * 1024;
    }
  }
  sample.pss_bytes += pss ? *pss * 1024 : info.rss_bytes;
}

std::string names_of(const std::vector<ProcessInfo>& tree) {
  std::vector<std::string> names;
  for (const ProcessInfo& info : tree) {
    if (names.size() == kMostNamed) {
      names.push_back(format("and {} more", tree.size() - kMostNamed));
      break;
    }
    names.push_back(format("{} ({}, {})", info.pid, info.command, info.state));
  }
  return format("{}", join(names, ", "));
}

class TreeKiller {
 public:
  TreeKiller(const TreeQuery& query, const KillOptions& options)
      : query_(query), options_(options) {}

  Result<KillReport> run() {
    if (options_.first_signal != 0 && ask()) return report_;
    report_.used_kill = true;
    return force();
  }

 private:
  static Time now() { return system_clock().steady(); }

  // A process in the middle of exec has no environment to be seen, and one that forks and exits may
  // slip past the list. Where the marker counts, none is left only when looks were empty while the
  // whole machine made no process at all, or after many empty ones on a busy machine.
  std::vector<ProcessInfo> look() {
    ++report_.rounds;
    std::vector<ProcessInfo> tree;
    int calm = 0;
    for (int i = 0; i < kEmptyLooks && calm < kCalmLooks; ++i) {
      if (i > 0) poll(nullptr, 0, kEmptyPauseMillis);
      const std::string before = newest_pid();
      tree = find_tree(query_);
      if (!tree.empty() || query_.marker.empty()) break;
      calm = !before.empty() && newest_pid() == before && !anybody_in_exec() ? calm + 1 : 0;
    }
    for (const ProcessInfo& info : tree) seen_.insert({info.pid, info.start_time});
    report_.found = static_cast<int>(seen_.size());
    return tree;
  }

  // The last pid that the kernel gave: the last word of /proc/loadavg; "" if it cannot be read.
  static std::string newest_pid() {
    const auto text = read_file("/proc/loadavg", kMostStatBytes);
    return text.ok() ? text->substr(text->rfind(' ') + 1) : std::string();
  }

  // A young process without an environment: it may be about to show the marker.
  static bool anybody_in_exec() {
    // The steady clock stands still in suspend, start times do not: then more count as young.
    const int64_t oldest = (now().micros / 1'000'000 - kYoungSeconds) * sysconf(_SC_CLK_TCK);
    for (const ProcessInfo& info : list_processes()) {
      if (info.kernel || dead(info) || static_cast<int64_t>(info.start_time) < oldest) continue;
      const auto text = read_file(format("/proc/{}/environ", info.pid), kMostEnvironBytes);
      if (text.ok() && text->empty()) return true;
    }
    return false;
  }

  void signal(const ProcessInfo& info, int signal) {
    const auto ref = ProcessRef::open(info.pid, info.start_time);
    if (ref.ok()) ignore(ref->send_signal(signal));
  }

  // Waits until one of them ends, for at most `at_most`.
  static void wait_for_any(const std::vector<ProcessInfo>& tree, Duration at_most) {
    std::vector<ProcessRef> refs;
    std::vector<pollfd> fds;
    for (const ProcessInfo& info : tree) {
      if (refs.size() == kMostPolled) break;
      auto ref = ProcessRef::open(info.pid, info.start_time);
      if (!ref.ok()) return;  // one has ended already
      fds.push_back({ref->pidfd(), POLLIN, 0});
      refs.push_back(std::move(*ref));
    }
    poll(fds.data(), fds.size(), static_cast<int>(std::max<int64_t>(1, at_most.micros / 1000)));
  }

  // first_signal to each process once, also to those that come later. True when all have ended.
  bool ask() {
    const Time end = now() + options_.grace;
    std::set<std::pair<pid_t, uint64_t>> asked;
    Duration wait = kLook;
    for (int round = 0; round < kMostRounds; ++round) {
      const std::vector<ProcessInfo> tree = look();
      if (tree.empty()) return true;
      for (const ProcessInfo& info : tree) {
        if (!asked.insert({info.pid, info.start_time}).second) continue;
        signal(info, options_.first_signal);
        signal(info, SIGCONT);
      }
      const Duration left = end - now();
      if (left.micros <= 0) return false;
      wait_for_any(tree, std::min(left, wait));
      wait = std::min(Duration{wait.micros * 2}, kSlowestLook);
    }
    return false;
  }

  Result<KillReport> force() {
    const Time end = now() + options_.deadline;
    // Stopped first: what does not run makes no children while we look for them.
    std::set<std::pair<pid_t, uint64_t>> stopped;
    for (int round = 0; round < kStopRounds; ++round) {
      bool any_new = false;
      for (const ProcessInfo& info : look()) {
        if (!stopped.insert({info.pid, info.start_time}).second) continue;
        any_new = true;
        signal(info, SIGSTOP);
      }
      if (!any_new) break;
    }
    for (int round = 0; round < kMostRounds; ++round) {
      const std::vector<ProcessInfo> tree = look();
      if (tree.empty()) return report_;
      for (const ProcessInfo& info : tree) signal(info, SIGKILL);
      if (now() >= end)
        return Error::of(Code::timeout, format("these processes do not end: {}", names_of(tree)),
                         "state D waits for a device or a network disk");
      wait_for_any(tree, kLook);
    }
    return Error::of(Code::timeout, "the processes make new ones faster than they can be ended");
  }

  const TreeQuery& query_;
  const KillOptions& options_;
  KillReport report_;
  std::set<std::pair<pid_t, uint64_t>> seen_;
};

}  // namespace

Result<ProcessInfo> process_info(pid_t pid) {
  return parse_stat(pid, TRY(read_file(format("/proc/{}/stat", pid), kMostStatBytes)));
}

std::vector<ProcessInfo> list_processes() {
  std::vector<ProcessInfo> out;
  const auto entries = list_directory("/proc");
  if (!entries.ok()) return out;
  for (const Entry& entry : *entries) {
    if (entry.name[0] < '0' || entry.name[0] > '9') continue;
    const auto pid = leading_number<pid_t>(entry.name);
    if (!pid) continue;
    if (auto info = process_info(*pid); info.ok()) out.push_back(std::move(*info));
  }
  return out;
}

std::vector<ProcessInfo> find_tree(const TreeQuery& query) {
  const std::vector<ProcessInfo> all = list_processes();
  std::map<pid_t, const ProcessInfo*> by_pid;
  std::multimap<pid_t, const ProcessInfo*> children;
  for (const ProcessInfo& info : all) {
    by_pid[info.pid] = &info;
    children.insert({info.parent, &info});
  }
  const std::set<pid_t> never = untouchable(by_pid, query);
  std::set<pid_t> grouped;
  for (const std::string& file : query.cgroup_procs) grouped.merge(group_members(file));

  std::set<pid_t> chosen;
  std::vector<pid_t> open;
  for (const ProcessInfo& info : all) {
    if (never.contains(info.pid) || !named_by(info, query, grouped)) continue;
    chosen.insert(info.pid);
    open.push_back(info.pid);
  }
  while (!open.empty()) {
    const pid_t parent = open.back();
    open.pop_back();
    const auto [first, last] = children.equal_range(parent);
    for (auto at = first; at != last; ++at) {
      const pid_t pid = at->second->pid;
      if (!never.contains(pid) && chosen.insert(pid).second) open.push_back(pid);
    }
  }
  std::vector<ProcessInfo> out;
  for (const pid_t pid : chosen)
    if (!dead(*by_pid[pid])) out.push_back(*by_pid[pid]);
  return out;
}

std::vector<pid_t> pids_in_group(const std::string& procs_file) {
  const std::set<pid_t> pids = group_members(procs_file);
  return {pids.begin(), pids.end()};
}

Result<KillReport> kill_tree(const TreeQuery& query, const KillOptions& options) {
  if (query.roots.empty() && query.sessions.empty() && query.cgroup_procs.empty() &&
      query.marker.empty())
    return Error::invalid("kill_tree was told of no tree");
  return TreeKiller(query, options).run();
}

TreeSample TreeSampler::sample() {
  TreeSample sample;
  decltype(seen_) now;
  for (const ProcessInfo& info : find_tree(query_)) {
    ++sample.processes;
    sample.threads += info.threads;
    add_memory(info, sample);
    const IoBytes io = io_of(info.pid);
    now[{info.pid, info.start_time}] = {info.parent, info.cpu, io.read, io.written};
  }
  // Those that ended since: their cpu has gone to the parent that waited for them, unless that one
  // is no part of the tree; their io as well (proc(5): of waited-for children too).
  std::set<pid_t> alive;
  for (const auto& [key, seen] : now) alive.insert(key.first);
  for (const auto& [key, seen] : seen_) {
    if (now.contains(key) || alive.contains(seen.parent)) continue;
    ended_cpu_.micros += seen.cpu.micros;
    ended_read_ += seen.read_bytes;
    ended_write_ += seen.write_bytes;
  }
  sample.cpu = ended_cpu_;
  sample.read_bytes = ended_read_;
  sample.write_bytes = ended_write_;
  for (const auto& [key, seen] : now) {
    sample.cpu.micros += seen.cpu.micros;
    sample.read_bytes += seen.read_bytes;
    sample.write_bytes += seen.write_bytes;
  }
  sample.cpu = last_.cpu = std::max(sample.cpu, last_.cpu);
  sample.read_bytes = last_.read_bytes = std::max(sample.read_bytes, last_.read_bytes);
  sample.write_bytes = last_.write_bytes = std::max(sample.write_bytes, last_.write_bytes);
  seen_ = std::move(now);
  return sample;
}

}  // namespace hearth::os
