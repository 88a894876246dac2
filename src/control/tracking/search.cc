// Searching runs: which, in which order, one page of them.
#include <algorithm>
#include <numeric>

#include "control/tracking/run_match.h"
#include "control/tracking/state.h"

namespace hearth::control {
namespace {

std::map<std::string, std::string> texts_of(const Words& words, const KeyValues& values) {
  std::map<std::string, std::string> texts;
  // Words are often numbered in their order.
  for (const auto& [key, value] : values)
    texts.emplace_hint(texts.end(), words.text(key), words.text(value));
  return texts;
}

// The keys of a row in the order of their texts, which neighbours mostly share.
class TextOrder {
 public:
  explicit TextOrder(const Words& words) : words_(words) {}
  // Places in `cells`.
  const std::vector<uint32_t>& of(const MetricCells& cells) {
    const bool same = std::ranges::equal(cells, keys_, {}, &Cell::key);
    if (same) return places_;
    keys_.clear();
    for (const Cell& cell : cells) keys_.push_back(cell.key);
    places_.resize(keys_.size());
    std::iota(places_.begin(), places_.end(), 0);
    std::ranges::sort(places_, {},
                      [&](uint32_t i) -> std::string_view { return words_.text(keys_[i]); });
    return places_;
  }

 private:
  const Words& words_;
  std::vector<uint32_t> keys_, places_;
};

FoundRun found_run(const RunIndex::View& view, uint32_t slot, const RunSearch& query,
                   const std::set<uint32_t>& keys, TextOrder& order) {
  const IndexedRun& from = view.runs[slot];
  const Words& words = view.words;
  FoundRun found;
  Run& run = found.run;
  run.id = from.id;
  run.name = from.name;
  run.project = words.text(from.project);
  run.experiment_id = words.text(from.experiment);
  run.owner = words.text(from.owner);
  run.user = words.text(from.user);
  run.job_id = words.text(from.job);
  run.parent_id = words.text(from.parent);
  run.status = from.status;
  run.created_at = from.created_at;
  run.started_at = from.started_at;
  run.finished_at = from.finished_at;
  run.deleted_at = from.deleted_at;
  run.version = from.version;
  run.params = texts_of(words, from.params);
  run.tags = texts_of(words, from.tags);
  const auto experiment = view.experiments.find(run.experiment_id);
  if (experiment != view.experiments.end()) {
    run.experiment = experiment->second.name;
    found.artifact_uri = artifact_uri(experiment->second, run.id);
  }
  for (const auto& dataset : from.datasets)
    found.datasets.push_back({run.experiment_id, words.text(dataset[0]), words.text(dataset[1]),
                              words.text(dataset[2])});
  if (!query.with_metrics || view.rows[slot] == nullptr) return found;
  for (const uint32_t place : order.of(*view.rows[slot])) {
    const Cell& cell = (*view.rows[slot])[place];
    if (!keys.empty() && !keys.contains(cell.key)) continue;
    run.metrics.emplace_hint(run.metrics.end(), words.text(cell.key), latest_of(cell.summary));
    if (query.with_bounds && cell.summary.finite)
      found.bounds.emplace(words.text(cell.key), std::pair(cell.summary.min, cell.summary.max));
  }
  return found;
}

// One search over a view: the numbers of the page's runs.
struct Chosen {
  std::vector<uint32_t> page;
  int64_t total = 0;
  std::string next_cursor;
};

std::vector<uint32_t> matching(const RunIndex::View& view, const Predicate& matches) {
  std::vector<uint32_t> all;
  for (uint32_t slot = 0; slot < view.runs.size(); ++slot)
    if (matches(slot)) all.push_back(slot);
  return all;
}

Result<Chosen> choose_page(const RunIndex::View& view, const RunSearch& query,
                           const Predicate& matches, size_t limit) {
  Chosen chosen;
  RunOrder order(view, query);
  std::vector<uint32_t> all = matching(view, matches);
  chosen.total = static_cast<int64_t>(all.size());
  if (!query.cursor.empty()) {
    TRY(order.set_place(query.cursor));
    std::erase_if(all, [&](uint32_t slot) { return !order.behind_place(slot); });
  }
  order.hold(all);
  const auto less = [&](uint32_t a, uint32_t b) { return order.less(a, b); };
  const size_t count = std::min(limit, all.size());
  const auto middle = all.begin() + static_cast<ptrdiff_t>(count);
  // A large part is sorted faster by splitting it off first.
  if (middle != all.end()) std::nth_element(all.begin(), middle, all.end(), less);
  std::sort(all.begin(), middle, less);
  const bool more = count < all.size();
  all.erase(middle, all.end());
  if (more) chosen.next_cursor = order.cursor(all.back());
  chosen.page = std::move(all);
  return chosen;
}

Snapshots::Snapshot make_snapshot(const RunIndex::View& view, const RunSearch& query,
                                  const Predicate& matches, const std::string& owner) {
  RunOrder order(view, query);
  Snapshots::Snapshot made{owner, view.generation, matching(view, matches)};
  order.hold(made.runs);
  std::ranges::sort(made.runs, [&](uint32_t a, uint32_t b) { return order.less(a, b); });
  return made;
}

Chosen page_of(const Snapshots::Snapshot& snapshot, const RunSearch& query, size_t limit) {
  Chosen chosen;
  chosen.total = static_cast<int64_t>(snapshot.runs.size());
  const size_t from =
      std::min(static_cast<size_t>(std::max<int64_t>(query.skip, 0)), snapshot.runs.size());
  const size_t to = std::min(from + limit, snapshot.runs.size());
  chosen.page.assign(snapshot.runs.begin() + static_cast<ptrdiff_t>(from),
                     snapshot.runs.begin() + static_cast<ptrdiff_t>(to));
  return chosen;
}

std::string owner_of(const Identity& who) {
  return who.user + "\n" + who.job_id + "\n" + who.project;
}

}  // namespace

Result<RunSearch> Tracking::State::resolved(const Identity& who, RunSearch query) {
  TRY(check_search(query));
  const std::string where = project_of(who, query.project);
  for (std::string& id : query.experiment_ids)
    if (id == "0" && where != "default") {
      const auto found = experiment_for(who, id, where, Grade::viewer);
      if (found.ok()) id = found->id;
    }
  return query;
}

Result<void> Tracking::State::add_whole(RunPage& page) {
  return context.database.read([&](db::Session& session) -> Result<void> {
    for (FoundRun& found : page.runs) {
      auto run = TRY(db::Table<Run>::get(session, found.run.id));
      if (!run) continue;
      run->metrics = std::move(found.run.metrics);
      run->experiment = found.run.experiment;
      run->user = std::move(found.run.user);  // the owner, where no client said who
      found.run = std::move(*run);
    }
    return {};
  });
}

Result<RunPage> Tracking::search_runs(const Identity& who, const RunSearch& wanted) {
  State& state = *state_;
  const RunSearch query = TRY(state.resolved(who, wanted));
  const auto projects = TRY(state.visible(who, query.project));
  const auto limit = static_cast<size_t>(std::clamp<int64_t>(query.limit, 1, kMostFoundRuns));
  const Time now = state.context.clock.now();
  RunPage page;
  Chosen chosen;
  std::shared_ptr<const Snapshots::Snapshot> snapshot;
  if (!query.snapshot.empty() && query.snapshot != "new") {
    snapshot = state.snapshots.find(query.snapshot, owner_of(who), now);
    if (snapshot == nullptr)
      return Error::of(Code::gone, "this snapshot is no longer kept", "ask for a new one");
    page.snapshot = query.snapshot;
  }
  const auto choose = [&](const RunIndex::View& view) -> Result<std::vector<uint32_t>> {
    if (snapshot != nullptr && snapshot->generation != view.generation)
      return Error::of(Code::gone, "this snapshot is no longer kept", "ask for a new one");
    const Predicate matches = predicate_of(
        view, query, projects, who.kind == TokenKind::task ? who.job_id : std::string());
    if (query.snapshot == "new")
      snapshot =
          std::make_shared<Snapshots::Snapshot>(make_snapshot(view, query, matches, owner_of(who)));
    chosen = snapshot != nullptr ? page_of(*snapshot, query, limit)
                                 : TRY(choose_page(view, query, matches, limit));
    std::erase_if(chosen.page, [&](uint32_t slot) { return !view.runs[slot].there; });
    return chosen.page;
  };
  const auto build = [&](const RunIndex::View& view) -> Result<void> {
    std::set<uint32_t> keys;
    for (const std::string& key : query.metric_keys) keys.insert(view.words.find(key));
    page.runs.reserve(chosen.page.size());
    TextOrder order(view.words);
    for (const uint32_t slot : chosen.page)
      page.runs.push_back(found_run(view, slot, query, keys, order));
    return {};
  };
  const auto metrics = metric_keys_of(query);
  if (query.with_metrics)
    TRY(state.index.read_rows(metrics, choose, build));
  else
    TRY(state.index.read(metrics, [&](const RunIndex::View& view) -> Result<void> {
      TRY(choose(view));
      return build(view);
    }));
  page.total = chosen.total;
  page.next_cursor = chosen.next_cursor;
  if (query.snapshot == "new") {
    page.snapshot = state.make_id();
    state.snapshots.keep(page.snapshot, snapshot, now);
  }
  if (query.whole) TRY(state.add_whole(page));
  return page;
}

}  // namespace hearth::control
