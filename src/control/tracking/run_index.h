// All runs in memory, for search: their members, params and tags with interned texts, and metrics
// by columns that are loaded at the first use of a key.
//
// What is on disk is the truth. Every change of a run's row is in the journal (db/tables.h), which
// each search reads on from where it was; points that were logged here are applied right after
// their commit, those of shims come by the journal. What was missed (a crash, rows dropped for
// room) is read again from the summaries.
//
// Thread-safe. One lock for all: searches share it, who logs has it alone for a moment. Rows and
// columns are read from the database without it; what changes meanwhile is noted (Load). Who needs
// both takes the lock inside a read(): connections are few, and nobody waits for one with the lock.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "control/metric_points.h"
#include "control/tracking/run_search.h"
#include "db/database.h"
#include "track/metric_uses.h"

namespace hearth::control {

// Texts with numbers.
class Words {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t number(std::string_view text) {
    const auto found = numbers_.find(text);
    if (found != numbers_.end()) return found->second;
    texts_.emplace_back(text);
    const auto next = static_cast<uint32_t>(texts_.size() - 1);
    numbers_.emplace(texts_.back(), next);
    return next;
  }
  uint32_t find(std::string_view text) const {
    const auto found = numbers_.find(text);
    return found == numbers_.end() ? kNone : found->second;
  }
  const std::string& text(uint32_t number) const { return texts_[number]; }
  size_t size() const { return texts_.size(); }

 private:
  std::deque<std::string> texts_;  // stay where they are
  std::unordered_map<std::string_view, uint32_t> numbers_;
};

using KeyValues = std::vector<std::pair<uint32_t, uint32_t>>;  // words, by key

struct IndexedRun {
  // First what a search looks at in every run, close together.
  bool there = false;  // false: the run is gone for good
  RunStatus status = RunStatus::scheduled;
  uint32_t project = 0, experiment = 0;  // words
  Time deleted_at, created_at, started_at, finished_at;
  uint32_t owner = 0, user = 0, job = 0, parent = 0;  // words
  std::string id, name;
  int64_t version = -1;
  KeyValues params, tags;
  std::vector<std::array<uint32_t, 3>> datasets;  // name, digest, context
};

struct Cell {
  uint32_t key = 0;  // word
  track::MetricSummary summary;
};
using MetricCells = std::vector<Cell>;  // by key

constexpr uint8_t kAbsent = 0, kPresent = 1, kFinite = 2;
struct MetricColumn {
  std::vector<double> last, min, max;
  std::vector<uint8_t> state;  // kAbsent...
  uint64_t used = 0;

  void resize(size_t runs) {
    for (auto* values : {&last, &min, &max}) values->resize(runs);
    state.resize(runs, kAbsent);
  }
  void set(uint32_t slot, const track::MetricSummary& summary) {
    set(slot, summary.finite, summary.last.value, summary.min, summary.max);
  }
  void set(uint32_t slot, bool finite, double last_value, double least, double greatest) {
    last[slot] = last_value;
    min[slot] = least;
    max[slot] = greatest;
    state[slot] = finite ? kPresent | kFinite : kPresent;
  }
};

class RunIndex {
 public:
  RunIndex(db::Database& database, size_t most_bytes, int64_t few_runs)
      : database_(database), most_bytes_(most_bytes), few_runs_(few_runs) {}

  Result<void> load();
  void experiments_changed();
  // Points that are committed.
  void apply(const std::string& run_id, int64_t attempt, const KeyedPoints& points);
  // True when the run is known to stay within kMostMetricKeys with these points. Reads what the
  // run has at its first use.
  Result<bool> has_room(const std::string& run_id, const KeyedPoints& points);
  // The journal up to here is taken in; -1 before the first load.
  int64_t seen() const;

  // What a search works on, under the lock.
  struct View {
    const std::deque<IndexedRun>& runs;
    const Words& words;
    const std::map<std::string, Experiment>& experiments;
    const std::map<uint32_t, std::unique_ptr<MetricColumn>>& columns;
    const std::vector<std::unique_ptr<MetricCells>>& rows;  // null: not in memory
    uint64_t generation;  // numbers of runs are good for as long as this stays
    const MetricColumn* column(std::string_view key) const {
      const auto at = columns.find(words.find(key));
      return at == columns.end() ? nullptr : at->second.get();
    }
  };
  // Brings all up to date, sees to it that the columns of these keys are in memory, and runs
  // `work`, which changes nothing.
  Result<void> read(const std::vector<std::string>& metric_keys,
                    const std::function<Result<void>(const View&)>& work);
  // As read(), then with the rows of those that `choose` named in memory.
  Result<void> read_rows(const std::vector<std::string>& metric_keys,
                         const std::function<Result<std::vector<uint32_t>>(const View&)>& choose,
                         const std::function<Result<void>(const View&)>& work);
  // By metric key that `wants`: how many of the `chosen` runs (by slot, of this generation) have
  // it, and its bounds over them. Few runs are counted by their rows; else what blocks say of
  // whole experiments and, of parts of these, their columns are read past memory, without the lock.
  // Errors: conflict when the slots are of another generation.
  using KeyUses = track::KeyUses;
  Result<KeyUses> metric_uses(const std::vector<bool>& chosen, uint64_t generation,
                              const std::function<bool(std::string_view)>& wants);

 private:
  static Error read_anew();
  View view() const { return {runs_, words_, experiments_, columns_, rows_, generation_}; }
  Result<void> refresh();
  // Takes in at most so much; false: there is more.
  Result<bool> catch_up(db::Session& session, int64_t most);
  Result<void> load_locked(db::Session& session);
  Result<void> load_experiments(db::Session& session);
  Result<void> load_datasets(db::Session& session, const std::string& run_id);
  Result<void> load_run(db::Session& session, const std::string& id);
  void put_run(const Run& run);
  bool lacks(const std::vector<std::string>& keys) const;
  Result<bool> load_row(const std::string& run_id);
  Result<void> reload_stale(db::Session& session, int64_t most);
  void put_row(uint32_t slot, const track::SummaryByKey& summaries);
  // Out of what is stored of the run alone. False: it cannot be, read its summaries.
  bool put_stored(uint32_t slot, std::span<const std::byte> stored);
  void put_cells(uint32_t slot, std::unique_ptr<MetricCells> cells);
  void put_cell(uint32_t slot, const Cell& cell);
  void add_cells(uint32_t slot, MetricCells fresh);  // of keys that its row does not have
  void drop_row(uint32_t slot);
  void make_room();
  void touch(uint32_t slot);

  // run_columns.cc: what is read while others go on, so these hold the lock for moments only.
  using Blocks = std::map<int64_t, std::vector<uint32_t>>;  // slots by place
  struct Load;                                              // of columns
  Result<void> ensure_columns(const std::vector<std::string>& keys);
  Result<void> load_columns(const std::vector<std::string>& keys);
  void begin(Load& load, const std::vector<std::string>& keys);
  void finish(Load& load);
  Result<void> load_open_rows(db::Session& session, Load& load);
  Result<void> load_block_columns(db::Session& session, Load& load);
  Result<Blocks> read_blocks(db::Session& session, uint64_t generation);
  // Of the runs that no block has and that are not `done` yet, which they are then. Errors:
  // conflict when the runs are of another generation meanwhile.
  using EachRow = std::function<Result<void>(uint32_t slot, const track::SummaryByKey&)>;
  Result<void> each_open_row(db::Session& session, uint64_t generation, std::vector<bool>& done,
                             const EachRow& each);
  Result<void> damaged_rows(db::Session& session, std::set<std::string>& whole);
  using Count = std::function<void(std::string_view key, bool finite, double min, double max)>;
  Result<void> count_few(const std::vector<bool>& chosen, uint64_t generation, const Count& count);
  // `owner`: the block of each slot, 0 for none.
  Result<void> count_rows(db::Session& session, uint64_t generation,
                          const std::vector<bool>& chosen, const std::vector<int64_t>& owner,
                          std::vector<bool>& done, const Count& count);
  struct BlockPart;
  using BlockParts = std::map<int64_t, BlockPart>;
  Result<BlockParts> parts_of(const Blocks& blocks, uint64_t generation,
                              const std::vector<int64_t>& owner, const std::vector<bool>& chosen,
                              const std::vector<bool>& done);
  Result<void> count_whole(db::Session& session, uint64_t generation, BlockParts& parts,
                           KeyUses& uses, const std::function<bool(std::string_view)>& wants);
  Result<void> count_parts(db::Session& session, const BlockParts& parts, KeyUses& uses,
                           const std::function<bool(std::string_view)>& wants);
  // Slots by id; kNone where there is none, or `done`.
  Result<uint32_t> slot_of(std::string_view id, uint64_t generation, const std::vector<bool>& done);
  struct Wanted {
    std::vector<std::pair<uint32_t, std::string>> rows;  // slot, id: not in memory
    uint64_t generation = 0;
  };
  Result<void> load_rows(const Wanted& wanted);
  void keep_row(uint32_t slot, uint64_t generation, const track::SummaryByKey& row);

  db::Database& database_;
  const size_t most_bytes_;
  const int64_t few_runs_;           // of metric_uses()
  mutable std::shared_mutex mutex_;  // guards what follows
  bool loaded_ = false;
  bool experiments_stale_ = true;
  int64_t seen_ = -1;
  Words words_;
  std::deque<IndexedRun> runs_;
  std::unordered_map<std::string, uint32_t> slots_;
  std::map<std::string, Experiment> experiments_;
  std::vector<std::unique_ptr<MetricCells>> rows_;  // by slot
  size_t row_bytes_ = 0;
  // Of the row that was put last: its words in the order of their texts, and the place of each in
  // the row. The next one mostly has the same keys.
  struct {
    std::vector<uint32_t> words, places;
  } usual_;
  std::map<uint32_t, std::unique_ptr<MetricColumn>> columns_;  // by key
  std::set<uint32_t> stale_;  // slots whose row and columns are to be read again
  uint64_t uses_ = 0;
  uint64_t generation_ = 0;
  Blocks blocks_;           // that somebody found there last; none of them ever changes
  bool summed_up_ = false;  // every run with packs has its summary
  std::set<Load*> loads_;   // that are going on
  std::mutex loading_;      // one at a time: taken before mutex_
};

// The same by the keys proper; `held` keeps it where that is another.
inline const track::SummaryByKey& bare(const track::SummaryByKey& summaries,
                                       track::SummaryByKey& held) {
  const bool marked = std::ranges::any_of(
      summaries, [](const auto& entry) { return entry.first.find(kKeyMark) != std::string::npos; });
  if (!marked) return summaries;
  return held = without_marks(summaries);
}

}  // namespace hearth::control
