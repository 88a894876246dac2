#include "db/migrate.h"

#include "base/format.h"
#include "base/units.h"

namespace hearth::db {

namespace {

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

}  // namespace

std::vector<std::string> statements(std::string_view sql, Dialect dialect) {
  std::string text(sql);
  if (dialect == Dialect::sqlite) {
    text = replaced(std::move(text), " BYTES", " BLOB");
  } else {
    text = replaced(std::move(text), " BYTES", " BYTEA");
    text = replaced(std::move(text), " INTEGER PRIMARY KEY", " BIGINT PRIMARY KEY");
  }
  std::vector<std::string> found;
  std::string one;
  for (const std::string_view line : split(text, '\n')) {
    const std::string_view words = trim(line);
    if (words.empty() || words.starts_with("--")) continue;
    one.append(line).push_back('\n');
    if (!words.ends_with(';')) continue;
    one.erase(one.rfind(';'));
    found.push_back(std::exchange(one, {}));
  }
  if (!one.empty()) found.push_back(std::move(one));
  return found;
}

Result<void> make_version_table(Session& session) {
  TRY(
      session.execute("CREATE TABLE IF NOT EXISTS hearth_schema (version BIGINT PRIMARY KEY, "
                      "name TEXT NOT NULL, migrated_at BIGINT NOT NULL)"));
  return {};
}

Result<int> read_version(Session& session) {
  int64_t version = 0;
  TRY(session.query("SELECT coalesce(max(version), 0) FROM hearth_schema", {},
                    [&](const Row& row) -> Result<void> {
                      version = row.integer(0);
                      return {};
                    }));
  return static_cast<int>(version);
}

Result<void> migrate_tables(Session& session, int from, std::span<const Migration> list,
                            Dialect dialect, Time now) {
  for (const Migration& migration : list) {
    if (migration.version <= from) continue;
    for (const std::string& statement : statements(migration.sql, dialect))
      if (auto done = session.execute(statement); !done.ok())
        return std::move(done).error().with(
            format("migration {} ({})", migration.version, migration.what));
    TRY(session.execute(
        "INSERT INTO hearth_schema (version, name, migrated_at) VALUES ($1, $2, $3)",
        {int64_t{migration.version}, std::string(migration.what), now.micros}));
  }
  return {};
}

Result<void> check_not_newer(int found, std::span<const Migration> list, std::string_view where) {
  const int known = list.empty() ? 0 : list.back().version;
  if (found <= known) return {};
  return Error::conflict(
      format("{} has tables of version {}; this program knows version {} at most", where, found,
             known),
      format("run the program that wrote it or a newer one; {}.v{} may be a copy from before",
             where, known));
}

}  // namespace hearth::db
