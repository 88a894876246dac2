#include "control/tracking/run_index.h"

#include <algorithm>
#include <array>
#include <mutex>

#include "base/format.h"
#include "control/tracking/blocks.h"
#include "db/tables.h"

namespace hearth::control {
namespace {

constexpr size_t kCellBytes = sizeof(Cell);
constexpr size_t kColumnBytes = 3 * sizeof(double) + 1;  // of one run
constexpr int64_t kMostJournalRows = 100'000;            // more: all is loaded anew

constexpr std::string_view kOpenRuns =
    "SELECT DISTINCT run_id FROM metric_batches WHERE kind = 'metric'";
// And those that an older server has compacted without summing them up.
constexpr std::string_view kOpenAndOlderRuns =
    "SELECT DISTINCT run_id FROM metric_batches WHERE kind = 'metric' OR (kind = 'metric_pack' AND "
    "run_id NOT IN (SELECT run_id FROM run_metrics))";

KeyValues words_of(Words& words, const std::map<std::string, std::string>& texts) {
  KeyValues pairs;
  pairs.reserve(texts.size());
  for (const auto& [key, value] : texts) pairs.emplace_back(words.number(key), words.number(value));
  std::ranges::sort(pairs);
  return pairs;
}

}  // namespace

// --- keeping up --------------------------------------------------------------------------------

void RunIndex::experiments_changed() {
  const std::unique_lock lock(mutex_);
  experiments_stale_ = true;
}

int64_t RunIndex::seen() const {
  const std::shared_lock lock(mutex_);
  return seen_;
}

Result<void> RunIndex::load_experiments(db::Session& session) {
  experiments_.clear();
  for (Experiment& experiment : TRY(db::Table<Experiment>::select(session, "ORDER BY id", {})))
    experiments_[experiment.id] = std::move(experiment);
  experiments_stale_ = false;
  return {};
}

void RunIndex::put_run(const Run& run) {
  const auto [at, is_new] = slots_.emplace(run.id, static_cast<uint32_t>(runs_.size()));
  if (is_new) {
    runs_.emplace_back().id = run.id;
    rows_.emplace_back();
    for (auto& [key, column] : columns_) {
      column->last.push_back(0);
      column->min.push_back(0);
      column->max.push_back(0);
      column->state.push_back(kAbsent);
    }
  }
  IndexedRun& to = runs_[at->second];
  to.there = true;
  to.name = run.name;
  to.project = words_.number(run.project);
  to.experiment = words_.number(run.experiment_id);
  to.owner = words_.number(run.owner);
  to.user = words_.number(run.user.empty() ? run.owner : run.user);
  to.job = words_.number(run.job_id);
  to.parent = words_.number(run.parent_id);
  to.status = run.status;
  to.created_at = run.created_at;
  to.started_at = run.started_at;
  to.finished_at = run.finished_at;
  to.deleted_at = run.deleted_at;
  to.version = run.version;
  to.params = words_of(words_, run.params);
  to.tags = words_of(words_, run.tags);
  if (!experiments_.contains(run.experiment_id)) experiments_stale_ = true;
}

Result<void> RunIndex::load_datasets(db::Session& session, const std::string& run_id) {
  return session.query(
      format("SELECT run_id, name, digest, context FROM run_inputs WHERE kind = 'dataset'{} "
             "ORDER BY run_id, position, name",
             run_id.empty() ? "" : " AND run_id = $1"),
      run_id.empty() ? std::vector<db::Value>() : std::vector<db::Value>{run_id},
      [&](const db::Row& row) -> Result<void> {
        const auto at = slots_.find(std::string(row.text(0)));
        if (at == slots_.end()) return {};
        runs_[at->second].datasets.push_back(
            {words_.number(row.text(1)), words_.number(row.text(2)), words_.number(row.text(3))});
        return {};
      });
}

Result<void> RunIndex::load_locked(db::Session& session) {
  loaded_ = false;
  ++generation_;
  words_ = {};
  runs_.clear();
  slots_.clear();
  rows_.clear();
  columns_.clear();
  stale_.clear();
  blocks_.clear();
  row_bytes_ = 0;
  seen_ = TRY(db::last_run_change(session));
  TRY(load_experiments(session));
  TRY(session.query("SELECT body FROM runs ORDER BY id", {},
                    [&](const db::Row& row) -> Result<void> {
                      put_run(TRY(from_json<Run>(row.text(0), Origin::server, SIZE_MAX)));
                      return {};
                    }));
  TRY(load_datasets(session, ""));
  loaded_ = true;
  return {};
}

Result<void> RunIndex::load_run(db::Session& session, const std::string& id) {
  const auto at = slots_.find(id);
  const bool is_new = at == slots_.end();
  const int64_t known = is_new ? -1 : runs_[at->second].version;
  bool there = false, changed = false;
  TRY(session.query("SELECT version, body FROM runs WHERE id = $1", {id},
                    [&](const db::Row& row) -> Result<void> {
                      there = true;
                      if (row.integer(0) == known) return {};
                      changed = true;
                      put_run(TRY(from_json<Run>(row.text(1), Origin::server, SIZE_MAX)));
                      return {};
                    }));
  if (there && is_new) stale_.insert(slots_.at(id));
  if (!there && !is_new) {
    runs_[at->second].there = false;
    drop_row(at->second);
  }
  if (!changed) return {};
  runs_[slots_.at(id)].datasets.clear();
  return load_datasets(session, id);
}

Result<void> RunIndex::refresh_locked(db::Session& session) {
  if (!loaded_) return load_locked(session);
  std::set<std::string> changed;
  int64_t next = seen_, rows = 0;
  bool gap = false;
  TRY(session.query(
      "SELECT seq, run_id, batch FROM run_changes WHERE seq > $1 ORDER BY seq LIMIT $2",
      {seen_, kMostJournalRows}, [&](const db::Row& row) -> Result<void> {
        gap = gap || row.integer(0) != next + 1;
        next = row.integer(0);
        ++rows;
        const std::string id(row.text(1));
        const auto at = slots_.find(id);
        if (!row.text(2).empty() && at != slots_.end())
          stale_.insert(at->second);
        else
          changed.insert(id);
        return {};
      }));
  if (gap || rows == kMostJournalRows || next < TRY(db::last_run_change(session)))
    return load_locked(session);
  for (const std::string& id : changed) TRY(load_run(session, id));
  seen_ = next;
  if (experiments_stale_) TRY(load_experiments(session));
  return reload_stale(session);
}

Result<void> RunIndex::refresh() {
  int64_t last = 0;
  TRY(database_.read([&](db::Session& session) -> Result<void> {
    last = TRY(db::last_run_change(session));
    return {};
  }));
  {
    const std::shared_lock lock(mutex_);
    if (loaded_ && last == seen_ && !experiments_stale_ && stale_.empty()) return {};
  }
  const std::unique_lock lock(mutex_);
  return database_.read([&](db::Session& session) { return refresh_locked(session); });
}

Result<void> RunIndex::load() {
  return refresh();
}

// --- points ------------------------------------------------------------------------------------

void RunIndex::put_cell(uint32_t slot, const Cell& cell) {
  const auto at = columns_.find(cell.key);
  if (at == columns_.end()) return;
  MetricColumn& column = *at->second;
  const track::MetricSummary& summary = cell.summary;
  column.last[slot] = summary.last.value;
  column.min[slot] = summary.min;
  column.max[slot] = summary.max;
  column.state[slot] = summary.finite ? kPresent | kFinite : kPresent;
}

void RunIndex::drop_row(uint32_t slot) {
  if (rows_[slot] == nullptr) return;
  row_bytes_ -= rows_[slot]->capacity() * kCellBytes;
  rows_[slot].reset();
}

// Of the whole run, or (no room for more rows) what is needed of it for `keys`.
void RunIndex::put_row(uint32_t slot, const track::SummaryByKey& summaries,
                       const std::set<uint32_t>* keys) {
  drop_row(slot);
  auto cells = std::make_unique<MetricCells>();
  cells->reserve(summaries.size());
  for (const auto& [key, summary] : without_marks(summaries))
    cells->push_back({words_.number(key), summary});
  std::ranges::sort(*cells, {}, &Cell::key);
  for (const Cell& cell : *cells) put_cell(slot, cell);
  if (keys != nullptr && row_bytes_ > most_bytes_ / 2) return;
  row_bytes_ += cells->capacity() * kCellBytes;
  rows_[slot] = std::move(cells);
}

Result<void> RunIndex::reload_stale(db::Session& session) {
  for (const uint32_t slot : stale_) {
    for (auto& [key, column] : columns_) column->state[slot] = kAbsent;
    put_row(slot, TRY(read_summaries(session, runs_[slot].id)));
  }
  stale_.clear();
  return {};
}

void RunIndex::apply(const std::string& run_id, int64_t attempt,
                     const std::vector<KeyPoint>& points) {
  track::SummaryByKey batch;
  for (const KeyPoint& p : points) {
    const std::string_view key = std::string_view(p.key).substr(0, p.key.find(kKeyMark));
    const auto at = batch.find(key);
    if (at == batch.end())
      batch.emplace(key, track::summary_of(p.point, attempt));
    else
      track::merge(at->second, track::summary_of(p.point, attempt));
  }
  const std::unique_lock lock(mutex_);
  const auto found = slots_.find(run_id);
  if (!loaded_ || found == slots_.end()) return;  // it is read when it comes by the journal
  const uint32_t slot = found->second;
  MetricCells* cells = rows_[slot].get();
  if (cells == nullptr || stale_.contains(slot)) {
    stale_.insert(slot);
    return;
  }
  for (const auto& [key, summary] : batch) {
    const uint32_t word = words_.number(key);
    auto at = std::ranges::lower_bound(*cells, word, {}, &Cell::key);
    if (at == cells->end() || at->key != word) {
      row_bytes_ -= cells->capacity() * kCellBytes;
      at = cells->insert(at, {word, summary});
      row_bytes_ += cells->capacity() * kCellBytes;
    } else if (!track::merge(at->summary, summary)) {
      stale_.insert(slot);
      return;
    }
    put_cell(slot, *at);
  }
}

bool RunIndex::has_room(const std::string& run_id, const std::vector<KeyPoint>& points) const {
  std::set<std::string_view> keys;
  for (const KeyPoint& p : points) keys.insert(p.key);
  const std::shared_lock lock(mutex_);
  const auto found = slots_.find(run_id);
  if (!loaded_ || found == slots_.end() || rows_[found->second] == nullptr) return false;
  const MetricCells& cells = *rows_[found->second];
  size_t count = cells.size();
  for (const std::string_view key : keys) {
    const uint32_t word = words_.find(key.substr(0, key.find(kKeyMark)));
    if (word == Words::kNone || !std::ranges::binary_search(cells, word, {}, &Cell::key)) ++count;
  }
  return count <= static_cast<size_t>(kMostMetricKeys);
}

// --- columns and rows --------------------------------------------------------------------------

bool RunIndex::lacks(const std::vector<std::string>& keys) const {
  return std::ranges::any_of(
      keys, [&](const std::string& key) { return !columns_.contains(words_.find(key)); });
}

void RunIndex::make_room() {
  // Rows are cheap to read again: all of them go when they take too much.
  if (row_bytes_ > most_bytes_ / 2)
    for (uint32_t slot = 0; slot < rows_.size(); ++slot) drop_row(slot);
  while (columns_.size() > 1 && columns_.size() * runs_.size() * kColumnBytes > most_bytes_ / 2) {
    const auto oldest = std::ranges::min_element(
        columns_, {}, [](const auto& entry) { return entry.second->used; });
    columns_.erase(oldest);
  }
}

Result<void> RunIndex::each_open_row(db::Session& session, std::vector<bool>& done,
                                     const EachRow& each) {
  std::set<uint32_t> whole;
  const auto slot_of = [&](std::string_view id) {
    const auto at = slots_.find(std::string(id));
    return at == slots_.end() || done[at->second] ? Words::kNone : at->second;
  };
  if (!summed_up_) summed_up_ = TRY(is_summed_up(session));
  TRY(session.query(summed_up_ ? kOpenRuns : kOpenAndOlderRuns, {},
                    [&](const db::Row& row) -> Result<void> {
                      if (const uint32_t slot = slot_of(row.text(0)); slot != Words::kNone)
                        whole.insert(slot);
                      return {};
                    }));
  TRY(session.query("SELECT run_id, body FROM run_metrics WHERE block = 0", {},
                    [&](const db::Row& row) -> Result<void> {
                      const uint32_t slot = slot_of(row.text(0));
                      if (slot == Words::kNone || whole.contains(slot)) return {};
                      const auto summaries = track::decode_summaries(row.bytes(1));
                      if (!summaries.ok()) return whole.insert(slot), Result<void>();
                      done[slot] = true;
                      return each(slot, *summaries);
                    }));
  for (const uint32_t slot : whole) {
    done[slot] = true;
    TRY(each(slot, TRY(read_summaries(session, runs_[slot].id))));
  }
  return {};
}

Result<void> RunIndex::load_open_rows(db::Session& session, const std::set<uint32_t>& keys,
                                      std::vector<bool>& done) {
  return each_open_row(session, done,
                       [&](uint32_t slot, const track::SummaryByKey& row) -> Result<void> {
                         put_row(slot, row, &keys);
                         return {};
                       });
}

Result<void> RunIndex::load_columns(db::Session& session, const std::set<uint32_t>& keys) {
  std::vector<bool> done(runs_.size());
  for (const uint32_t key : keys) {
    auto column = std::make_unique<MetricColumn>();
    column->last.resize(runs_.size());
    column->min.resize(runs_.size());
    column->max.resize(runs_.size());
    column->state.resize(runs_.size(), kAbsent);
    column->used = ++uses_;
    columns_[key] = std::move(column);
  }
  for (uint32_t slot = 0; slot < runs_.size(); ++slot) {
    if (rows_[slot] == nullptr) continue;
    done[slot] = true;
    for (const uint32_t key : keys) {
      const auto at = std::ranges::lower_bound(*rows_[slot], key, {}, &Cell::key);
      if (at != rows_[slot]->end() && at->key == key) put_cell(slot, *at);
    }
  }
  if (std::ranges::all_of(done, std::identity())) return {};
  TRY(load_open_rows(session, keys, done));
  return load_block_columns(session, keys, done);
}

Result<void> RunIndex::ensure_columns(const std::vector<std::string>& keys) {
  {
    const std::shared_lock lock(mutex_);
    if (!lacks(keys)) return {};
  }
  const std::unique_lock lock(mutex_);
  return database_.read([&](db::Session& session) -> Result<void> {
    std::set<uint32_t> missing;
    for (const std::string& key : keys)
      if (const uint32_t word = words_.number(key); !columns_.contains(word)) missing.insert(word);
    if (missing.empty()) return {};
    const auto done = load_columns(session, missing);
    if (!done.ok())
      for (const uint32_t key : missing) columns_.erase(key);
    make_room();
    return done;
  });
}

Result<void> RunIndex::load_rows(db::Session& session, const std::vector<uint32_t>& slots) {
  for (const uint32_t slot : slots)
    if (rows_[slot] == nullptr) put_row(slot, TRY(read_summaries(session, runs_[slot].id)));
  return {};
}

Result<void> RunIndex::read(const std::vector<std::string>& metric_keys,
                            const std::function<Result<void>(const View&)>& work) {
  TRY(refresh());
  for (int round = 0; round < 3; ++round) {
    TRY(ensure_columns(metric_keys));
    const std::shared_lock lock(mutex_);
    if (!lacks(metric_keys)) return work(view());
  }
  return Error::unavailable("the columns of these metrics do not fit into memory together",
                            "filter and order by fewer of them");
}

Result<void> RunIndex::read_rows(
    const std::vector<std::string>& metric_keys,
    const std::function<Result<std::vector<uint32_t>>(const View&)>& choose,
    const std::function<Result<void>(const View&)>& work) {
  std::vector<uint32_t> slots;
  const auto complete = [&] {
    return std::ranges::all_of(slots, [&](uint32_t slot) { return rows_[slot] != nullptr; });
  };
  bool worked = false;
  TRY(read(metric_keys, [&](const View& view) -> Result<void> {
    slots = TRY(choose(view));
    if (!complete()) return {};
    worked = true;
    return work(view);
  }));
  if (worked) return {};
  const std::unique_lock lock(mutex_);
  make_room();
  TRY(database_.read([&](db::Session& session) { return load_rows(session, slots); }));
  return work(view());
}

}  // namespace hearth::control
