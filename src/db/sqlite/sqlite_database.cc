#include "db/sqlite/sqlite_database.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <vector>

#include <sqlite3.h>
#include <unistd.h>

#include "base/format.h"
#include "db/sqlite/pages.h"
#include "db/sqlite/wal.h"

namespace hearth::db {
namespace {

// "Hrth": file(1) and `open` tell by it that the file is ours.
constexpr int64_t kApplicationId = 0x48727468;
constexpr size_t kReservedAt = 20;     // in the header: bytes of each page that SQLite leaves alone
constexpr uint32_t kCheckPages = 256;  // checked at a time

// A file of somebody else's is left as it is.
Result<void> check_ours(Connection& connection, const std::string& path) {
  const int64_t id = TRY(connection.pragma("PRAGMA application_id"));
  if (id == kApplicationId) return {};
  if (id != 0 || TRY(connection.pragma("SELECT count(*) FROM sqlite_schema")) != 0)
    return Error::conflict(path + " is a database of another program",
                           "give another directory (--data DIR)");
  return connection.control(format("PRAGMA application_id = {}", kApplicationId));
}

// A file that SQLite would open, and we would call damaged, or the other way round. What a crash
// may leave (an empty file, a journal to roll back, a torn page that the WAL has whole) is left to
// SQLite.
Result<void> check_first_page(const std::string& path) {
  std::array<char, kPageBytes> page{};
  std::ifstream in(path, std::ios::binary);
  if (!in) return Error::from_errno(path, errno);
  in.read(page.data(), page.size());
  if (in.gcount() == 0 || ::access((path + "-journal").c_str(), F_OK) == 0) return {};
  const std::string_view text(page.data(), page.size());
  if (page_fault(as_bytes(text), 1).empty()) return {};
  if (!text.starts_with(std::string_view("SQLite format 3\0", 16)))
    return Error::internal(path + " is not a database, or its first page is damaged",
                           "restore the last backup (hearth restore), or give another directory");
  if (text[kReservedAt] != 0) return {};
  return Error::conflict(path + " is a database of another program",
                         "give another directory (--data DIR)");
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

// Stands beside a database that was found damaged.
std::string SqliteDatabase::damage_note(const std::string& path) {
  return path + ".damaged";
}

SqliteDatabase::SqliteDatabase(SqliteOptions options, OwnerLock lock)
    : options_(std::move(options)),
      lock_(std::move(lock)),
      health_(options_.path, options_.damage_advice, damage_note(options_.path)) {}

Result<std::unique_ptr<SqliteDatabase>> SqliteDatabase::open(const SqliteOptions& options) {
  TRY(check_place(folder_of(options.path)));
  OwnerLock lock = TRY(OwnerLock::take(options.path));
  TRY(make_file(options.path));
  std::unique_ptr<SqliteDatabase> database(new SqliteDatabase(options, std::move(lock)));
  TRY(database->start());
  return database;
}

Result<void> SqliteDatabase::start() {
  TRY(check_first_page(options_.path));
  TRY(check_wal(options_.path + "-wal"));
  vfs_ = std::make_unique<ChecksumVfs>(options_.base_vfs, health_, stats_, *options_.clock);
  auto connection = TRY(Connection::open(options_.path, Access::write, vfs_->name(), health_));
  TRY(check_ours(*connection, options_.path));
  // What the last process left in the WAL goes into the file and is synced anew: after a failed
  // sync the WAL may be whole in the kernel's memory alone.
  TRY(connection->checkpoint(Checkpoint::truncate));
  TRY(in_transaction(*connection, [&](Session& session) -> Result<void> {
    TRY(make_version_table(session));
    version_ = TRY(read_version(session));
    return {};
  }));
  readers_ =
      std::make_unique<Readers>(options_.path, vfs_->name(), options_.readers, health_, stats_);
  writer_ = std::make_unique<Writer>(std::move(connection), health_, stats_, *options_.clock,
                                     options_.checkpoint_pages);
  // Damage that was found before is found again before anything is written; unless it was mended.
  const std::string note = damage_note(options_.path);
  if (::access(note.c_str(), F_OK) == 0 && check().ok()) ::unlink(note.c_str());
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
  const ChecksumVfs vfs(options_.base_vfs, health, stats_, *options_.clock);
  auto target = TRY(Connection::open(path, Access::copy, vfs.name(), health));
  auto source = TRY(Connection::open(options_.path, Access::read, vfs_->name(), health_));
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
  // On the writer's thread, where no checkpoint changes a page meanwhile; a piece at a time, so
  // that writes go on between them.
  for (uint32_t next = 1; next != 0;)
    TRY(writer_->alone([&](Connection& connection) -> Result<void> {
      next = TRY(check_pages(connection, next));
      return {};
    }));
  auto structure = check_structure();
  return health_.is_damaged() ? health_.damage_error() : std::move(structure);
}

Result<uint32_t> SqliteDatabase::check_pages(Connection& connection, uint32_t first) {
  sqlite3_file* file = nullptr;
  sqlite3_int64 size = 0;
  sqlite3_file_control(connection.handle(), "main", SQLITE_FCNTL_FILE_POINTER, &file);
  if (file->pMethods->xFileSize(file, &size) != SQLITE_OK) return connection.error("size");
  const auto last = static_cast<uint32_t>((size + kPageBytes - 1) / kPageBytes);
  std::array<std::byte, kPageBytes> page;
  for (uint32_t number = first; number <= last; ++number) {
    if (number - first == kCheckPages) return number;
    if (number == kLockPage) continue;
    // The VFS tells health_ of what it finds.
    file->pMethods->xRead(file, page.data(), kPageBytes, int64_t{number - 1} * kPageBytes);
  }
  return 0;
}

Result<void> SqliteDatabase::check_structure() {
  std::vector<std::string> tables;
  TRY(read([&](Session& session) {
    return session.query("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name", {},
                         [&](const Row& row) -> Result<void> {
                           tables.emplace_back(row.text(0));
                           return {};
                         });
  }));
  for (const std::string& table : tables) {
    // A wrong structure is a row that says so, a damaged page an error: both name the table.
    std::string fault;
    const auto checked = read([&](Session& session) {
      return session.query(format("PRAGMA integrity_check('{}')", table), {},
                           [&](const Row& row) -> Result<void> {
                             if (row.text(0) != "ok" && fault.empty()) fault = row.text(0);
                             return {};
                           });
    });
    if (checked.ok() && fault.empty()) continue;
    std::ranges::replace(fault, '\n', ';');
    const bool page_is_named = health_.is_damaged();
    health_.damaged(page_is_named ? format("table {}", table)
                                  : format("table {} ({})", table, fault));
  }
  return {};
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
