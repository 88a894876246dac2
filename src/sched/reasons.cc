#include "sched/reasons.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <vector>

#include "base/format.h"
#include "base/units.h"

namespace hearth::sched {
namespace {

enum class Kind { gpus = 0, memory = 1, cpus = 2 };  // scarcest first
constexpr std::array<Kind, 3> kKinds = {Kind::gpus, Kind::memory, Kind::cpus};

double gpus(int64_t milli) {
  return static_cast<double>(milli) / kWholeGpu;
}

double needed_of(const Need& need, Kind kind) {
  switch (kind) {
    case Kind::gpus:
      return gpus(need.gpus * need.milli);
    case Kind::memory:
      return static_cast<double>(need.memory);
    case Kind::cpus:
      return static_cast<double>(need.cpus) / 1000;
  }
  return 0;
}

// What such a task could have of it there: GPUs count as far as each does for one of its own.
double free_of(const Node& node, const Need& need, Kind kind) {
  switch (kind) {
    case Kind::gpus:
      return gpus(count_bits(candidates(node, need, ~ModelMask{0})) * need.milli);
    case Kind::memory:
      return static_cast<double>(std::max<int64_t>(0, node.free_memory));
    case Kind::cpus:
      return static_cast<double>(std::max<int64_t>(0, node.free_cpus)) / 1000;
  }
  return 0;
}

// GPUs of the node that do for such a task, free or not.
GpuMask suiting(const Node& node, const Need& need) {
  GpuMask found = 0;
  for (const auto& [model, mask] : node.models) {
    if ((need.models & (ModelMask{1} << model)) == 0) continue;
    for (const size_t gpu : bits(mask))
      if (node.info.gpus[gpu].memory_bytes >= need.gpu_memory) found |= GpuMask{1} << gpu;
  }
  return found;
}

double total_of(const Node& node, const Need& need, Kind kind) {
  switch (kind) {
    case Kind::gpus:
      return static_cast<double>(count_bits(suiting(node, need)));
    case Kind::memory:
      return static_cast<double>(node.total_memory);
    case Kind::cpus:
      return static_cast<double>(node.total_cpus) / 1000;
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
double missing(const Node& node, const Need& need, Kind kind) {
  const double needed = needed_of(need, kind);
  return needed <= 0 ? 0 : std::max(0.0, (needed - free_of(node, need, kind)) / needed);
}

// Nodes as one job may use them.
struct View {
  const Cells& cells;
  const Ask& ask;
  const std::vector<char>* only;  // null: all
  bool counts(const Node& node) const {
    const auto index = static_cast<size_t>(&node - cells.nodes().data());
    return node.open && ask.takes(node.key.first) && (only == nullptr || (*only)[index] != 0);
  }
};

// The node that comes nearest to taking the task, of those that would take it were they empty if
// there are any, and the kind that is missing most there.
struct Nearest {
  const Node* node = nullptr;
  Kind kind = Kind::cpus;
  double sum = 0;
  int kinds = 0;
  bool never = false;  // it has too little in all
};
Nearest nearest_node(const View& view, const Need& need) {
  Nearest best;
  for (const Node& node : view.cells.nodes()) {
    if (!view.counts(node)) continue;
    Nearest here{.node = &node};
    double most = 0;
    for (const Kind kind : kKinds) {
      const double part = missing(node, need, kind);
      here.sum += part;
      here.kinds += part > 0;
      here.never = here.never || total_of(node, need, kind) < needed_of(need, kind);
      if (part > most) {
        most = part;
        here.kind = kind;
      }
    }
    if (best.node == nullptr || std::tie(here.never, here.sum) < std::tie(best.never, best.sum))
      best = here;
  }
  return best;
}

const Need* task_that_fits_nowhere(const View& view) {
  for (const Group& group : view.ask.groups) {
    const Nearest nearest = nearest_node(view, group.need);
    if (nearest.node == nullptr || nearest.kinds > 0) return &group.need;
  }
  return nullptr;
}

// Each kind is there for each task on some node, yet one is taken by none: its cells are too small.
const Need* task_whose_cells_are_small(const View& view) {
  for (const Group& group : view.ask.groups) {
    if (group.need.inside == Inside::any) continue;
    const auto& nodes = view.cells.nodes();
    const bool fits = std::any_of(nodes.begin(), nodes.end(), [&](const Node& node) {
      return view.counts(node) && fit(node, group.need, group.need.models).has_value();
    });
    if (!fits) return &group.need;
  }
  return nullptr;
}

std::string cell_of(const Need& need) {
  return need.inside == Inside::numa ? "NUMA node" : "switch or NVLink clique";
}

// GPUs that do for such a task in the largest of the cells that it is to lie in.
double most_in_a_cell(const View& view, const Need& need) {
  int64_t most = 0;
  for (const Node& node : view.cells.nodes()) {
    if (!view.counts(node)) continue;
    for (const GpuMask cell : need.inside == Inside::numa ? node.numas : node.links)
      most = std::max(most, count_bits(cell & suiting(node, need)));
  }
  return static_cast<double>(most);
}

// What more than room the tasks must have together; "": nothing.
std::string rules_of(const Cells& cells, const Ask& ask) {
  const bool one_model = ask.any_gpu() && cells.models().size() > 1;
  const bool placed = ask.within != Level::any || ask.spread || ask.balanced;
  if (one_model && placed) return "on GPUs of one model and as its placement says";
  return one_model ? "on GPUs of one model" : placed ? "as its placement says" : "";
}

// "H100 (80 GiB), A100 (40 GiB)": of the nodes that it may use.
std::string models_of(const Cells& cells, const Ask& ask) {
  std::map<std::string, int64_t> memory;
  for (const Node& node : cells.nodes()) {
    if (!node.present || !ask.takes(node.key.first)) continue;
    for (const Gpu& gpu : node.info.gpus) {
      int64_t& most = memory[gpu.model];
      most = std::max(most, gpu.memory_bytes);
    }
  }
  std::vector<std::string> words;
  for (const auto& [model, most] : memory)
    words.push_back(most > 0 ? format("{} ({})", model, format_size(most)) : model);
  return format("{}", join(words, ", "));
}

// A GPU is asked for, and there is none that suits in the pools that it may use, but others, or one
// in another pool.
std::optional<Reason> model_missing(const Cells& cells, const Ask& ask) {
  for (const Group& group : ask.groups) {
    if (group.need.gpus == 0) continue;
    double all = 0, suits = 0;
    std::string elsewhere;
    for (const Node& node : cells.nodes()) {
      if (!node.present) continue;
      const bool does = suiting(node, group.need) != 0;
      if (ask.takes(node.key.first)) {
        all += static_cast<double>(node.gpus);
        suits += does ? 1 : 0;
      } else if (does && elsewhere.empty()) {
        elsewhere = node.key.first;
      }
    }
    if (suits > 0 || (all == 0 && elsewhere.empty())) continue;
    Reason reason{"gpu_model_missing", {{"gpus", all}}, "", ""};
    if (all > 0) reason.names["here"] = models_of(cells, ask);
    if (!elsewhere.empty()) reason.names["pool"] = elsewhere;
    return reason;
  }
  return std::nullopt;
}

// A node that is closed to the job and has room for one such task.
const Node* closed_with_room(const View& view, const Need& need) {
  const auto has_room = [&](const Node& node) {
    return std::ranges::none_of(kKinds, [&](Kind kind) { return missing(node, need, kind) > 0; });
  };
  for (const Node& node : view.cells.nodes())
    if (node.present && view.ask.takes(node.key.first) && !view.counts(node) && has_room(node))
      return &node;
  return nullptr;
}

void name_closed(Reason& reason, const Node* node) {
  if (node == nullptr) return;
  const NodeInfo& info = node->info;
  reason.names["closed"] = info.name;
  reason.names["why_closed"] = !info.ready               ? info.problem
                               : info.closes_for.empty() ? "cordoned"
                                                         : info.closes_for;
}

double shown(const std::string& what, int64_t amount) {
  return what == "memory" ? static_cast<double>(amount) : static_cast<double>(amount) / 1000;
}

}  // namespace

Reason closed(const Cells& cells, const Ask& ask) {
  double nodes = 0, down = 0;
  const Node* would_do = nullptr;
  const auto suits = [&](const Node& node) {
    const Need& need = ask.groups.front().need;
    return !node.open && ask.takes(node.key.first) && std::ranges::all_of(kKinds, [&](Kind kind) {
      return total_of(node, need, kind) >= needed_of(need, kind);
    });
  };
  for (const Node& node : cells.nodes()) {
    if (!node.present) continue;
    nodes += 1;
    const bool well = count_bits(node.healthy) == static_cast<int64_t>(node.gpus);
    down += !node.open || !well;
    if (would_do == nullptr && suits(node)) would_do = &node;
  }
  if (nodes == 0) return {"no_node", {}, "", ""};
  Reason reason{"node_down", {{"nodes", nodes}, {"down", down}}, "", ""};
  name_closed(reason, would_do);
  return reason;
}

Reason quota_short(const OverLimit& over) {
  return {"quota_short",
          {{"limit", shown(over.what, over.limit)},
           {"used", shown(over.what, over.used)},
           {"needed", shown(over.what, over.asked)}},
          "",
          "",
          {{"project", over.project}, {"what", over.what}}};
}

std::optional<Reason> impossible_quota(const Quotas& quotas, int32_t project,
                                       const Amounts& asked) {
  const auto over = quotas.over_limit_ever(project, asked);
  if (!over) return std::nullopt;
  Reason reason = quota_short(*over);
  reason.code = "never_quota";
  reason.numbers.erase("used");
  return reason;
}

Reason shortage(Cells& cells, const QueuedJob& job, const Ask& ask, const std::vector<char>* only) {
  const View view{cells, ask, only};
  const auto tasks = static_cast<double>(job.tasks.size());
  const Need* need = task_that_fits_nowhere(view);
  if (need == nullptr) {
    if (const Need* small = task_whose_cells_are_small(view)) {
      return {"cells_short",
              {{"needed", needed_of(*small, Kind::gpus)}},
              "",
              "",
              {{"cell", cell_of(*small)}}};
    }
    const auto placed = static_cast<double>(place_some(cells, ask, {.only = only}));
    Reason gang{"gang_short", {{"tasks", tasks}, {"placed", placed}}, "", ""};
    name_closed(gang, closed_with_room(view, ask.groups.front().need));
    return gang;
  }
  const Nearest nearest = nearest_node(view, *need);
  if (nearest.node == nullptr) return closed(cells, ask);
  Reason reason{std::string(code_of(nearest.kind)),
                {{"needed", needed_of(*need, nearest.kind)},
                 {"free", free_of(*nearest.node, *need, nearest.kind)},
                 {"total", total_of(*nearest.node, *need, nearest.kind)},
                 {"tasks", tasks}},
                "",
                ""};
  name_closed(reason, closed_with_room(view, *need));
  return reason;
}

std::optional<Reason> impossible(Cells& all, const QueuedJob& job, const Ask& ask) {
  const auto& nodes = all.nodes();
  const View view{all, ask, nullptr};
  if (std::none_of(nodes.begin(), nodes.end(), [](const Node& node) { return node.present; }))
    return std::nullopt;
  if (place(all, ask, {})) return std::nullopt;
  const auto in_its_pool = [&](const Node& node) {
    return node.present && ask.takes(node.key.first);
  };
  if (!job.pool.empty() && std::ranges::none_of(nodes, in_its_pool))
    return Reason{"no_pool", {}, "", "", {{"pool", job.pool}}};
  if (auto reason = model_missing(all, ask)) return reason;
  const Need* need = task_that_fits_nowhere(view);
  if (need == nullptr) {
    if (const Need* small = task_whose_cells_are_small(view)) {
      return Reason{"never_fits",
                    {{"resource", 3},
                     {"needed", needed_of(*small, Kind::gpus)},
                     {"most", most_in_a_cell(view, *small)}},
                    "",
                    "",
                    {{"cell", cell_of(*small)}}};
    }
    Reason gang{"never_fits",
                {{"resource", 4},
                 {"needed", static_cast<double>(job.tasks.size())},
                 {"most", static_cast<double>(place_some(all, ask, {}))}},
                "",
                ""};
    if (const std::string rules = rules_of(all, ask); !rules.empty()) gang.names["rules"] = rules;
    return gang;
  }
  const Nearest nearest = nearest_node(view, *need);
  double most = 0;
  for (const Node& node : nodes) {
    if (view.counts(node)) most = std::max(most, total_of(node, *need, nearest.kind));
  }
  const double resource = nearest.kind == Kind::cpus ? 1 : nearest.kind == Kind::memory ? 2 : 3;
  return Reason{
      "never_fits",
      {{"resource", resource}, {"needed", needed_of(*need, nearest.kind)}, {"most", most}},
      "",
      ""};
}

}  // namespace hearth::sched
