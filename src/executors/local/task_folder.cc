#include "executors/local/task_folder.h"

#include <algorithm>
#include <cerrno>

#include <sys/stat.h>

#include "base/format.h"
#include "base/id.h"
#include "domain/codec.h"
#include "executors/local/ports.h"
#include "os/files.h"

namespace hearth::executors {
namespace {

constexpr std::string_view kNew = ".new";
constexpr std::string_view kGone = ".gone";

Result<void> check(const Launch& launch) {
  if (!is_id(launch.attempt_id)) return Error::invalid("the attempt's id is no id");
  if (launch.tasks.empty()) return Error::invalid("the attempt has no task");
  for (const TaskSpec& task : launch.tasks) {
    if (!is_id(task.task_id)) return Error::invalid("a task's id is no id");
  }
  return {};
}

// See local_executor.h for who may do what there.
mode_t folder_mode(const TaskSpec& task) {
  return task.uid >= 0 ? 0711 : 0700;
}

Result<void> write_task(const std::string& folder, const TaskSpec& task) {
  TRY(os::make_directory(folder, 0700));
  TRY(os::write_file_atomic(folder + "/task.json", to_json(task), 0600, os::Sync::no));
  return os::set_mode(folder, folder_mode(task));
}

Result<void> give_to_task(const std::string& path, const TaskSpec& task) {
  if (task.uid < 0) return {};
  return os::set_owner(path, static_cast<uid_t>(task.uid),
                       static_cast<gid_t>(task.gid < 0 ? task.uid : task.gid));
}

// What the tasks of a gang that mpirun starts in share: a pipe for each rank but the first, through
// which it is told what to run. See shim/gang.h.
Result<void> write_gang_folder(const std::string& folder, const Launch& launch) {
  TRY(os::make_directory(folder, 0700));
  for (const TaskSpec& task : launch.tasks) {
    const std::string pipe = format("{}/rank-{}", folder, task.rank);
    if (task.rank == 0) continue;
    if (::mkfifo(pipe.c_str(), 0600) != 0) return Error::from_errno("making " + pipe, errno);
    TRY(give_to_task(pipe, task));
  }
  return give_to_task(folder, launch.tasks.front());
}

Result<void> write_tasks(const std::string& folder, const Launch& launch) {
  TRY(os::make_directory(folder, 0700));
  for (const TaskSpec& task : launch.tasks) TRY(write_task(folder + "/" + task.task_id, task));
  if (launch.tasks.front().launch == hearth::Launch::mpi)
    TRY(write_gang_folder(folder + "/gang", launch));
  return os::set_mode(folder, folder_mode(launch.tasks.front()));
}

}  // namespace

Result<std::vector<TaskFolder>> write_attempt(const std::string& work, const Launch& launch) {
  TRY(check(launch));
  const std::string final = work + "/" + launch.attempt_id;
  if (os::status(final).ok()) return Error::of(Code::exists, final + " is there already");
  const std::string fresh = final + std::string(kNew);
  TRY(os::remove_tree(fresh));  // of a start that did not come to its end
  auto written = write_tasks(fresh, launch);
  if (written.ok()) written = os::rename_file(fresh, final);
  if (!written.ok()) {
    ignore(os::remove_tree(fresh));
    return std::move(written).error().with("attempt " + launch.attempt_id);
  }
  std::vector<TaskFolder> folders;
  for (const TaskSpec& task : launch.tasks) {
    folders.push_back({.attempt_id = launch.attempt_id,
                       .task_id = task.task_id,
                       .epoch = launch.epoch,
                       .path = final + "/" + task.task_id,
                       .first_port = first_port_of(task)});
  }
  return folders;
}

Result<std::vector<TaskFolder>> read_attempt(const std::string& work, const std::string& attempt) {
  std::vector<TaskFolder> folders;
  const std::string path = work + "/" + attempt;
  if (!is_id(attempt) || !os::status(path).ok()) return folders;
  for (const os::Entry& entry : TRY(os::list_directory(path))) {
    if (!is_id(entry.name)) continue;
    TaskFolder folder{
        .attempt_id = attempt, .task_id = entry.name, .path = path + "/" + entry.name};
    const auto text = os::read_file(folder.order(), kMostOrderBytes);
    if (!text.ok() && text.error().code == Code::not_found) continue;
    if (!text.ok()) return text.error();
    // After a power loss the order may be torn; what the shim can make of it is its own affair.
    const auto spec = from_json<TaskSpec>(*text, Origin::server, kMostOrderBytes);
    if (spec.ok()) {
      folder.epoch = spec->epoch;
      folder.first_port = first_port_of(*spec);
    }
    folders.push_back(std::move(folder));
  }
  return folders;
}

Result<std::vector<TaskFolder>> read_attempts(const std::string& work) {
  std::vector<TaskFolder> folders;
  for (const os::Entry& entry : TRY(os::list_directory(work))) {
    auto some = TRY(read_attempt(work, entry.name));
    std::move(some.begin(), some.end(), std::back_inserter(folders));
  }
  return folders;
}

Result<void> check_orders(const std::string& work, ProtocolRange ours) {
  for (const TaskFolder& folder : TRY(read_attempts(work))) {
    if (os::exists(folder.drained())) continue;
    const auto text = os::read_file(folder.order(), kMostOrderBytes);
    const auto hello = text.ok() ? from_json<SyncHello>(*text, Origin::server, kMostOrderBytes)
                                 : Result<SyncHello>(text.error());
    if (!hello.ok()) continue;  // torn or gone
    if (auto known = check_order_protocol(hello->protocol, ours); !known.ok())
      return std::move(known).error().with(folder.order());
  }
  return {};
}

Result<std::vector<std::string>> leftovers(const std::string& work) {
  std::vector<std::string> found;
  for (const os::Entry& entry : TRY(os::list_directory(work))) {
    const std::string_view name = entry.name;
    for (const std::string_view end : {kNew, kGone}) {
      if (name.ends_with(end) && is_id(name.substr(0, name.size() - end.size()))) {
        found.emplace_back(name);
      }
    }
  }
  return found;
}

std::string leftover_name(const std::string& attempt_id) {
  return attempt_id + std::string(kGone);
}

std::optional<os::ProcessRef> holder(const TaskFolder& folder) {
  const auto pid = os::lock_holder(folder.lock());
  if (!pid.ok() || !*pid || **pid <= 0) return std::nullopt;
  auto process = os::ProcessRef::open(**pid);
  if (!process.ok()) return std::nullopt;
  // Between the two the holder may have ended and its pid gone to somebody else: look again.
  const auto again = os::lock_holder(folder.lock());
  if (!again.ok() || !*again || **again != **pid) return std::nullopt;
  return std::move(process).value();
}

}  // namespace hearth::executors
