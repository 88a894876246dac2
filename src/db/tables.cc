#include "db/tables.h"

namespace hearth::db {

// The counter's row is locked until the commit, so numbers follow the order of commits, and what is
// rolled back leaves no gap.
Result<int64_t> append_event(Session& session, const Event& event) {
  Event stored = event;
  stored.seq = TRY(next_number(session, "events"));
  TRY(session.execute(
      "INSERT INTO events (seq, time, project, kind, id, body) VALUES ($1, $2, $3, $4, $5, $6)",
      {stored.seq, event.time.micros, event.project, event.kind, event.id, to_json(stored)}));
  return stored.seq;
}

Result<std::vector<Event>> events_since(Session& session, int64_t seq, int64_t limit) {
  std::vector<Event> events;
  TRY(session.query("SELECT body FROM events WHERE seq > $1 ORDER BY seq LIMIT $2", {seq, limit},
                    [&](const Row& row) -> Result<void> {
                      events.push_back(TRY(from_json<Event>(row.text(0))));
                      return {};
                    }));
  return events;
}

namespace {
Result<int64_t> one_integer(Session& session, std::string_view sql,
                            std::initializer_list<Value> values) {
  int64_t number = 0;
  TRY(session.query(sql, values, [&](const Row& row) -> Result<void> {
    number = row.integer(0);
    return {};
  }));
  return number;
}
}  // namespace

Result<int64_t> last_event_seq(Session& session) {
  return one_integer(session, "SELECT value FROM counters WHERE name = 'events'", {});
}

Result<void> note_run_change(Session& session, const std::string& run_id,
                             const std::string& batch) {
  const int64_t seq = TRY(next_number(session, "run_changes"));
  TRY(session.execute("INSERT INTO run_changes (seq, run_id, batch) VALUES ($1, $2, $3)",
                      {seq, run_id, batch}));
  return {};
}

Result<int64_t> last_run_change(Session& session) {
  return one_integer(session, "SELECT value FROM counters WHERE name = 'run_changes'", {});
}

Result<int64_t> next_number(Session& session, const std::string& counter) {
  return one_integer(session,
                     "INSERT INTO counters (name, value) VALUES ($1, 1) "
                     "ON CONFLICT (name) DO UPDATE SET value = counters.value + 1 RETURNING value",
                     {counter});
}

Result<std::optional<std::string>> get_setting(Session& session, const std::string& key) {
  std::optional<std::string> value;
  TRY(session.query("SELECT value FROM settings WHERE key = $1", {key},
                    [&](const Row& row) -> Result<void> {
                      value = std::string(row.text(0));
                      return {};
                    }));
  return value;
}

Result<void> set_setting(Session& session, const std::string& key, const std::string& value) {
  TRY(
      session.execute("INSERT INTO settings (key, value) VALUES ($1, $2) "
                      "ON CONFLICT (key) DO UPDATE SET value = excluded.value",
                      {key, value}));
  return {};
}

Result<std::optional<Replay>> find_replay(Session& session, const std::string& owner,
                                          const std::string& key) {
  std::optional<Replay> replay;
  TRY(session.query(
      "SELECT fingerprint, status, body FROM idempotency WHERE owner = $1 AND key = $2",
      {owner, key}, [&](const Row& row) -> Result<void> {
        replay = Replay{std::string(row.text(0)), row.integer(1), std::string(row.text(2))};
        return {};
      }));
  return replay;
}

Result<void> save_replay(Session& session, const std::string& owner, const std::string& key,
                         const Replay& replay, Time now) {
  TRY(
      session.execute("INSERT INTO idempotency (owner, key, fingerprint, status, body, created_at) "
                      "VALUES ($1, $2, $3, $4, $5, $6)",
                      {owner, key, replay.fingerprint, replay.status, replay.body, now.micros}));
  return {};
}

Result<void> pin(Session& session, const std::string& digest, const std::string& holder, Time now) {
  TRY(
      session.execute("INSERT INTO pins (digest, holder, created_at) VALUES ($1, $2, $3) "
                      "ON CONFLICT (digest, holder) DO UPDATE SET created_at = excluded.created_at",
                      {digest, holder, now.micros}));
  TRY(session.execute("DELETE FROM dying_objects WHERE digest = $1", {digest}));
  return {};
}

Result<void> unpin(Session& session, const std::string& holder) {
  TRY(session.execute("DELETE FROM pins WHERE holder = $1", {holder}));
  return {};
}

Result<bool> pinned(Session& session, const std::string& digest) {
  return TRY(one_integer(session, "SELECT COUNT(*) FROM pins WHERE digest = $1", {digest})) > 0;
}

}  // namespace hearth::db
