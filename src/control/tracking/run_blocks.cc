#include <algorithm>
#include <set>
#include <span>

#include "base/format.h"
#include "base/log.h"
#include "base/units.h"
#include "control/metric_points.h"
#include "control/tracking/blocks.h"
#include "control/tracking/run_index.h"
#include "db/tables.h"
#include "track/metric_column.h"
#include "track/metric_uses.h"

namespace hearth::control {
namespace {

constexpr std::string_view kSummedUp = "metric_summaries";
constexpr int64_t kMostBlocks = 50;  // in one round of upkeep
constexpr std::string_view kEnded = "('finished', 'failed', 'killed')";

// A block of more experiments has one count of keys for all of them.
constexpr size_t kMostCountedApart = 16;

struct Ended {
  std::string experiment_id, run_id;
};
struct Summed {
  std::string experiment_id, run_id;
  Bytes body;
};
// What a block says: encoded values by key, and who has which keys by experiment ("": by all).
struct BlockUses {
  int64_t runs = 0;
  track::KeyUses keys;
};
struct BlockRows {
  std::map<std::string, Bytes> columns;
  std::map<std::string, BlockUses> uses;
};

Result<std::vector<std::string>> texts(db::Session& session, std::string_view sql,
                                       std::initializer_list<db::Value> values) {
  std::vector<std::string> all;
  TRY(session.query(sql, values, [&](const db::Row& row) -> Result<void> {
    all.emplace_back(row.text(0));
    return {};
  }));
  return all;
}

Result<BlockRows> rows_of(const std::vector<Summed>& runs) {
  std::set<std::string> experiments;
  for (const Summed& run : runs) experiments.insert(run.experiment_id);
  const bool apart = experiments.size() <= kMostCountedApart && !experiments.contains("");
  BlockRows rows;
  std::map<std::string, std::vector<track::ColumnValue>> values;
  for (size_t place = 0; place < runs.size(); ++place) {
    const auto summaries = TRY(track::decode_summaries(runs[place].body));
    BlockUses& uses = rows.uses[apart ? runs[place].experiment_id : ""];
    ++uses.runs;
    for (const auto& [key, s] : without_marks(summaries)) {
      values[key].push_back({static_cast<uint32_t>(place), s.finite, s.last.value, s.min, s.max});
      uses.keys[key].add_run(s.finite, s.min, s.max);
    }
  }
  for (const auto& [key, column] : values) rows.columns[key] = track::encode_column(column);
  return rows;
}

Result<void> write_block(db::Session& session, const std::vector<Summed>& runs,
                         const BlockRows& rows) {
  const int64_t block = TRY(db::next_number(session, "metric_blocks"));
  std::vector<std::string> ids;
  for (const Summed& run : runs) {
    // Only as it was read.
    const int64_t taken = TRY(session.execute(
        "UPDATE run_metrics SET block = $1 WHERE run_id = $2 AND block = 0 AND body = $3",
        {block, run.run_id, run.body}));
    if (taken != 1) return Error::conflict("a run has got points meanwhile");
    ids.push_back(run.run_id);
  }
  const std::string text = format("{}", join(ids, "\n"));  // by place
  TRY(session.execute("INSERT INTO metric_blocks (block, body) VALUES ($1, $2)",
                      {block, Bytes(as_bytes(text).begin(), as_bytes(text).end())}));
  for (const auto& [key, body] : rows.columns)
    TRY(session.execute("INSERT INTO metric_columns (key, block, body) VALUES ($1, $2, $3)",
                        {key, block, body}));
  for (const auto& [experiment, uses] : rows.uses)
    TRY(session.execute(
        "INSERT INTO metric_uses (block, experiment_id, runs, body) VALUES ($1, $2, $3, $4)",
        {block, experiment, uses.runs, track::encode_uses(uses.keys)}));
  return {};
}

Result<void> drop_block(db::Session& session, int64_t block) {
  TRY(session.execute("UPDATE run_metrics SET block = 0 WHERE block = $1", {block}));
  for (const std::string_view table : {"metric_columns", "metric_uses", "metric_blocks"})
    TRY(session.execute(format("DELETE FROM {} WHERE block = $1", table), {block}));
  return {};
}

// Ended runs that no block has, if they may be as many as `least`; those of an experiment together:
// they have the same keys and are asked for together.
Result<std::vector<Ended>> waiting_runs(db::Session& session, int64_t least, int64_t most) {
  std::vector<Ended> runs;
  int64_t waiting = 0;
  TRY(session.query("SELECT COUNT(*) FROM run_metrics WHERE block = 0", {},
                    [&](const db::Row& row) -> Result<void> {
                      waiting = row.integer(0);
                      return {};
                    }));
  if (waiting < least) return runs;
  TRY(session.query(format("SELECT runs.experiment_id, runs.id FROM run_metrics JOIN runs ON "
                           "runs.id = run_metrics.run_id WHERE block = 0 AND runs.status IN {} "
                           "ORDER BY runs.experiment_id, runs.id LIMIT $1",
                           kEnded),
                    {most}, [&](const db::Row& row) -> Result<void> {
                      runs.push_back({std::string(row.text(0)), std::string(row.text(1))});
                      return {};
                    }));
  return runs;
}

// Those that still wait.
Result<std::vector<Summed>> summaries_of(db::Session& session, std::span<const Ended> runs) {
  std::vector<Summed> found;
  for (const Ended& run : runs)
    TRY(session.query("SELECT body FROM run_metrics WHERE run_id = $1 AND block = 0", {run.run_id},
                      [&](const db::Row& row) -> Result<void> {
                        const auto body = row.bytes(0);
                        found.push_back(
                            {run.experiment_id, run.run_id, Bytes(body.begin(), body.end())});
                        return {};
                      }));
  return found;
}

// Blocks of an older server, without counts of their keys: to be made anew.
Result<std::vector<int64_t>> older_blocks(db::Session& session) {
  std::vector<int64_t> blocks;
  TRY(session.query(
      "SELECT block FROM metric_blocks WHERE block NOT IN (SELECT block FROM metric_uses) LIMIT $1",
      {kMostBlocks}, [&](const db::Row& row) -> Result<void> {
        blocks.push_back(row.integer(0));
        return {};
      }));
  return blocks;
}

}  // namespace

Result<bool> is_summed_up(db::Session& session) {
  return TRY(db::get_setting(session, std::string(kSummedUp))).has_value();
}

Result<void> sum_up_older(db::Database& database) {
  bool done = false;
  std::vector<std::string> older;
  TRY(database.read([&](db::Session& session) -> Result<void> {
    done = TRY(is_summed_up(session));
    if (done) return {};
    older = TRY(texts(session,
                      "SELECT DISTINCT run_id FROM metric_batches WHERE kind = 'metric_pack' AND "
                      "run_id NOT IN (SELECT run_id FROM run_metrics)",
                      {}));
    return {};
  }));
  if (done) return {};
  for (const std::string& run_id : older) {
    track::SummaryByKey summaries;
    TRY(database.read([&](db::Session& session) -> Result<void> {
      summaries = TRY(read_summaries(session, run_id));
      return {};
    }));
    // Who was quicker (a compaction) has it right.
    TRY(database.write([&](db::Session& session) -> Result<void> {
      TRY(session.execute(
          "INSERT INTO run_metrics (run_id, keys, block, body) VALUES ($1, $2, 0, "
          "$3) ON CONFLICT (run_id) DO NOTHING",
          {run_id, static_cast<int64_t>(summaries.size()), track::encode_summaries(summaries)}));
      return {};
    }));
  }
  return database.write(
      [&](db::Session& session) { return db::set_setting(session, std::string(kSummedUp), "1"); });
}

Result<std::vector<std::string>> compact_open(db::Database& database,
                                              const std::function<std::string()>& make_id,
                                              const std::function<bool()>& go_on) {
  std::vector<std::string> open;
  TRY(database.read([&](db::Session& session) -> Result<void> {
    open = TRY(texts(session,
                     format("SELECT DISTINCT metric_batches.run_id FROM metric_batches JOIN runs "
                            "ON runs.id = metric_batches.run_id WHERE kind = 'metric' AND "
                            "runs.status IN {} LIMIT $1",
                            kEnded),
                     {static_cast<int64_t>(kMostCompacted)}));
    return {};
  }));
  TRY(compact_runs(database, open, MetricKind::metric, make_id, go_on));
  return open;
}

Result<void> seal_blocks(db::Database& database, int64_t block_runs) {
  std::vector<Ended> waiting;
  TRY(database.read([&](db::Session& session) -> Result<void> {
    waiting = TRY(waiting_runs(session, block_runs, kMostBlocks * block_runs));
    return {};
  }));
  const auto size = static_cast<size_t>(block_runs);
  for (size_t begin = 0; begin + size <= waiting.size(); begin += size) {
    std::vector<Summed> runs;
    TRY(database.read([&](db::Session& session) -> Result<void> {
      runs = TRY(summaries_of(session, std::span(waiting).subspan(begin, size)));
      return {};
    }));
    if (runs.empty()) return {};
    const auto rows = TRY(rows_of(runs));
    const auto done =
        database.write([&](db::Session& session) { return write_block(session, runs, rows); });
    if (!done.ok() && done.error().code == Code::conflict) return {};  // in the next round
    TRY(done);
  }
  return {};
}

Result<void> drop_blocks(db::Database& database) {
  std::map<int64_t, int64_t> runs, left;
  std::vector<int64_t> older;
  TRY(database.read([&](db::Session& session) -> Result<void> {
    runs.clear();
    left.clear();
    older = TRY(older_blocks(session));
    TRY(session.query(
        "SELECT block, body FROM metric_blocks", {}, [&](const db::Row& row) -> Result<void> {
          runs[row.integer(0)] = static_cast<int64_t>(split(as_text(row.bytes(1)), '\n').size());
          return {};
        }));
    if (runs.empty()) return {};
    return session.query("SELECT block, COUNT(*) FROM run_metrics WHERE block > 0 GROUP BY block",
                         {}, [&](const db::Row& row) -> Result<void> {
                           left[row.integer(0)] = row.integer(1);
                           return {};
                         });
  }));
  for (const auto& [block, count] : runs)
    if (left[block] * 2 < count || std::ranges::find(older, block) != older.end())
      TRY(database.write([&](db::Session& session) { return drop_block(session, block); }));
  return {};
}

}  // namespace hearth::control
