// One SQLite connection with its cache of prepared statements; the adapter between SQLite's codes
// and Result. Used by one thread at a time.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "db/database.h"
#include "db/sqlite/health.h"

struct sqlite3;
struct sqlite3_stmt;

namespace hearth::db {

// copy: a new file that one backup fills; its owner syncs it.
enum class Access { read, write, copy };
// passive: what can be done at once. restart: waits for readers, so that the WAL starts anew.
// truncate: and cuts it to nothing.
enum class Checkpoint { passive, restart, truncate };
struct CheckpointProgress {
  int pages = 0;  // in the WAL
  int done = 0;   // of them in the database file and synced
};

class Connection : public Session {
 public:
  // Statements kept prepared; the one not used for the longest time goes first.
  static constexpr size_t kStatementBound = 256;
  // How long a statement waits for another process's lock (a person with a shell on the file).
  static constexpr int kBusyMillis = 5000;
  static constexpr int kRestartMillis = 500;  // a checkpoint waits for readers

  // `vfs`: name of a registered VFS. Access::write makes the file when it is not there.
  static Result<std::unique_ptr<Connection>> open(const std::string& path, Access access,
                                                  const std::string& vfs, Health& health);
  ~Connection() override;

  Result<int64_t> execute(std::string_view sql, std::span<const Value> values) override;
  Result<void> query(std::string_view sql, std::span<const Value> values,
                     const std::function<Result<void>(const Row&)>& each) override;
  using Session::execute;
  using Session::query;

  // A transaction's frame: BEGIN, SAVEPOINT, PRAGMA... Leaves statement_failed() as it is.
  Result<void> control(std::string_view sql);
  // The first column of the first row; 0 when there is none.
  Result<int64_t> pragma(std::string_view sql);

  // Readers that hold it up are no error: done < pages then.
  Result<CheckpointProgress> checkpoint(Checkpoint mode);

  // What SQLite says of its last call on this connection.
  Error error(std::string_view doing);

  // True once a statement of execute() or query() has failed since forget_failure().
  bool statement_failed() const { return failed_; }
  void forget_failure() { failed_ = false; }
  bool in_transaction() const;
  // SQLite's primary code of the last failure, e.g. SQLITE_FULL.
  int last_code() const { return last_code_; }
  sqlite3* handle() { return handle_; }

 private:
  struct Statement {
    std::string sql;
    sqlite3_stmt* handle = nullptr;
    std::vector<int> values;  // values[i]: which $N stands at SQLite's parameter i + 1
    int highest = 0;          // N at most
    bool busy = false;
    Statement() = default;
    Statement(const Statement&) = delete;
    ~Statement();
  };
  class Use;  // a statement bound and in use

  Connection(sqlite3* handle, Access access, Health& health);
  Result<void> configure();
  Result<void> configure_writer();
  Result<std::shared_ptr<Statement>> prepare(std::string_view sql);
  Result<std::shared_ptr<Statement>> compile(std::string_view sql);
  Result<void> bind(Statement& statement, std::span<const Value> values);
  Result<int64_t> run(std::string_view sql, std::span<const Value> values,
                      const std::function<Result<void>(const Row&)>* each);
  Error failure(int code, std::string_view sql);
  bool met_damage() const;

  sqlite3* const handle_;
  const Access access_;
  Health& health_;
  bool failed_ = false;
  int last_code_ = 0;
  std::list<std::shared_ptr<Statement>> statements_;  // the most recently used first
  std::unordered_map<std::string_view, std::list<std::shared_ptr<Statement>>::iterator> by_sql_;
};

}  // namespace hearth::db
