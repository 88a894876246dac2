// What goes on in the background: small rows merged, the journal cut, deleted runs collected.
#include <algorithm>
#include <utility>

#include "base/id.h"
#include "base/log.h"
#include "control/tracking/blocks.h"
#include "control/tracking/state.h"
#include "db/tables.h"

namespace hearth::control {

bool Tracking::State::is_busy() {
  const Time now = context.clock.steady();
  const double seconds = (now - counted_at).seconds();
  if (seconds < 1) return busy;  // rounds that follow each other at once say nothing new
  counted_at = now;
  const int64_t rows = std::exchange(rows_come, 0);
  busy = static_cast<double>(rows) > static_cast<double>(options.busy_rows) * seconds &&
         now - merged_at < options.most_put_off;
  if (!busy) merged_at = now;
  return busy;
}

Result<void> Tracking::State::count_left() {
  std::map<std::string, int64_t> left;
  TRY(context.database.read([&](db::Session& session) {
    left.clear();
    return session.query(
        "SELECT run_id, COUNT(*) FROM metric_batches WHERE kind = 'metric' GROUP BY run_id "
        "HAVING COUNT(*) >= $1 LIMIT $2",
        {kCompactRows, static_cast<int64_t>(kMostTidied)}, [&](const db::Row& row) -> Result<void> {
          left[std::string(row.text(0))] = row.integer(1);
          return {};
        });
  }));
  const std::lock_guard lock(mutex);
  for (const auto& [run_id, rows] : left) new_rows[run_id] += rows;
  return {};
}

Result<void> Tracking::State::compact_due() {
  std::vector<std::pair<std::string, int64_t>> due;
  std::vector<std::string> over;
  {
    const std::lock_guard lock(mutex);
    const int64_t least = is_busy() ? options.most_waiting_rows : kCompactRows;
    int64_t waiting = 0;
    std::erase_if(new_rows, [&](const auto& entry) {
      waiting += entry.second;
      if (entry.second < least) return false;
      if (!ended.contains(entry.first)) due.emplace_back(entry);
      return true;
    });
    rows_waiting.set(static_cast<double>(waiting));
    over.assign(ended.begin(), ended.end());
    ended.clear();
  }
  const auto make = [this] { return make_id(); };
  const auto go_on = [this] { return goes_on(); };
  // What comes meanwhile is counted anew.
  for (const auto& [run_id, rows] : due)
    if (goes_on())
      TRY(compact_run(context.database, run_id, MetricKind::metric, make, kCompactRows, go_on,
                      2 + rows / kCompactRows));
  return compact_runs(context.database, over, MetricKind::metric, make, go_on);
}

// What the index has taken in is of no use any more.
Result<void> Tracking::State::trim_journal() {
  const int64_t seen = index.seen();
  if (seen < 0) return {};
  int64_t first = 0;
  TRY(context.database.read([&](db::Session& session) {
    first = seen + 1;
    return session.query("SELECT seq FROM run_changes ORDER BY seq LIMIT 1", {},
                         [&](const db::Row& row) -> Result<void> {
                           first = row.integer(0);
                           return {};
                         });
  }));
  // Rarely and much rather than always and little.
  if (seen - first < kMostJournal / 2) return {};
  return context.database.write([&](db::Session& session) -> Result<void> {
    TRY(session.execute("DELETE FROM run_changes WHERE seq <= $1",
                        {std::min(seen, first + kMostJournal)}));
    return {};
  });
}

Result<void> Tracking::State::collect_deleted() {
  if (options.keep_deleted.micros == 0) return {};
  const Time before = context.clock.now() - options.keep_deleted;
  for (bool more = true; more;) {
    std::vector<std::string> collected;
    TRY(context.database.write([&](db::Session& session) -> Result<void> {
      collected.clear();
      const auto gone = TRY(db::Table<Run>::select(
          session, "WHERE deleted_at > 0 AND deleted_at < $1 ORDER BY deleted_at LIMIT $2",
          {before.micros, kMostCollected}));
      more = static_cast<int64_t>(gone.size()) == kMostCollected;
      for (const Run& run : gone) {
        for (const Artifact& artifact :
             TRY(db::Table<Artifact>::select(session, "WHERE run_id = $1", {run.id})))
          TRY(db::unpin(session, "artifact:" + artifact.id));
        for (const std::string_view table :
             {"artifacts", "metric_batches", "run_metrics", "run_inputs", "run_claims",
              "model_runs", "live_history"})
          TRY(session.execute(format("DELETE FROM {} WHERE run_id = $1", table), {run.id}));
        TRY(db::Table<Run>::remove(session, run.id));
        TRY(emit(session, context.clock, server_actor(), run.project, "run.collected", run.id,
                 run.version + 1));
        collected.push_back(run.id);
      }
      return {};
    }));
    // Or its history would be an empty one, where there is none.
    const std::lock_guard lock(mutex);
    for (const std::string& id : collected) known.erase(id);
  }
  return {};
}

// Whether to go on at once: the same runs again are damaged, and stay as they are.
void Tracking::State::note_open(const std::vector<std::string>& runs) {
  const std::lock_guard lock(mutex);
  more_open = runs.size() == kMostCompacted && runs != last_open;
  last_open = runs;
}

Result<void> Tracking::tidy() {
  const auto make_id = [this] { return state_->make_id(); };
  db::Database& database = state_->context.database;
  if (!state_->older_done) TRY(sum_up_older(database));
  state_->older_done = true;
  if (!state_->left_counted) TRY(state_->count_left());
  state_->left_counted = true;
  TRY(state_->index.load());  // so that the next search finds little to take in
  TRY(state_->compact_due());
  const auto open = TRY(compact_open(database, make_id, [this] { return state_->goes_on(); }));
  if (!state_->goes_on()) return {};
  state_->note_open(open);
  TRY(seal_blocks(database));
  if (state_->is_due_to_drop()) TRY(drop_blocks(database));
  TRY(state_->collect_deleted());
  return state_->trim_journal();
}

void Tracking::State::run(Tracking& tracking) {
  std::string last;
  const auto tell_once = [&](const Result<void>& done) {
    const std::string text = done.ok() ? "" : done.error().text();
    if (!text.empty() && text != last) log_error("tracking: {}", text);
    last = text;
  };
  tell_once(tracking.load());
  std::unique_lock lock(mutex);
  while (running) {
    lock.unlock();
    tell_once(tracking.tidy());
    lock.lock();
    // A search reads what is not merged run by run.
    if (std::exchange(more_open, false)) continue;
    wake.wait_for(lock, options.tidy_period.chrono(), [&] { return !running; });
  }
}

}  // namespace hearth::control
