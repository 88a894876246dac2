#include "sched/reserve.h"

#include <algorithm>

namespace hearth::sched {
namespace {

int32_t project_of(Cluster::State& state, const QueuedJob& job) {
  return job.opportunistic ? -1 : state.quotas.project(job.project);
}

// Where it goes once these have ended.
std::optional<Placed> place_after(Cluster::State& state, const Queued& job, const Ask& ask,
                                  std::span<Running* const> ended, const Choice& choice) {
  const size_t cells_mark = state.cells.mark(), quota_mark = state.quotas.mark();
  for (const Running* running : ended) state.account(*running, -1);
  const int32_t project = project_of(state, job.job);
  std::optional<Placed> placed;
  if (project < 0 || !state.quotas.over_limit(project, job.amounts))
    placed = place(state.cells, ask, choice);
  state.cells.undo(cells_mark);
  state.quotas.undo(quota_mark);
  return placed;
}

Reservation reservation(Cluster::State& state, const Queued& job, Placed&& placed) {
  return {.job_id = job.job.id,
          .grants = std::move(placed.grants),
          .project = project_of(state, job.job),
          .amounts = job.amounts,
          .since = job.job.queued_at};
}

double share_free(const Node& node) {
  if (node.gpus == 0)
    return node.total_cpus == 0
               ? 1
               : static_cast<double>(node.free_cpus) / static_cast<double>(node.total_cpus);
  return static_cast<double>(count_bits(node.whole)) / static_cast<double>(node.gpus);
}

}  // namespace

std::optional<Reservation> reserve_by_ends(Cluster::State& state, const Queued& job, const Ask& ask,
                                           Time now) {
  std::vector<std::pair<Time, Running*>> ends;
  for (auto& [id, running] : state.running) {
    if (running.stopping) {
      ends.emplace_back(now, &running);
    } else if (const auto end = running.expected_end(now)) {
      ends.emplace_back(*end, &running);
    }
  }
  std::sort(ends.begin(), ends.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second->id < b.second->id;
  });
  std::vector<Running*> order;
  for (const auto& [end, running] : ends) order.push_back(running);
  const std::span<Running* const> all(order);
  const Choice choice = state.choice(job.job, now);
  if (!place_after(state, job, ask, all, choice)) return std::nullopt;
  // The shortest row of ends after which it fits: what is freed only adds.
  size_t without = 0, with = order.size();
  while (with - without > 1) {
    const size_t middle = (with + without) / 2;
    (place_after(state, job, ask, all.first(middle), choice) ? with : without) = middle;
  }
  auto placed = place_after(state, job, ask, all.first(with), choice);
  if (!placed) return std::nullopt;
  Reservation found = reservation(state, job, std::move(*placed));
  found.due = with == 0 ? now : ends[with - 1].first;
  found.ended.assign(order.begin(), order.begin() + static_cast<ptrdiff_t>(with));
  return found;
}

std::optional<Reservation> reserve_emptiest(Cluster::State& state, const Queued& job,
                                            const Ask& ask, Time now) {
  std::vector<int32_t> order;
  const Choice allowed = state.choice(job.job, now);
  for (size_t i = 0; i < state.cells.nodes().size(); ++i) {
    const auto index = static_cast<int32_t>(i);
    if (state.cells.nodes()[i].open && allowed.allowed(index)) order.push_back(index);
  }
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    const Node& left = state.cells.node(a);
    const Node& right = state.cells.node(b);
    return std::tuple(-share_free(left), left.key) < std::tuple(-share_free(right), right.key);
  });
  std::vector<char> only(state.cells.nodes().size());
  const Choice choice{.equalized = &state.equalized, .only = &only};
  for (size_t count = 1; !order.empty(); count *= 2) {
    const size_t some = std::min(count, order.size());
    for (size_t i = 0; i < some; ++i) only[static_cast<size_t>(order[i])] = 1;
    if (auto placed = place(state.idle(), ask, choice))
      return reservation(state, job, std::move(*placed));
    if (some == order.size()) break;
  }
  return std::nullopt;
}

}  // namespace hearth::sched
