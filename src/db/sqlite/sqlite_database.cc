#include "db/sqlite/sqlite_database.h"

#include <cerrno>
#include <cstdio>

#include <sqlite3.h>
#include <unistd.h>

#include "base/format.h"

namespace hearth::db {
namespace {

// "Hrth": file(1) and `open` tell by it that the file is ours.
constexpr int64_t kApplicationId = 0x48727468;

// A file of somebody else's is left as it is.
Result<void> check_ours(Connection& connection, const std::string& path) {
  const int64_t id = TRY(connection.pragma("PRAGMA application_id"));
  if (id == kApplicationId) return {};
  if (id != 0 || TRY(connection.pragma("SELECT count(*) FROM sqlite_schema")) != 0)
    return Error::conflict(path + " is a database of another program",
                           "give another directory (--data DIR)");
  return connection.control(format("PRAGMA application_id = {}", kApplicationId));
}

Result<void> in_transaction(Connection& connection, const Work& work) {
  TRY(connection.control("BEGIN IMMEDIATE"));
  auto done = work(connection);
  if (done.ok()) done = connection.control("COMMIT");
  if (!done.ok() && connection.in_transaction()) ignore(connection.control("ROLLBACK"));
  return done;
}

}  // namespace

Result<std::unique_ptr<Database>> open_sqlite(const SqliteOptions& options) {
  std::unique_ptr<Database> database = TRY(SqliteDatabase::open(options));
  return database;
}

SqliteDatabase::SqliteDatabase(SqliteOptions options, OwnerLock lock)
    : options_(std::move(options)), lock_(std::move(lock)), health_(options_.path) {}

Result<std::unique_ptr<SqliteDatabase>> SqliteDatabase::open(const SqliteOptions& options) {
  TRY(check_place(folder_of(options.path)));
  OwnerLock lock = TRY(OwnerLock::take(options.path));
  TRY(make_file(options.path));
  std::unique_ptr<SqliteDatabase> database(new SqliteDatabase(options, std::move(lock)));
  TRY(database->start());
  return database;
}

Result<void> SqliteDatabase::start() {
  auto connection = TRY(Connection::open(options_.path, Access::write, options_.base_vfs, health_));
  TRY(check_ours(*connection, options_.path));
  // What the last process left in the WAL goes into the file and is synced anew: after a failed
  // sync the WAL may be whole in the kernel's memory alone.
  TRY(connection->checkpoint(Checkpoint::truncate));
  TRY(in_transaction(*connection, [&](Session& session) -> Result<void> {
    TRY(make_version_table(session));
    version_ = TRY(read_version(session));
    return {};
  }));
  readers_ = std::make_unique<Readers>(options_.path, options_.base_vfs, options_.readers, health_,
                                       stats_);
  writer_ = std::make_unique<Writer>(std::move(connection), health_, stats_, *options_.clock,
                                     options_.checkpoint_pages);
  return {};
}

Result<void> SqliteDatabase::snapshot(const std::string& path) {
  if (::access(path.c_str(), F_OK) == 0) return Error::of(Code::exists, path + " is there already");
  const std::string partial = path + ".partial";
  ::unlink(partial.c_str());
  auto copied = copy_to(partial);
  if (copied.ok() && ::rename(partial.c_str(), path.c_str()) != 0)
    copied = Error::from_errno("rename " + partial, errno);
  if (!copied.ok()) ::unlink(partial.c_str());
  TRY(std::move(copied));
  return sync_folder(folder_of(path));
}

Result<void> SqliteDatabase::copy_to(const std::string& path) {
  TRY(make_file(path));
  Health health(path);  // of the copy: what fails there says nothing about the database
  auto target = TRY(Connection::open(path, Access::copy, options_.base_vfs, health));
  auto source = TRY(Connection::open(options_.path, Access::read, options_.base_vfs, health_));
  sqlite3_backup* backup = sqlite3_backup_init(target->handle(), "main", source->handle(), "main");
  if (backup == nullptr) return target->error("copy");
  sqlite3_backup_step(backup, -1);
  const int code = sqlite3_backup_finish(backup);
  if (health_.is_damaged()) return health_.damage_error();
  if (code != SQLITE_OK) return target->error("copy");
  target.reset();
  return sync_file(path);
}

Result<void> SqliteDatabase::check() {
  return read([&](Session& session) -> Result<void> {
    return session.query("PRAGMA integrity_check(1)", {}, [&](const Row& row) -> Result<void> {
      if (row.text(0) == "ok") return {};
      health_.damaged(std::string(row.text(0)));
      return health_.damage_error();
    });
  });
}

Result<void> SqliteDatabase::migrate() {
  const int found = version_;
  TRY(check_not_newer(found, options_.migrations, options_.path));
  if (options_.migrations.empty() || options_.migrations.back().version == found) return {};
  if (found > 0) {
    const std::string copy = format("{}.v{}", options_.path, found);
    ::unlink(copy.c_str());  // of a migration that did not get through
    TRY(snapshot(copy));
  }
  TRY(write([&](Session& session) -> Result<void> {
    return migrate_tables(session, found, options_.migrations, Dialect::sqlite,
                          options_.clock->now());
  }));
  version_ = options_.migrations.back().version;
  return {};
}

}  // namespace hearth::db
