// The metric keys of runs, counted without bringing every row into memory.
#include <algorithm>
#include <mutex>

#include "base/log.h"
#include "control/tracking/run_index.h"
#include "track/metric_column.h"

namespace hearth::control {
// Of the runs whose columns a block holds: those that are asked for and still belong to it.
struct RunIndex::BlockPart {
  std::vector<uint8_t> counted;       // by place
  std::vector<uint32_t> experiments;  // words, by place

  int64_t runs_of(uint32_t experiment, bool all) const {
    int64_t runs = 0;
    for (size_t place = 0; place < counted.size(); ++place)
      runs +=
          static_cast<int64_t>(counted[place] != 0 && (all || experiments[place] == experiment));
    return runs;
  }
  void take_out(uint32_t experiment, bool all) {
    for (size_t place = 0; place < counted.size(); ++place)
      if (all || experiments[place] == experiment) counted[place] = 0;
  }
};

// Those in memory that no block has, and all others that none has.
Result<void> RunIndex::count_rows(db::Session& session, uint64_t generation,
                                  const std::vector<bool>& chosen,
                                  const std::vector<int64_t>& owner, std::vector<bool>& done,
                                  const Count& count) {
  const auto counts = [&](uint32_t slot) { return slot < chosen.size() && chosen[slot]; };
  {
    const std::shared_lock lock(mutex_);
    if (generation_ != generation) return read_anew();
    done.resize(runs_.size());
    for (uint32_t slot = 0; slot < rows_.size(); ++slot) {
      if (rows_[slot] == nullptr || (slot < owner.size() && owner[slot] != 0)) continue;
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

Result<RunIndex::BlockParts> RunIndex::parts_of(const Blocks& blocks, uint64_t generation,
                                                const std::vector<int64_t>& owner,
                                                const std::vector<bool>& chosen,
                                                const std::vector<bool>& done) {
  const std::shared_lock lock(mutex_);
  if (generation_ != generation) return read_anew();
  BlockParts parts;
  for (const auto& [block, slots] : blocks) {
    BlockPart& part = parts[block];
    part.counted.resize(slots.size());
    part.experiments.resize(slots.size(), Words::kNone);
    for (size_t place = 0; place < slots.size(); ++place) {
      const uint32_t slot = slots[place];
      if (slot == Words::kNone || slot >= chosen.size()) continue;
      part.experiments[place] = runs_[slot].experiment;
      part.counted[place] =
          static_cast<uint8_t>(chosen[slot] && !done[slot] && owner[slot] == block);
    }
  }
  return parts;
}

// By what the blocks say of whole experiments.
Result<void> RunIndex::count_whole(db::Session& session, uint64_t generation, BlockParts& parts,
                                   KeyUses& uses,
                                   const std::function<bool(std::string_view)>& wants) {
  return session.query("SELECT block, experiment_id, runs, body FROM metric_uses", {},
                       [&](const db::Row& row) -> Result<void> {
                         const auto at = parts.find(row.integer(0));
                         if (at == parts.end()) return {};
                         BlockPart& part = at->second;
                         const bool all = row.text(1).empty();
                         uint32_t experiment = Words::kNone;
                         if (!all) {
                           const std::shared_lock lock(mutex_);
                           if (generation_ != generation) return read_anew();
                           experiment = words_.find(row.text(1));
                         }
                         if (part.runs_of(experiment, all) != row.integer(2)) return {};
                         const auto said = track::decode_uses(row.bytes(3));
                         if (!said.ok()) {
                           log_error("block {}: {}; its columns are read in their place", at->first,
                                     said.error().detail);
                           return {};
                         }
                         part.take_out(experiment, all);
                         for (const auto& [key, use] : *said)
                           if (wants(key)) uses[key].add(use);
                         return {};
                       });
}

// What is left, by the columns.
Result<void> RunIndex::count_parts(db::Session& session, const BlockParts& parts, KeyUses& uses,
                                   const std::function<bool(std::string_view)>& wants) {
  for (const auto& [block, part] : parts) {
    if (std::ranges::count(part.counted, 0) == std::ssize(part.counted)) continue;
    TRY(session.query("SELECT key, body FROM metric_columns WHERE block = $1", {block},
                      [&](const db::Row& row) -> Result<void> {
                        const std::string_view key = row.text(0);
                        if (!wants(key)) return {};
                        const auto use = track::use_of_column(row.bytes(1), part.counted);
                        if (!use.ok())
                          log_error("metric column {}, block {}: {}; it is not counted", key, block,
                                    use.error().detail);
                        else if (use->runs > 0)
                          uses[std::string(key)].add(*use);
                        return {};
                      }));
  }
  return {};
}

Result<RunIndex::KeyUses> RunIndex::metric_uses(
    const std::vector<bool>& chosen, uint64_t generation,
    const std::function<bool(std::string_view)>& wants) {
  KeyUses uses;
  const Count count = [&](std::string_view key, bool finite, double min, double max) {
    auto at = uses.find(key);
    if (at == uses.end()) {
      if (!wants(key)) return;
      at = uses.emplace(key, track::KeyUse()).first;
    }
    at->second.add_run(finite, min, max);
  };
  if (std::ranges::count(chosen, true) <= few_runs_) {
    TRY(count_few(chosen, generation, count));
    return uses;
  }
  TRY(refresh());
  TRY(database_.read([&](db::Session& session) -> Result<void> {
    uses.clear();
    const Blocks blocks = TRY(read_blocks(session, generation));
    std::vector<int64_t> owner(chosen.size());  // the greatest block that has a run is right
    for (const auto& [block, slots] : blocks)
      for (const uint32_t slot : slots)
        if (slot < owner.size()) owner[slot] = block;
    std::vector<bool> done;
    TRY(count_rows(session, generation, chosen, owner, done, count));
    BlockParts parts = TRY(parts_of(blocks, generation, owner, chosen, done));
    TRY(count_whole(session, generation, parts, uses, wants));
    return count_parts(session, parts, uses, wants);
  }));
  return uses;
}

}  // namespace hearth::control
