#include "sched/reasons.h"

#include <algorithm>
#include <array>

namespace hearth::sched {
namespace {

enum class Kind { gpus = 0, memory = 1, cpus = 2 };  // scarcest first
constexpr std::array<Kind, 3> kKinds = {Kind::gpus, Kind::memory, Kind::cpus};

double needed_of(const TaskNeed& need, Kind kind) {
  switch (kind) {
    case Kind::gpus:
      return static_cast<double>(gpus_of(need));
    case Kind::memory:
      return static_cast<double>(need.memory_bytes);
    case Kind::cpus:
      return static_cast<double>(need.milli_cpus) / 1000;
  }
  return 0;
}

double free_of(const Room& room, const TaskNeed& need, Kind kind) {
  switch (kind) {
    case Kind::gpus: {
      double count = 0;
      for (size_t i = 0; i < room.gpus.size(); ++i) {
        count += room.gpus[i] && suits(room.node->info.gpus[i], need);
      }
      return count;
    }
    case Kind::memory:
      return static_cast<double>(std::max<int64_t>(0, room.memory));
    case Kind::cpus:
      return static_cast<double>(std::max<int64_t>(0, room.cpus)) / 1000;
  }
  return 0;
}

double total_of(const Room& room, const TaskNeed& need, Kind kind) {
  switch (kind) {
    case Kind::gpus:
      return static_cast<double>(std::count_if(room.node->info.gpus.begin(),
                                               room.node->info.gpus.end(),
                                               [&](const Gpu& gpu) { return suits(gpu, need); }));
    case Kind::memory:
      return static_cast<double>(room.node->total_memory);
    case Kind::cpus:
      return static_cast<double>(room.node->total_cpus) / 1000;
  }
  return 0;
}

std::string_view code_of(Kind kind) {
  switch (kind) {
    case Kind::gpus:
      return "gpus_short";
    case Kind::memory:
      return "memory_short";
    case Kind::cpus:
      return "cpus_short";
  }
  return "";
}

// What is missing of one kind as a part of what is asked, 0 = nothing.
double missing(const Room& room, const TaskNeed& need, Kind kind) {
  const double needed = needed_of(need, kind);
  return needed <= 0 ? 0 : std::max(0.0, (needed - free_of(room, need, kind)) / needed);
}

// The room that comes nearest to taking the task, and the kind that is missing most there.
struct Nearest {
  const Room* room = nullptr;
  Kind kind = Kind::cpus;
  double sum = 0;
  int kinds = 0;
};
Nearest nearest_room(const std::vector<Room>& rooms, const TaskNeed& need) {
  Nearest best;
  for (const Room& room : rooms) {
    Nearest here{.room = &room};
    double most = 0;
    for (const Kind kind : kKinds) {
      const double part = missing(room, need, kind);
      here.sum += part;
      here.kinds += part > 0;
      if (part > most) {
        most = part;
        here.kind = kind;
      }
    }
    if (best.room == nullptr || here.sum < best.sum) best = here;
  }
  return best;
}

// The most of this kind with which the task would fit some room as it is; 0 when none.
double fits_with(const std::vector<Room>& rooms, const TaskNeed& need, Kind kind) {
  double most = 0;
  for (const Room& room : rooms) {
    const bool others = std::all_of(kKinds.begin(), kKinds.end(), [&](Kind other) {
      return other == kind || missing(room, need, other) == 0;
    });
    if (others) most = std::max(most, free_of(room, need, kind));
  }
  return most;
}

const TaskNeed* task_that_fits_nowhere(const std::vector<Room>& rooms, const QueuedJob& job) {
  for (const TaskNeed& need : job.tasks) {
    const Nearest nearest = nearest_room(rooms, need);
    if (nearest.room == nullptr || nearest.kinds > 0) return &need;
  }
  return nullptr;
}

const TaskNeed* shared_gpu(const QueuedJob& job) {
  for (const TaskNeed& need : job.tasks) {
    if (need.gpu_share_milli != 1000 && need.milli_gpus > 0) return &need;
  }
  return nullptr;
}

// A GPU is asked for, there are some, but none that suits.
std::optional<Reason> model_missing(const Cluster::State& state, const QueuedJob& job) {
  for (const TaskNeed& need : job.tasks) {
    if (gpus_of(need) == 0) continue;
    double all = 0, suiting = 0;
    for (const auto& [key, node] : state.nodes) {
      for (const Gpu& gpu : node.info.gpus) {
        all += 1;
        suiting += suits(gpu, need);
      }
    }
    if (all > 0 && suiting == 0) return Reason{"gpu_model_missing", {{"gpus", all}}, "", ""};
  }
  return std::nullopt;
}

}  // namespace

Reason closed(const Cluster::State& state) {
  double down = 0;
  for (const auto& [key, node] : state.nodes) {
    const bool well = std::all_of(node.info.gpus.begin(), node.info.gpus.end(),
                                  [](const Gpu& gpu) { return gpu.healthy; });
    down += !node.open() || !well;
  }
  if (state.nodes.empty()) return {"no_node", {}, "", ""};
  const auto nodes = static_cast<double>(state.nodes.size());
  return {"node_down", {{"nodes", nodes}, {"down", down}}, "", ""};
}

Reason shortage(const std::vector<Room>& free, const QueuedJob& job) {
  const auto tasks = static_cast<double>(job.tasks.size());
  const TaskNeed* need = task_that_fits_nowhere(free, job);
  if (need == nullptr) {
    const auto placed = static_cast<double>(place_some(free, job));
    return {"gang_short", {{"tasks", tasks}, {"placed", placed}}, "", ""};
  }
  const Nearest nearest = nearest_room(free, *need);
  Reason reason{std::string(code_of(nearest.kind)),
                {{"needed", needed_of(*need, nearest.kind)},
                 {"free", free_of(*nearest.room, *need, nearest.kind)},
                 {"total", total_of(*nearest.room, *need, nearest.kind)},
                 {"tasks", tasks}},
                "",
                ""};
  // With less of this one thing alone it would start, if that is so.
  const double less = job.tasks.size() == 1 ? fits_with(free, *need, nearest.kind) : 0;
  if (less > 0) reason.numbers["fits_with"] = less;
  return reason;
}

std::optional<Reason> impossible(const Cluster::State& state, const QueuedJob& job) {
  if (const TaskNeed* shared = shared_gpu(job)) {
    return Reason{"gpu_share_unsupported",
                  {{"share", static_cast<double>(shared->gpu_share_milli) / 1000}},
                  "",
                  ""};
  }
  if (state.nodes.empty()) return std::nullopt;
  const auto all = rooms(state, Fill::ever);
  if (place(all, job)) return std::nullopt;
  if (auto reason = model_missing(state, job)) return reason;
  const TaskNeed* need = task_that_fits_nowhere(all, job);
  if (need == nullptr) {
    return Reason{"never_fits",
                  {{"resource", 4},
                   {"needed", static_cast<double>(job.tasks.size())},
                   {"most", static_cast<double>(place_some(all, job))}},
                  "",
                  ""};
  }
  const Nearest nearest = nearest_room(all, *need);
  double most = 0;
  for (const Room& room : all) most = std::max(most, total_of(room, *need, nearest.kind));
  const double resource = nearest.kind == Kind::cpus ? 1 : nearest.kind == Kind::memory ? 2 : 3;
  return Reason{
      "never_fits",
      {{"resource", resource}, {"needed", needed_of(*need, nearest.kind)}, {"most", most}},
      "",
      ""};
}

}  // namespace hearth::sched
