// Searching experiments and the datasets that their runs read.
#include <algorithm>
#include <cmath>

#include "control/tracking/run_match.h"
#include "control/tracking/state.h"

namespace hearth::control {
namespace {

double millis(Time time) {
  return std::floor(static_cast<double>(time.micros) / 1000);
}

bool is_time(const std::string& key) {
  return key == "creation_time" || key == "last_update_time";
}

Time changed_at(const Experiment& experiment) {
  return std::max(experiment.updated_at, experiment.created_at);
}

double time_of(const Experiment& experiment, const std::string& key) {
  return millis(key == "creation_time" ? experiment.created_at : changed_at(experiment));
}

Result<void> check(const Column& column) {
  if (column.side == Side::tag) return {};
  if (column.side == Side::attribute &&
      (is_time(column.key) || column.key == "name" || column.key == "experiment_id"))
    return {};
  return Error::invalid(format("experiments have no '{}'", column.key),
                        "use name, experiment_id, creation_time, last_update_time or tags.KEY");
}

bool matches(const Experiment& experiment, const Comparison& with) {
  if (with.column.side == Side::tag) {
    const auto tag = experiment.tags.find(with.column.key);
    return tag != experiment.tags.end() && compare_texts(tag->second, with);
  }
  if (is_time(with.column.key))
    return compare_numbers(time_of(experiment, with.column.key), with.op, with.number);
  return compare_texts(with.column.key == "name" ? experiment.name : experiment.id, with);
}

int order_of(const Experiment& a, const Experiment& b, const Order& order) {
  int result = 0;
  if (order.column.side == Side::tag) {
    const auto left = a.tags.find(order.column.key), right = b.tags.find(order.column.key);
    const bool no_left = left == a.tags.end(), no_right = right == b.tags.end();
    if (no_left || no_right) return no_left == no_right ? 0 : no_left ? 1 : -1;
    result = left->second.compare(right->second);
  } else if (is_time(order.column.key)) {
    const double left = time_of(a, order.column.key), right = time_of(b, order.column.key);
    result = left < right ? -1 : left > right ? 1 : 0;
  } else {
    result = order.column.key == "name" ? a.name.compare(b.name) : a.id.compare(b.id);
  }
  return order.descending ? -result : result;
}

bool before(const Experiment& a, const Experiment& b, const std::vector<Order>& orders) {
  for (const Order& order : orders)
    if (const int result = order_of(a, b, order); result != 0) return result < 0;
  if (orders.empty() && a.created_at != b.created_at) return a.created_at > b.created_at;
  return a.id > b.id;
}

}  // namespace

Result<ExperimentPage> Tracking::search_experiments(const Identity& who,
                                                    const ExperimentSearch& query) {
  State& state = *state_;
  for (const Comparison& one : query.filter) TRY(check(one.column));
  for (const Order& order : query.order_by) TRY(check(order.column));
  const auto projects = TRY(state.visible(who, query.project));
  const std::string home = State::project_of(who, query.project);
  if (!projects || projects->contains(home))
    if (state.access.require(who, home, Grade::viewer).ok()) TRY(state.ensure_default(home));
  std::vector<Experiment> all;
  TRY(state.context.database.read([&](db::Session& session) -> Result<void> {
    all = TRY(db::Table<Experiment>::select(session, "ORDER BY id", {}));
    return {};
  }));
  std::erase_if(all, [&](const Experiment& experiment) {
    const bool deleted = experiment.deleted_at.micros != 0;
    return (projects && !projects->contains(experiment.project)) ||
           (!query.project.empty() && experiment.project != query.project) ||
           (query.view != View::all && deleted != (query.view == View::deleted)) ||
           !std::ranges::all_of(query.filter,
                                [&](const Comparison& one) { return matches(experiment, one); });
  });
  std::ranges::sort(
      all, [&](const Experiment& a, const Experiment& b) { return before(a, b, query.order_by); });
  auto from = all.begin();
  if (!query.cursor.empty()) {
    from = std::ranges::find(all, query.cursor, &Experiment::id);
    if (from == all.end())
      return Error::invalid("the cursor is not one of this search",
                            "start the search again without a cursor");
    ++from;
  }
  const auto limit = std::clamp<int64_t>(query.limit, 1, kMostFoundRuns);
  const auto to = from + std::min<ptrdiff_t>(limit, all.end() - from);
  ExperimentPage page;
  page.experiments.assign(std::make_move_iterator(from), std::make_move_iterator(to));
  if (to != all.end()) page.next_cursor = page.experiments.back().id;
  return page;
}

Result<std::vector<RunDataset>> Tracking::search_datasets(
    const Identity& who, const std::vector<std::string>& experiment_ids,
    const std::string& project) {
  RunSearch query;
  query.experiment_ids = experiment_ids;
  query.project = project;
  query.view = View::active;
  query = TRY(state_->resolved(who, query));
  const auto projects = TRY(state_->visible(who, project));
  std::set<RunDataset> found;
  TRY(state_->index.read({}, [&](const RunIndex::View& view) -> Result<void> {
    const Predicate matches = predicate_of(view, query, projects, "");
    for (uint32_t slot = 0; slot < view.runs.size(); ++slot) {
      if (view.runs[slot].datasets.empty() || !matches(slot)) continue;
      for (const auto& dataset : view.runs[slot].datasets)
        found.insert({view.words.text(view.runs[slot].experiment), view.words.text(dataset[0]),
                      view.words.text(dataset[1]), view.words.text(dataset[2])});
    }
    return {};
  }));
  return std::vector<RunDataset>(found.begin(), found.end());
}

}  // namespace hearth::control
