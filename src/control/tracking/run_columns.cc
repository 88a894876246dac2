// Columns and rows on their way into memory, read while others search and log.
#include <algorithm>
#include <mutex>

#include "base/log.h"
#include "control/tracking/blocks.h"
#include "control/tracking/run_index.h"
#include "track/metric_column.h"

namespace hearth::control {
namespace {

constexpr size_t kColumnBytes = 3 * sizeof(double) + 1;  // of one run
constexpr int kMostRounds = 3;  // of a search whose rows went to make room for another's

constexpr std::string_view kOpenRuns =
    "SELECT DISTINCT run_id FROM metric_batches WHERE kind = 'metric'";
// And those that an older server has compacted without summing them up.
constexpr std::string_view kOpenAndOlderRuns =
    "SELECT DISTINCT run_id FROM metric_batches WHERE kind = 'metric' OR (kind = 'metric_pack' AND "
    "run_id NOT IN (SELECT run_id FROM run_metrics))";

}  // namespace

Error RunIndex::read_anew() {
  return Error::conflict("the runs were read anew meanwhile", "ask again");
}

// Columns that are being read. They begin with what is in memory; a run that changes from then on
// is touched, and is looked at again at the end.
struct RunIndex::Load {
  struct Column {
    std::string key;
    std::unique_ptr<MetricColumn> column;
  };
  uint64_t generation = 0;
  std::map<uint32_t, Column> columns;  // by word
  std::vector<bool> done;              // slots
  std::set<uint32_t> touched;
};

void RunIndex::touch(uint32_t slot) {
  for (Load* load : loads_) load->touched.insert(slot);
}

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

// --- rows that no block has ---------------------------------------------------------------------

Result<uint32_t> RunIndex::slot_of(std::string_view id, uint64_t generation,
                                   const std::vector<bool>& done) {
  const std::shared_lock lock(mutex_);
  if (generation_ != generation) return read_anew();
  const auto at = slots_.find(std::string(id));
  const bool wanted = at != slots_.end() && at->second < done.size() && !done[at->second];
  return wanted ? at->second : Words::kNone;
}

// A damaged page ends the list of summaries. Then each run is looked at by itself: those whose
// summary lies on that page still have their points.
Result<void> RunIndex::damaged_rows(db::Session& session, std::set<std::string>& whole) {
  std::vector<std::string> ids;
  TRY(session.query("SELECT run_id FROM run_metrics ORDER BY run_id", {},
                    [&](const db::Row& row) -> Result<void> {
                      ids.emplace_back(row.text(0));
                      return {};
                    }));
  for (const std::string& id : ids) {
    bool in_block = false;
    const auto read = session.query("SELECT block FROM run_metrics WHERE run_id = $1", {id},
                                    [&](const db::Row& row) -> Result<void> {
                                      in_block = row.integer(0) > 0;
                                      return {};
                                    });
    if (!read.ok())
      log_error(
          "run {}: the summary of its metrics cannot be read ({}); it is made from its points", id,
          read.error().detail);
    if (!in_block) whole.insert(id);
  }
  return {};
}

Result<void> RunIndex::each_open_row(db::Session& session, uint64_t generation,
                                     std::vector<bool>& done, const EachRow& each) {
  std::set<std::string> whole;
  bool summed_up = false;
  {
    const std::shared_lock lock(mutex_);
    summed_up = summed_up_;
  }
  if (!summed_up && TRY(is_summed_up(session))) {
    const std::unique_lock lock(mutex_);
    summed_up = summed_up_ = true;
  }
  TRY(session.query(summed_up ? kOpenRuns : kOpenAndOlderRuns, {},
                    [&](const db::Row& row) -> Result<void> {
                      whole.emplace(row.text(0));
                      return {};
                    }));
  Result<void> stopped;  // by `each`, not by damage
  const auto read = session.query("SELECT run_id, body FROM run_metrics WHERE block = 0", {},
                                  [&](const db::Row& row) -> Result<void> {
                                    const std::string id(row.text(0));
                                    if (whole.contains(id)) return {};
                                    auto slot = slot_of(id, generation, done);
                                    if (!slot.ok()) return stopped = slot.error();
                                    if (*slot == Words::kNone) return {};
                                    const auto summaries = track::decode_summaries(row.bytes(1));
                                    if (!summaries.ok()) return whole.insert(id), Result<void>();
                                    done[*slot] = true;
                                    return stopped = each(*slot, *summaries);
                                  });
  TRY(std::move(stopped));
  if (!read.ok()) TRY(damaged_rows(session, whole));
  for (const std::string& id : whole) {
    const uint32_t slot = TRY(slot_of(id, generation, done));
    if (slot == Words::kNone) continue;
    done[slot] = true;
    TRY(each(slot, TRY(read_summaries(session, id))));
  }
  return {};
}

// In memory too, while there is room: the next key finds it there.
void RunIndex::keep_row(uint32_t slot, uint64_t generation, const track::SummaryByKey& row) {
  const std::unique_lock lock(mutex_);
  if (generation_ == generation && rows_[slot] == nullptr && row_bytes_ <= most_bytes_ / 2)
    put_row(slot, row);
}

// --- columns ------------------------------------------------------------------------------------

void RunIndex::begin(Load& load, const std::vector<std::string>& keys) {
  const std::unique_lock lock(mutex_);
  load.generation = generation_;
  load.done.resize(runs_.size());
  for (const std::string& key : keys) {
    const uint32_t word = words_.number(key);
    if (columns_.contains(word) || load.columns.contains(word)) continue;
    auto column = std::make_unique<MetricColumn>();
    column->resize(runs_.size());
    load.columns[word] = {key, std::move(column)};
  }
  for (uint32_t slot = 0; slot < runs_.size(); ++slot) {
    if (rows_[slot] == nullptr) continue;
    load.done[slot] = true;
    for (auto& [word, made] : load.columns) {
      const auto at = std::ranges::lower_bound(*rows_[slot], word, {}, &Cell::key);
      if (at != rows_[slot]->end() && at->key == word) made.column->set(slot, at->summary);
    }
  }
  loads_.insert(&load);
}

// Puts the columns into memory, with what has changed meanwhile.
void RunIndex::finish(Load& load) {
  if (generation_ != load.generation) return;  // who wanted them looks again
  for (auto& [word, made] : load.columns) {
    made.column->resize(runs_.size());
    made.column->used = ++uses_;
    columns_[word] = std::move(made.column);
  }
  for (const uint32_t slot : load.touched) {
    if (rows_[slot] == nullptr) {
      stale_.insert(slot);
      continue;
    }
    for (const auto& [word, made] : load.columns) columns_[word]->state[slot] = kAbsent;
    for (const Cell& cell : *rows_[slot])
      if (load.columns.contains(cell.key)) put_cell(slot, cell);
  }
  make_room();
}

Result<void> RunIndex::load_open_rows(db::Session& session, Load& load) {
  return each_open_row(session, load.generation, load.done,
                       [&](uint32_t slot, const track::SummaryByKey& row) -> Result<void> {
                         track::SummaryByKey held;
                         const track::SummaryByKey& found = bare(row, held);
                         for (auto& [word, made] : load.columns)
                           if (const auto at = found.find(made.key); at != found.end())
                             made.column->set(slot, at->second);
                         keep_row(slot, load.generation, row);
                         return {};
                       });
}

// Those of this very state of the database: others may be reading an older or a newer one.
Result<RunIndex::Blocks> RunIndex::read_blocks(db::Session& session, uint64_t generation) {
  std::set<int64_t> there;
  TRY(session.query("SELECT block FROM metric_blocks", {}, [&](const db::Row& row) -> Result<void> {
    there.insert(row.integer(0));
    return {};
  }));
  Blocks blocks;
  {
    const std::shared_lock lock(mutex_);
    if (generation_ != generation) return read_anew();
    for (const int64_t block : there)
      if (const auto known = blocks_.find(block); known != blocks_.end()) blocks.insert(*known);
  }
  for (const int64_t block : there)
    if (!blocks.contains(block))
      TRY(session.query("SELECT body FROM metric_blocks WHERE block = $1", {block},
                        [&](const db::Row& row) -> Result<void> {
                          const std::shared_lock lock(mutex_);
                          if (generation_ != generation) return read_anew();
                          for (const std::string_view id : split(as_text(row.bytes(0)), '\n')) {
                            const auto at = slots_.find(std::string(id));
                            blocks[block].push_back(at == slots_.end() ? Words::kNone : at->second);
                          }
                          return {};
                        }));
  const std::unique_lock lock(mutex_);
  if (generation_ != generation) return read_anew();
  blocks_ = blocks;
  return blocks;
}

Result<void> RunIndex::load_block_columns(db::Session& session, Load& load) {
  const Blocks blocks = TRY(read_blocks(session, load.generation));
  std::set<uint32_t> unread;  // slots whose column is damaged
  const auto wants = [&](uint32_t slot) { return slot < load.done.size() && !load.done[slot]; };
  for (auto& [word, made] : load.columns)
    TRY(session.query("SELECT block, body FROM metric_columns WHERE key = $1 ORDER BY block",
                      {made.key}, [&](const db::Row& row) -> Result<void> {
                        const auto block = blocks.find(row.integer(0));
                        if (block == blocks.end()) return {};
                        const auto& slots = block->second;
                        const auto values = track::decode_column(row.bytes(1));
                        if (!values.ok()) {
                          log_error(
                              "metric column {}, block {}: {}; the runs' summaries are read in its "
                              "place",
                              made.key, row.integer(0), values.error().detail);
                          unread.insert(slots.begin(), slots.end());
                          return {};
                        }
                        for (const track::ColumnValue& v : *values)
                          if (v.place < slots.size() && wants(slots[v.place]))
                            made.column->set(slots[v.place], v.finite, v.last, v.min, v.max);
                        return {};
                      }));
  // The run's own summary, as soon as somebody looks.
  const std::unique_lock lock(mutex_);
  for (const uint32_t slot : unread)
    if (wants(slot)) load.touched.insert(slot);
  return {};
}

Result<void> RunIndex::load_columns(const std::vector<std::string>& keys) {
  Load load;
  begin(load, keys);
  Result<void> read;
  if (!load.columns.empty() && !std::ranges::all_of(load.done, std::identity()))
    read = database_.read([&](db::Session& session) -> Result<void> {
      TRY(load_open_rows(session, load));
      return load_block_columns(session, load);
    });
  const std::unique_lock lock(mutex_);
  loads_.erase(&load);
  if (!read.ok() && generation_ != load.generation) return {};  // who wanted them looks again
  TRY(std::move(read));
  finish(load);
  return {};
}

Result<void> RunIndex::ensure_columns(const std::vector<std::string>& keys) {
  const auto there = [&] {
    const std::shared_lock lock(mutex_);
    return !lacks(keys);
  };
  if (there()) return {};
  const std::lock_guard one(loading_);  // who waited for it finds what it has read
  if (there()) return {};
  TRY(load_columns(keys));
  return refresh();  // what changed meanwhile
}

// --- reading ------------------------------------------------------------------------------------

Result<void> RunIndex::read(const std::vector<std::string>& metric_keys,
                            const std::function<Result<void>(const View&)>& work) {
  TRY(refresh());
  for (int round = 0; round < kMostRounds; ++round) {
    TRY(ensure_columns(metric_keys));
    const std::shared_lock lock(mutex_);
    if (!lacks(metric_keys)) return work(view());
  }
  return Error::unavailable("the columns of these metrics do not fit into memory together",
                            "filter and order by fewer of them");
}

Result<void> RunIndex::load_rows(const Wanted& wanted) {
  return database_.read([&](db::Session& session) -> Result<void> {
    for (const auto& [slot, id] : wanted.rows) {
      if (const auto stored = TRY(whole_summaries(session, id))) {
        const std::unique_lock lock(mutex_);
        if (generation_ != wanted.generation) return {};  // who wanted it chooses again
        if (rows_[slot] != nullptr || put_stored(slot, *stored)) continue;
      }
      const auto row = TRY(read_summaries(session, id));
      const std::unique_lock lock(mutex_);
      if (generation_ != wanted.generation) return {};  // who wanted it chooses again
      if (rows_[slot] == nullptr) put_row(slot, row);
    }
    return {};
  });
}

Result<void> RunIndex::read_rows(
    const std::vector<std::string>& metric_keys,
    const std::function<Result<std::vector<uint32_t>>(const View&)>& choose,
    const std::function<Result<void>(const View&)>& work) {
  for (int round = 0; round < kMostRounds; ++round) {
    std::vector<uint32_t> chosen;
    Wanted wanted;
    TRY(read(metric_keys, [&](const View& view) -> Result<void> {
      wanted.generation = view.generation;
      chosen = TRY(choose(view));
      for (const uint32_t slot : chosen)
        if (view.rows[slot] == nullptr) wanted.rows.emplace_back(slot, view.runs[slot].id);
      return wanted.rows.empty() ? work(view) : Result<void>();
    }));
    if (wanted.rows.empty()) return {};
    {
      const std::unique_lock lock(mutex_);
      make_room();
    }
    TRY(load_rows(wanted));
    const std::shared_lock lock(mutex_);
    const bool there =
        generation_ == wanted.generation &&
        std::ranges::none_of(chosen, [&](uint32_t slot) { return rows_[slot] == nullptr; });
    if (there) return work(view());
  }
  return Error::unavailable("the metrics of these runs do not stay in memory",
                            "ask for fewer runs, or later");
}

}  // namespace hearth::control
