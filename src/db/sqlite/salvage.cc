// What is whole of a damaged database, copied row by row into a new one.
//
// Rows are read in the order of their rowids. Where that meets damage, the next row that can be
// read is searched for: from the damaged page on reads fail for all rowids of the page and succeed
// after it, so a few dozen looks find the end of the hole. Which rows lay in it an index tells, as
// those are other pages.
#include <array>
#include <filesystem>
#include <fstream>
#include <limits>

#include "base/format.h"
#include "db/sqlite/checksum_vfs.h"
#include "db/sqlite/connection.h"
#include "db/sqlite/pages.h"
#include "db/sqlite/sqlite.h"
#include "db/sqlite/wal.h"

namespace hearth::db {
namespace {

constexpr int64_t kRowsAtOnce = 500;
constexpr size_t kMostNamed = 10;       // lost rows of one hole
constexpr int kMostMended = 100'000;    // pages
constexpr int64_t kMostHoles = 10'000;  // of one table

using Rows = std::vector<std::vector<Value>>;

Value value_of(const Row& row, int column, std::string_view type) {
  if (row.null(column)) return std::monostate();
  if (type == "BIGINT" || type == "INTEGER") return row.integer(column);
  if (type.starts_with("DOUBLE")) return row.real(column);
  if (type == "BLOB") {
    const auto bytes = row.bytes(column);
    return Bytes(bytes.begin(), bytes.end());
  }
  return std::string(row.text(column));
}

Error unreadable(std::string_view why) {
  return Error::internal(format("nothing of the database can be read: {}", why),
                         "restore the last backup (hearth restore)");
}

struct Column {
  std::string name, type;
};

class Salvage {
 public:
  explicit Salvage(const std::string& to) : copy_(to + ".hurt"), to_(to) {}
  Salvage(const Salvage&) = delete;
  ~Salvage() {
    source_.reset();
    std::error_code ignored;
    for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(copy_ + end, ignored);
  }

  Result<void> copy_files(const std::string& from);
  Result<void> mend_pages();
  Result<void> open();
  Result<void> copy_tables();
  Salvaged done() { return std::move(done_); }

 private:
  Result<void> copy_table(const std::string& table);
  Result<std::vector<Column>> columns_of(const std::string& table);
  // Rows from rowid `from` on, at most kRowsAtOnce: those before the first damage. `whole`: there
  // was none; `last`: the rowid of the last one.
  Rows read(int64_t from, int64_t& last, bool& whole);
  bool readable(int64_t from);
  int64_t end_of_hole(int64_t from);
  std::string lost_between(const std::string& table, int64_t from, int64_t end);
  Result<void> write(const std::string& sql, const Rows& rows);

  const std::string copy_, to_;
  Health health_{copy_};
  Stats stats_;
  ChecksumVfs vfs_{"", health_, stats_, system_clock()};
  std::unique_ptr<Connection> source_;
  std::unique_ptr<Database> target_;
  std::vector<Column> columns_;  // of the table that is copied
  std::string select_;
  Salvaged done_;
};

Result<void> Salvage::copy_files(const std::string& from) {
  for (const char* end : {"", "-wal"}) {
    std::error_code failed;
    if (*end != '\0' && !std::filesystem::exists(from + end, failed)) continue;
    std::filesystem::copy_file(from + end, copy_ + end, failed);
    if (failed) return Error::from_errno(format("copying {}{}", from, end), failed.value());
  }
  if (const auto checked = check_wal(copy_ + "-wal"); !checked.ok())
    done_.lost.push_back("the changes behind the damage of the write-ahead log: " +
                         checked.error().detail);
  return {};
}

Result<void> Salvage::mend_pages() {
  std::fstream file(copy_, std::ios::in | std::ios::out | std::ios::binary);
  std::array<char, kPageBytes> page{};
  const auto bytes = std::as_writable_bytes(std::span(page));
  int tried = 0;
  for (uint32_t number = 1; file.read(page.data(), page.size()); ++number) {
    if (number == kLockPage || page_fault(bytes, number).empty() || ++tried > kMostMended) continue;
    if (!mend_page(bytes, number)) continue;
    file.seekp(std::streamoff{number - 1} * kPageBytes);
    file.write(page.data(), page.size());
    file.seekg(std::streamoff{number} * kPageBytes);
    done_.mended.push_back(format("page {}: one bit was put right", number));
  }
  file.clear();
  file.flush();
  return file.good() ? Result<void>() : Error::from_errno("writing " + copy_, errno);
}

Result<void> Salvage::open() {
  auto opened = Connection::open(copy_, Access::write, vfs_.name(), health_);
  if (!opened.ok()) return unreadable(opened.error().detail);
  source_ = std::move(*opened);
  auto version = source_->pragma("SELECT max(version) FROM hearth_schema");
  source_->forget_failure();
  SqliteOptions options;
  options.path = to_;
  if (version.ok() && *version != options.migrations.back().version)
    return Error::conflict(format("its tables are of version {}, this program's of version {}",
                                  *version, options.migrations.back().version),
                           "take the version of Hearth that wrote it");
  target_ = TRY(open_sqlite(options));
  return target_->migrate();
}

Result<std::vector<Column>> Salvage::columns_of(const std::string& table) {
  std::vector<Column> columns;
  TRY(target_->read([&](Session& session) {
    columns.clear();
    return session.query(format("SELECT name, type FROM pragma_table_info('{}')", table), {},
                         [&](const Row& row) -> Result<void> {
                           columns.push_back({std::string(row.text(0)), std::string(row.text(1))});
                           return {};
                         });
  }));
  return columns;
}

Result<void> Salvage::copy_tables() {
  std::vector<std::string> tables;
  TRY(target_->read([&](Session& session) {
    tables.clear();
    return session.query(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'hearth_schema' AND name "
        "NOT LIKE 'sqlite_%' ORDER BY name",
        {}, [&](const Row& row) -> Result<void> {
          tables.emplace_back(row.text(0));
          return {};
        });
  }));
  size_t lost = 0;
  for (const std::string& table : tables) {
    const auto there = source_->pragma(format("SELECT 1 FROM {} LIMIT 0", table));
    source_->forget_failure();
    if (there.ok()) {
      TRY(copy_table(table));
    } else {
      ++lost;
      done_.lost.push_back(format("table {}: all of it", table));
    }
  }
  if (lost == tables.size()) return unreadable("no table is whole");
  return {};
}

Rows Salvage::read(int64_t from, int64_t& last, bool& whole) {
  Rows rows;
  const auto done = source_->query(
      select_, std::array{Value(from), Value(kRowsAtOnce)}, [&](const Row& row) -> Result<void> {
        std::vector<Value>& values = rows.emplace_back();
        for (size_t i = 0; i < columns_.size(); ++i)
          values.push_back(value_of(row, static_cast<int>(i) + 1, columns_[i].type));
        last = row.integer(0);
        return {};
      });
  source_->forget_failure();
  whole = done.ok();
  return rows;
}

bool Salvage::readable(int64_t from) {
  const auto looked = source_->query(select_, std::array{Value(from), Value(int64_t{1})},
                                     [](const Row&) -> Result<void> { return {}; });
  source_->forget_failure();
  return looked.ok();
}

// The first rowid from which on a row, or the end, can be read; `from` cannot.
int64_t Salvage::end_of_hole(int64_t from) {
  int64_t bad = from, good = from;
  for (int64_t step = 1;; step *= 2) {
    good = bad > std::numeric_limits<int64_t>::max() - step ? std::numeric_limits<int64_t>::max()
                                                            : bad + step;
    if (good == std::numeric_limits<int64_t>::max() || readable(good)) break;
    bad = good;
  }
  while (good - bad > 1) {
    const int64_t middle = bad + (good - bad) / 2;
    (readable(middle) ? good : bad) = middle;
  }
  return good;
}

// By name where there is an index of names, else by the first column of the key; "some rows" when
// that is damaged as well.
std::string Salvage::lost_between(const std::string& table, int64_t from, int64_t end) {
  std::vector<std::string> named;
  size_t count = 0;
  for (const auto& [column, index] :
       {std::pair(std::string("name"), table + "_by_name"),
        std::pair(columns_.front().name, format("sqlite_autoindex_{}_1", table))}) {
    named.clear();
    count = 0;
    const auto listed =
        source_->query(format("SELECT {} FROM {} INDEXED BY {} WHERE rowid >= $1 AND rowid < $2",
                              column, table, index),
                       std::array{Value(from), Value(end)}, [&](const Row& row) -> Result<void> {
                         if (++count <= kMostNamed) named.emplace_back(row.text(0));
                         return {};
                       });
    source_->forget_failure();
    if (listed.ok()) break;
    count = 0;
  }
  if (count == 0) return format("table {}: some rows", table);
  const std::string more = count > named.size() ? format(" and {} more", count - named.size()) : "";
  return format("table {}: {}{}", table, join(named, ", "), more);
}

Result<void> Salvage::write(const std::string& sql, const Rows& rows) {
  if (rows.empty()) return {};
  done_.rows += static_cast<int64_t>(rows.size());
  return target_->write([&](Session& session) -> Result<void> {
    for (const std::vector<Value>& values : rows) TRY(session.execute(sql, values));
    return {};
  });
}

Result<void> Salvage::copy_table(const std::string& table) {
  columns_ = TRY(columns_of(table));
  std::string names, places;
  for (size_t i = 0; i < columns_.size(); ++i) {
    names += format("{}\"{}\"", i == 0 ? "" : ", ", columns_[i].name);
    places += format("{}${}", i == 0 ? "" : ", ", i + 1);
  }
  // NOT INDEXED: an index that holds all columns may be damaged where the table is not.
  select_ = format("SELECT rowid, {} FROM {} NOT INDEXED WHERE rowid >= $1 ORDER BY rowid LIMIT $2",
                   names, table);
  const std::string insert =
      format("INSERT INTO {} ({}) VALUES ({}) ON CONFLICT DO NOTHING", table, names, places);
  int64_t from = 0, holes = 0;
  for (;;) {
    int64_t last = from - 1;
    bool whole = false;
    const Rows rows = read(from, last, whole);
    TRY(write(insert, rows));
    if (whole && static_cast<int64_t>(rows.size()) < kRowsAtOnce) return {};
    from = last + 1;
    if (whole || readable(from)) continue;
    const int64_t end = end_of_hole(from);
    done_.lost.push_back(lost_between(table, from, end));
    if (end == std::numeric_limits<int64_t>::max() || ++holes == kMostHoles) return {};
    from = end;
  }
}

}  // namespace

Result<Salvaged> salvage_sqlite(const std::string& from, const std::string& to) {
  Salvage salvage(to);
  TRY(salvage.copy_files(from));
  TRY(salvage.mend_pages());
  TRY(salvage.open());
  TRY(salvage.copy_tables());
  return salvage.done();
}

}  // namespace hearth::db
