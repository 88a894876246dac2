#include "control/tracking/run_index.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <numeric>

#include "base/format.h"
#include "control/tracking/blocks.h"
#include "db/tables.h"

namespace hearth::control {
namespace {

constexpr size_t kCellBytes = sizeof(Cell);
constexpr int64_t kMostJournalRows = 100'000;  // more: all is loaded anew
constexpr int64_t kSliceRows = 200;            // taken in under one lock
constexpr int64_t kStalePart = 8;              // a run read again takes longer
constexpr int kMostSlices = 500;

std::string_view proper_key(std::string_view key) {
  return key.substr(0, key.find(kKeyMark));
}

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
    for (auto& [key, column] : columns_) column->resize(runs_.size());
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
  usual_ = {};
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

Result<bool> RunIndex::catch_up(db::Session& session, int64_t most) {
  if (!loaded_ || TRY(db::last_run_change(session)) - seen_ > kMostJournalRows) {
    TRY(load_locked(session));
    return true;
  }
  std::set<std::string> changed;
  int64_t next = seen_, rows = 0;
  bool gap = false;
  TRY(session.query(
      "SELECT seq, run_id, batch FROM run_changes WHERE seq > $1 ORDER BY seq LIMIT $2",
      {seen_, most}, [&](const db::Row& row) -> Result<void> {
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
  if (gap || (rows < most && next < TRY(db::last_run_change(session)))) {
    TRY(load_locked(session));
    return true;
  }
  for (const std::string& id : changed) TRY(load_run(session, id));
  seen_ = next;
  if (experiments_stale_) TRY(load_experiments(session));
  TRY(reload_stale(session, most / kStalePart));
  return rows < most && stale_.empty();
}

Result<void> RunIndex::refresh() {
  // In slices, so that who logs waits for one of them at most. Where changes come as fast as they
  // are taken in, the last one takes what there is.
  for (int slice = 0;; ++slice) {
    int64_t last = 0;
    TRY(database_.read([&](db::Session& session) -> Result<void> {
      last = TRY(db::last_run_change(session));
      return {};
    }));
    {
      const std::shared_lock lock(mutex_);
      if (loaded_ && last == seen_ && !experiments_stale_ && stale_.empty()) return {};
    }
    const int64_t most = slice < kMostSlices ? kSliceRows : kMostJournalRows;
    bool done = false;
    TRY(database_.read([&](db::Session& session) -> Result<void> {
      const std::unique_lock lock(mutex_);
      done = TRY(catch_up(session, most));
      return {};
    }));
    if (done || slice > kMostSlices) return {};
  }
}

Result<void> RunIndex::load() {
  return refresh();
}

// --- points ------------------------------------------------------------------------------------

void RunIndex::put_cell(uint32_t slot, const Cell& cell) {
  const auto at = columns_.find(cell.key);
  if (at != columns_.end()) at->second->set(slot, cell.summary);
}

void RunIndex::drop_row(uint32_t slot) {
  if (rows_[slot] == nullptr) return;
  row_bytes_ -= rows_[slot]->capacity() * kCellBytes;
  rows_[slot].reset();
}

void RunIndex::put_cells(uint32_t slot, std::unique_ptr<MetricCells> cells) {
  drop_row(slot);
  touch(slot);
  for (auto& [key, column] : columns_) {
    const auto at = std::ranges::lower_bound(*cells, key, {}, &Cell::key);
    if (at != cells->end() && at->key == key) column->set(slot, at->summary);
  }
  row_bytes_ += cells->capacity() * kCellBytes;
  rows_[slot] = std::move(cells);
}

void RunIndex::put_row(uint32_t slot, const track::SummaryByKey& summaries) {
  auto cells = std::make_unique<MetricCells>();
  cells->reserve(summaries.size());
  track::SummaryByKey held;
  for (const auto& [key, summary] : bare(summaries, held))
    cells->push_back({words_.number(key), summary});
  std::ranges::sort(*cells, {}, &Cell::key);
  put_cells(slot, std::move(cells));
}

bool RunIndex::put_stored(uint32_t slot, std::span<const std::byte> stored) {
  std::vector<uint32_t> words;
  std::vector<track::MetricSummary> summaries;
  words.reserve(usual_.words.size());
  summaries.reserve(usual_.words.size());
  bool marked = false;
  const auto read =
      track::each_summary(stored, [&](std::string_view key, const track::MetricSummary& summary) {
        const size_t i = words.size();
        const bool usual = i < usual_.words.size() && words_.text(usual_.words[i]) == key;
        words.push_back(usual ? usual_.words[i] : words_.number(key));
        summaries.push_back(summary);
        marked = marked || key.find(kKeyMark) != std::string_view::npos;
      });
  if (!read.ok() || marked) return false;
  if (words != usual_.words) {
    std::vector<uint32_t> order(words.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, {}, [&](uint32_t i) { return words[i]; });
    usual_.places.resize(words.size());
    for (uint32_t place = 0; place < order.size(); ++place) usual_.places[order[place]] = place;
    usual_.words = std::move(words);
  }
  auto cells = std::make_unique<MetricCells>(summaries.size());
  for (size_t i = 0; i < summaries.size(); ++i)
    (*cells)[usual_.places[i]] = {usual_.words[i], summaries[i]};
  put_cells(slot, std::move(cells));
  return true;
}

Result<void> RunIndex::reload_stale(db::Session& session, int64_t most) {
  for (; most > 0 && !stale_.empty(); --most) {
    const uint32_t slot = *stale_.begin();
    const auto summaries = TRY(read_summaries(session, runs_[slot].id));
    for (auto& [key, column] : columns_) column->state[slot] = kAbsent;
    put_row(slot, summaries);
    stale_.erase(slot);
  }
  return {};
}

void RunIndex::apply(const std::string& run_id, int64_t attempt, const KeyedPoints& points) {
  std::vector<std::pair<std::string_view, track::MetricSummary>> batch;
  batch.reserve(points.keys.size());
  for (size_t i = 0; i < points.keys.size(); ++i)
    batch.emplace_back(proper_key(points.keys[i]), track::summary_of(points.of(i), attempt));
  const std::unique_lock lock(mutex_);
  const auto found = slots_.find(run_id);
  if (!loaded_ || found == slots_.end()) return;  // it is read when it comes by the journal
  const uint32_t slot = found->second;
  MetricCells* cells = rows_[slot].get();
  if (cells == nullptr || stale_.contains(slot)) {
    stale_.insert(slot);
    return;
  }
  touch(slot);
  MetricCells fresh;  // of keys that are new to the run
  for (const auto& [key, summary] : batch) {
    const uint32_t word = words_.number(key);
    const auto at = std::ranges::lower_bound(*cells, word, {}, &Cell::key);
    if (at == cells->end() || at->key != word) {
      fresh.emplace_back(word, summary);
    } else if (track::merge(at->summary, summary)) {
      put_cell(slot, *at);
    } else {
      stale_.insert(slot);
      return;
    }
  }
  if (!fresh.empty()) add_cells(slot, std::move(fresh));
}

void RunIndex::add_cells(uint32_t slot, MetricCells fresh) {
  std::ranges::sort(fresh, {}, &Cell::key);
  // One key may come twice, with what it was measured on and without.
  size_t kept = 0;
  for (size_t i = 1; i < fresh.size(); ++i)
    if (fresh[i].key != fresh[kept].key)
      fresh[++kept] = fresh[i];
    else if (!track::merge(fresh[kept].summary, fresh[i].summary))
      stale_.insert(slot);
  fresh.resize(kept + 1);
  for (const Cell& cell : fresh) put_cell(slot, cell);
  MetricCells& cells = *rows_[slot];
  row_bytes_ -= cells.capacity() * kCellBytes;
  cells.insert(cells.end(), fresh.begin(), fresh.end());
  row_bytes_ += cells.capacity() * kCellBytes;
  std::ranges::sort(cells, {}, &Cell::key);
}

// Of one run, as it is now. False: it is not there, or the runs are not loaded yet.
Result<bool> RunIndex::load_row(const std::string& run_id) {
  bool there = false;
  TRY(database_.read([&](db::Session& session) -> Result<void> {
    const std::unique_lock lock(mutex_);
    if (!loaded_) return {};
    make_room();
    TRY(load_run(session, run_id));
    const auto found = slots_.find(run_id);
    there = found != slots_.end();
    if (!there || rows_[found->second] != nullptr) return {};
    put_row(found->second, TRY(read_summaries(session, run_id)));
    stale_.erase(found->second);
    return {};
  }));
  return there;
}

Result<bool> RunIndex::has_room(const std::string& run_id, const KeyedPoints& points) {
  // Again when the row went to make room meanwhile.
  for (int round = 0; round < 2; ++round) {
    {
      const std::shared_lock lock(mutex_);
      const auto found = slots_.find(run_id);
      if (loaded_ && found != slots_.end() && rows_[found->second] != nullptr) {
        const MetricCells& cells = *rows_[found->second];
        size_t count = cells.size();
        for (const std::string& key : points.keys) {
          const uint32_t word = words_.find(proper_key(key));
          if (word == Words::kNone || !std::ranges::binary_search(cells, word, {}, &Cell::key))
            ++count;
        }
        return count <= static_cast<size_t>(kMostMetricKeys);
      }
    }
    if (!TRY(load_row(run_id))) return false;
  }
  return false;
}

}  // namespace hearth::control
