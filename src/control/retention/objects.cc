// Objects that nothing pins, in two steps.
#include "base/format.h"
#include "base/log.h"
#include "control/retention/sweep.h"
#include "db/tables.h"

namespace hearth::control {
namespace {

Result<bool> exists(db::Session& session, std::string_view sql, const std::string& digest) {
  bool found = false;
  TRY(session.query(sql, {digest}, [&](const db::Row&) -> Result<void> {
    found = true;
    return {};
  }));
  return found;
}

Result<bool> is_dying(db::Session& session, const std::string& digest) {
  return exists(session, "SELECT 1 FROM dying_objects WHERE digest = $1", digest);
}

// Most objects are pinned, so they are only looked at; the few that are not are written.
Result<void> mark(const Context& context, const std::vector<std::string>& digests, Time now) {
  std::vector<std::string> loose;
  TRY(context.database.read([&](db::Session& session) -> Result<void> {
    loose.clear();
    for (const std::string& digest : digests)
      if (!TRY(db::pinned(session, digest)) && !TRY(is_dying(session, digest)))
        loose.push_back(digest);
    return {};
  }));
  if (loose.empty()) return {};
  return context.database.write([&](db::Session& session) -> Result<void> {
    for (const std::string& digest : loose) {
      if (TRY(db::pinned(session, digest))) continue;
      TRY(
          session.execute("INSERT INTO dying_objects (digest, since) VALUES ($1, $2) ON CONFLICT "
                          "(digest) DO NOTHING",
                          {digest, now.micros}));
    }
    return {};
  });
}

// One piece. The removal stands inside the transaction: a pin that commits before it is seen, one
// that comes after finds the object gone. Should the commit fail, the mark alone stays.
Result<void> remove_piece(const Context& context, Time marked_before, int64_t& gone) {
  return context.database.write([&](db::Session& session) -> Result<void> {
    std::vector<std::string> dying;
    TRY(session.query("SELECT digest FROM dying_objects WHERE since <= $1 ORDER BY since LIMIT $2",
                      {marked_before.micros, Retention::kMostObjects},
                      [&](const db::Row& row) -> Result<void> {
                        dying.emplace_back(row.text(0));
                        return {};
                      }));
    gone = static_cast<int64_t>(dying.size());
    for (const std::string& digest : dying) {
      if (!TRY(db::pinned(session, digest))) {
        const auto removed = context.objects.remove(digest);
        if (!removed.ok() && removed.error().code != Code::not_found) return removed.error();
      }
      TRY(session.execute("DELETE FROM dying_objects WHERE digest = $1", {digest}));
    }
    return {};
  });
}

}  // namespace

Result<void> mark_dying(const Context& context, Time now) {
  std::vector<std::string> piece;
  TRY(context.objects.list([&](const objects::Stored& stored) -> Result<void> {
    piece.push_back(stored.digest);
    if (static_cast<int64_t>(piece.size()) < Retention::kMostRows) return {};
    return mark(context, std::exchange(piece, {}), now);
  }));
  return mark(context, piece, now);
}

Result<void> remove_dying(const Context& context, CollectionGate& gate, Time marked_before) {
  for (int round = 0; round < Retention::kMostRounds; ++round) {
    if (!gate.begin_removal()) break;  // held: next time
    int64_t gone = 0;
    const auto removed = remove_piece(context, marked_before, gone);
    gate.end_removal();
    TRY(removed);
    if (gone < Retention::kMostObjects) break;
  }
  return {};
}

}  // namespace hearth::control
