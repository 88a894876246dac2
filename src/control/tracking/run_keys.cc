// The metric keys of runs, counted without bringing every row into memory.
#include <algorithm>
#include <mutex>

#include "base/log.h"
#include "control/tracking/run_index.h"
#include "track/metric_column.h"

namespace hearth::control {
namespace {

void add(RunIndex::KeyUse& use, bool finite, double min, double max) {
  ++use.runs;
  if (!finite) return;
  use.min = std::min(use.min.value_or(min), min);
  use.max = std::max(use.max.value_or(max), max);
}

}  // namespace

// Those in memory and those that no block has.
Result<void> RunIndex::count_rows(db::Session& session, uint64_t generation,
                                  const std::vector<bool>& chosen, std::vector<bool>& done,
                                  const Count& count) {
  const auto counts = [&](uint32_t slot) { return slot < chosen.size() && chosen[slot]; };
  {
    const std::shared_lock lock(mutex_);
    if (generation_ != generation) return read_anew();
    done.resize(runs_.size());
    for (uint32_t slot = 0; slot < rows_.size(); ++slot) {
      if (rows_[slot] == nullptr) continue;
      done[slot] = true;
      if (!counts(slot)) continue;
      for (const auto& [key, s] : *rows_[slot]) count(words_.text(key), s.finite, s.min, s.max);
    }
  }
  return each_open_row(session, generation, done,
                       [&](uint32_t slot, const track::SummaryByKey& row) -> Result<void> {
                         if (!counts(slot)) return {};
                         track::SummaryByKey held;
                         for (const auto& [key, s] : bare(row, held))
                           count(key, s.finite, s.min, s.max);
                         return {};
                       });
}

// By their rows, which whoever shows these runs needs anyway.
Result<void> RunIndex::count_few(const std::vector<bool>& chosen, uint64_t generation,
                                 const Count& count) {
  std::vector<uint32_t> slots;
  const auto choose = [&](const View& view) -> Result<std::vector<uint32_t>> {
    if (view.generation != generation) return read_anew();
    slots.clear();
    for (uint32_t slot = 0; slot < chosen.size(); ++slot)
      if (chosen[slot] && view.runs[slot].there) slots.push_back(slot);
    return slots;
  };
  return read_rows({}, choose, [&](const View& view) -> Result<void> {
    for (const uint32_t slot : slots)
      for (const auto& [key, s] : *view.rows[slot])
        count(view.words.text(key), s.finite, s.min, s.max);
    return {};
  });
}

Result<RunIndex::KeyUses> RunIndex::metric_uses(
    const std::vector<bool>& chosen, uint64_t generation,
    const std::function<bool(std::string_view)>& wants) {
  KeyUses uses;
  const Count count = [&](std::string_view key, bool finite, double min, double max) {
    auto at = uses.find(key);
    if (at == uses.end()) {
      if (!wants(key)) return;
      at = uses.emplace(key, KeyUse()).first;
    }
    add(at->second, finite, min, max);
  };
  if (std::ranges::count(chosen, true) <= few_runs_) {
    TRY(count_few(chosen, generation, count));
    return uses;
  }
  TRY(refresh());
  TRY(database_.read([&](db::Session& session) -> Result<void> {
    std::vector<bool> done;
    TRY(count_rows(session, generation, chosen, done, count));
    const Blocks blocks = TRY(read_blocks(session, generation));
    const auto counts = [&](uint32_t slot) {
      return slot < chosen.size() && chosen[slot] && !done[slot];
    };
    return session.query("SELECT key, block, body FROM metric_columns ORDER BY key, block", {},
                         [&](const db::Row& row) -> Result<void> {
                           const auto block = blocks.find(row.integer(1));
                           const std::string_view key = row.text(0);
                           if (block == blocks.end() || !(uses.contains(key) || wants(key)))
                             return {};
                           const auto values = track::decode_column(row.bytes(2));
                           if (!values.ok()) {
                             log_error("metric column {}, block {}: {}; it is not counted", key,
                                       row.integer(1), values.error().detail);
                             return {};
                           }
                           for (const track::ColumnValue& v : *values)
                             if (v.place < block->second.size() && counts(block->second[v.place]))
                               count(key, v.finite, v.min, v.max);
                           return {};
                         });
  }));
  return uses;
}

}  // namespace hearth::control
