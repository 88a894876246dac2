// The versions of the tables: forward only, one list, portable SQL.
//
// A migration is never changed once a release has it: add the next. Its text may use {blob} (BLOB
// or BYTEA) and {without_rowid} (a clause of SQLite's, nothing in PostgreSQL). Statements end with
// ";" at the end of a line.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "db/database.h"

namespace hearth::db {

struct Migration {
  int version = 0;  // 1, 2, 3... without a gap
  std::string_view name;
  std::string_view sql;
};

// All of them, oldest first.
std::span<const Migration> migrations();

enum class Dialect { sqlite, postgres };
// The statements of a migration in the words of one engine.
std::vector<std::string> statements(std::string_view sql, Dialect dialect);

// The table `hearth_schema` holds one row a migration. Makes it when it is not there.
Result<void> make_version_table(Session& session);
Result<int> read_version(Session& session);
// Takes the tables from `from` to the newest of `list`; one transaction.
Result<void> migrate_tables(Session& session, int from, std::span<const Migration> list,
                            Dialect dialect, Time now);
// conflict when the tables are newer than `list`. `where` names the database.
Result<void> check_not_newer(int found, std::span<const Migration> list, std::string_view where);

}  // namespace hearth::db
