// The Database over one SQLite file; made by open_sqlite().
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "db/sqlite/checksum_vfs.h"
#include "db/sqlite/health.h"
#include "db/sqlite/place.h"
#include "db/sqlite/readers.h"
#include "db/sqlite/sqlite.h"
#include "db/sqlite/stats.h"
#include "db/sqlite/writer.h"

namespace hearth::db {

class SqliteDatabase : public Database {
 public:
  static Result<std::unique_ptr<SqliteDatabase>> open(const SqliteOptions& options);

  Result<void> write(const Work& work) override { return writer_->write(work); }
  Result<void> read(const Work& work) override { return readers_->read(work); }
  Result<void> snapshot(const std::string& path) override;
  Result<void> check() override;
  Result<void> migrate() override;
  int version() override { return version_.load(); }
  void refuse(const std::string& why) override { health_.refuse(why); }
  std::string refusing() override { return health_.text(); }

 private:
  SqliteDatabase(SqliteOptions options, OwnerLock lock);
  static std::string damage_note(const std::string& path);
  Result<void> start();
  Result<void> copy_to(const std::string& path);
  // Reads pages from `first` on (to an own bound); the next one, or 0 after the last.
  Result<uint32_t> check_pages(Connection& connection, uint32_t first);
  Result<void> check_structure();

  const SqliteOptions options_;
  const OwnerLock lock_;
  std::atomic<int> version_{0};
  Stats stats_;
  Health health_;
  std::unique_ptr<ChecksumVfs> vfs_;
  // In this order: readers close first, the writer checkpoints and closes after them.
  std::unique_ptr<Writer> writer_;
  std::unique_ptr<Readers> readers_;
};

}  // namespace hearth::db
