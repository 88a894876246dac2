// Columns on disk. A block is a set of ended runs; for each key one row holds the values of all of
// them (track/metric_column.h), so that an order by one key among a thousand reads that key alone;
// for each experiment (or all, where they are many) one row counts who has which keys
// (track/metric_uses.h), so that a list of the keys of many runs reads no columns. A run that gets
// points after all leaves its block (its summary says block 0, which wins) and is taken into a
// later one; the greatest block that has a run is right.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "db/database.h"

namespace hearth::control {

constexpr int64_t kBlockRuns = 512;

// What an older server left: runs with packs and no summary. Once, then a setting says so.
Result<void> sum_up_older(db::Database& database);
Result<bool> is_summed_up(db::Session& session);
// Puts ended runs into blocks, while there are enough of them.
Result<void> seal_blocks(db::Database& database, int64_t block_runs = kBlockRuns);
// Blocks that most runs have left go, and those of an older server, which count no keys; their runs
// wait for new ones.
Result<void> drop_blocks(db::Database& database);
// The last rows of ended runs are merged, also those that a restart forgot. Gives the runs that it
// looked at.
constexpr size_t kMostCompacted = 200;
Result<std::vector<std::string>> compact_open(db::Database& database,
                                              const std::function<std::string()>& make_id,
                                              const std::function<bool()>& go_on);

}  // namespace hearth::control
