#include "control/records/audit.h"

#include <algorithm>
#include <charconv>

#include "base/format.h"
#include "control/access/access.h"
#include "db/tables.h"

namespace hearth::control {
namespace {

Result<int64_t> seq_of(const std::string& cursor) {
  int64_t seq = 0;
  const char* end = cursor.data() + cursor.size();
  const auto parsed = std::from_chars(cursor.data(), end, seq);
  if (parsed.ec == std::errc() && parsed.ptr == end && seq > 0) return seq;
  return Error::invalid(format("'{}' is no cursor of ours", cursor),
                        "take next_cursor of the page before, as it is");
}

// The first seq at or behind that time. Events bear the times in their order, so it is sought by
// halving; where a clock was set back, some beside the edge may be missed.
Result<int64_t> first_at(db::Session& session, Time time, int64_t low, int64_t high) {
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    std::optional<int64_t> there;
    TRY(session.query("SELECT time FROM events WHERE seq >= $1 ORDER BY seq LIMIT 1", {middle},
                      [&](const db::Row& row) -> Result<void> {
                        there = row.integer(0);
                        return {};
                      }));
    if (there && *there < time.micros)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

struct Where {
  std::string sql;
  std::vector<db::Value> values;
  std::string with(db::Value value) {
    values.push_back(std::move(value));
    return format("${}", values.size());
  }
  std::string with(const std::vector<std::string>& names) {
    std::string places;
    for (const std::string& name : names) places += (places.empty() ? "" : ", ") + with(name);
    return "(" + places + ")";
  }
};

// A pattern for LIKE in which nothing of the text is a sign.
std::string like(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '%' || c == '_' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

Where where_of(const AuditQuery& query, int64_t from, int64_t before) {
  Where where;
  where.sql = format("seq >= {} AND seq < {}", where.with(from), where.with(before));
  if (query.since) where.sql += " AND time >= " + where.with(query.since->micros);
  if (query.until) where.sql += " AND time < " + where.with(query.until->micros);
  if (!query.project.empty()) where.sql += " AND project = " + where.with(query.project);
  if (!query.thing.empty()) where.sql += " AND id = " + where.with(query.thing);
  if (query.kind.find('.') != std::string::npos)
    where.sql += " AND kind = " + where.with(query.kind);
  else if (!query.kind.empty())
    where.sql += " AND kind LIKE " + where.with(like(query.kind) + ".%") + R"( ESCAPE '\')";
  // The actor stands in the body alone; what this lets through is looked at again.
  if (!query.actor.empty())
    where.sql += " AND body LIKE " + where.with("%" + like(json_quote(query.actor)) + "%") +
                 R"( ESCAPE '\')";
  return where;
}

bool is_by(const Event& event, const std::string& actor) {
  return actor.empty() || event.actor.name == actor ||
         (actor == "server" && event.actor.kind == "server");
}

}  // namespace

Result<AuditPage> audit(Context& context, Access& access, const Identity& who,
                        const AuditQuery& query) {
  if (!query.project.empty()) TRY(access.require(who, query.project, Grade::viewer));
  const auto visible = TRY(access.visible_projects(who));
  AuditPage page;
  if (visible && visible->empty()) return page;
  const int64_t limit = std::clamp(query.limit, int64_t{1}, kMostAudited);
  TRY(context.database.read([&](db::Session& session) -> Result<void> {
    page = {};
    int64_t before = TRY(db::last_event_seq(session)) + 1, least = 1;
    if (query.until) before = TRY(first_at(session, *query.until, 1, before));
    if (query.since) least = TRY(first_at(session, *query.since, 1, before));
    if (!query.cursor.empty()) before = std::min(before, TRY(seq_of(query.cursor)));
    const int64_t from = std::max(least, before - kAuditLooks);
    Where where = where_of(query, from, before);
    if (visible && query.project.empty()) where.sql += " AND project IN " + where.with(*visible);
    int64_t rows = 0, last = 0;
    TRY(session.query(format("SELECT seq, body FROM events WHERE {} ORDER BY seq DESC LIMIT {}",
                             where.sql, where.with(limit)),
                      where.values, [&](const db::Row& row) -> Result<void> {
                        ++rows;
                        last = row.integer(0);
                        auto event = TRY(from_json<Event>(row.text(1)));
                        if (is_by(event, query.actor)) page.items.push_back(std::move(event));
                        return {};
                      }));
    const int64_t seen = rows == limit ? last : from;
    if (seen > least) page.next_cursor = std::to_string(seen);
    return {};
  }));
  return page;
}

}  // namespace hearth::control
