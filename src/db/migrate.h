// Brings the tables to a version of the list in schema.h: forward only, in one transaction.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "db/database.h"
#include "db/schema.h"

namespace hearth::db {

enum class Dialect { sqlite, postgres };
// The statements of a migration in the words of one engine. They end with ";" at the end of a line;
// BYTES becomes the type of bytes, and INTEGER PRIMARY KEY (SQLite's row number) 64 bits wide.
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
