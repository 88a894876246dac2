// The Database interface: portable SQL (SQLite and PostgreSQL), transactions as functions.
//
// Placeholders are $1, $2...; the same text serves both engines: ON CONFLICT, RETURNING, integers
// of 64 bits, TEXT, bytes as BYTES in migrations (schema.h), no engine's own functions.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace hearth::db {

using Value = std::variant<std::monostate, int64_t, double, std::string, Bytes>;

// One row of an answer; valid during the callback only.
class Row {
 public:
  virtual ~Row() = default;
  virtual bool null(int column) const = 0;
  virtual int64_t integer(int column) const = 0;
  virtual double real(int column) const = 0;
  virtual std::string_view text(int column) const = 0;
  virtual std::span<const std::byte> bytes(int column) const = 0;
};

// Statements inside one transaction; belongs to the thread that runs the function.
//
// After an error from execute() or query() the transaction is lost (as in PostgreSQL): the work has
// to return an error, and a work that goes on and succeeds is rolled back with `internal`. What may
// already be there is asked first, or written with ON CONFLICT. One exception: in a read() a query
// that meets damage (`internal`) may be passed over, so that what is whole can be read.
class Session {
 public:
  virtual ~Session() = default;
  // Rows changed. Errors: exists (a UNIQUE or PRIMARY KEY was hit), conflict (a foreign key),
  // unavailable (disk full, read-only), internal (damage, wrong SQL).
  virtual Result<int64_t> execute(std::string_view sql, std::span<const Value> values) = 0;
  // Calls each() per row; an error from it ends the query and is returned.
  virtual Result<void> query(std::string_view sql, std::span<const Value> values,
                             const std::function<Result<void>(const Row&)>& each) = 0;

  Result<int64_t> execute(std::string_view sql, std::initializer_list<Value> values = {}) {
    return execute(sql, std::span(values.begin(), values.size()));
  }
  Result<void> query(std::string_view sql, std::initializer_list<Value> values,
                     const std::function<Result<void>(const Row&)>& each) {
    return query(sql, std::span(values.begin(), values.size()), each);
  }
};

using Work = std::function<Result<void>(Session&)>;

// What could be taken out of a damaged database.
struct Salvaged {
  int64_t rows = 0;
  std::vector<std::string> mended;  // "page 17: one bit was put right"
  std::vector<std::string> lost;    // "table jobs: fashion-cnn-7 and 2 more"
};

class Database {
 public:
  virtual ~Database() = default;
  // Runs `work` in a transaction and returns once it is durable (synced). Work may run again and
  // may run on another thread, so it changes nothing but the database and what the caller holds for
  // its answer; an error from it rolls its own changes back and no other's. Work is quick (no file,
  // no network: all writers wait behind it) and calls neither write() nor read(). Errors of its
  // own: unavailable while refusing().
  virtual Result<void> write(const Work& work) = 0;
  // A consistent view; sees every write that was acknowledged before the call. Runs on this thread.
  // Errors of its own: busy when all readers stay taken.
  virtual Result<void> read(const Work& work) = 0;
  // A whole, consistent copy in one step into the new file `path`, synced. Runs beside writes.
  virtual Result<void> snapshot(const std::string& path) = 0;
  // Reads every page and index; the first damage is the error.
  virtual Result<void> check() = 0;
  // Brings the tables to the newest version, a copy kept before. Errors: conflict when the database
  // is newer than this program.
  virtual Result<void> migrate() = 0;
  virtual int version() = 0;  // of the tables
  // Refuses writes until the next open, as something that it names beside the database is damaged.
  virtual void refuse(const std::string& why) = 0;
  // Why writes are refused (damage, failed sync, disk full), or "".
  virtual std::string refusing() = 0;
};

}  // namespace hearth::db
