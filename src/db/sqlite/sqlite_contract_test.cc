#include "db/sqlite/sqlite.h"
#include "db/sqlite/test_folder.h"
#include "tests/contract/database_contract.h"

namespace hearth::db {
namespace {

DatabaseFactory sqlite_factory() {
  // The folders live as long as the test program's parameters.
  auto folder = std::make_shared<TestFolder>();
  auto next = std::make_shared<int>(0);
  return {.name = "sqlite",
          .dialect = Dialect::sqlite,
          .fresh = [=] { return folder->file(format("{}.db", ++*next)); },
          .open =
              [](const std::string& id, std::span<const Migration> list) {
                return open_sqlite({.path = id, .migrations = list});
              },
          .destroy = [=](const std::string& id) { folder->remove(id); }};
}

INSTANTIATE_TEST_SUITE_P(Sqlite, DatabaseContract, ::testing::Values(sqlite_factory()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace hearth::db
