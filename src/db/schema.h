// The tables, as SQL that SQLite and PostgreSQL both take. One entry per version, only ever
// appended.
#pragma once

#include <span>
#include <string_view>

namespace hearth::db {

struct Migration {
  int version;
  std::string_view what;
  std::string_view sql;  // statements; migrate.h names the words that change with the engine
};
std::span<const Migration> migrations();

}  // namespace hearth::db
