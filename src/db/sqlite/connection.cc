#include "db/sqlite/connection.h"

#include <cerrno>
#include <charconv>
#include <cstring>

#include <sqlite3.h>

#include "base/format.h"
#include "db/sqlite/pages.h"

namespace hearth::db {
namespace {

class StatementRow : public Row {
 public:
  explicit StatementRow(sqlite3_stmt* statement) : statement_(statement) {}
  bool null(int column) const override {
    return sqlite3_column_type(statement_, column) == SQLITE_NULL;
  }
  int64_t integer(int column) const override { return sqlite3_column_int64(statement_, column); }
  double real(int column) const override { return sqlite3_column_double(statement_, column); }
  std::string_view text(int column) const override {
    const auto* p = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return {p == nullptr ? "" : p, static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
  }
  std::span<const std::byte> bytes(int column) const override {
    const auto* p = static_cast<const std::byte*>(sqlite3_column_blob(statement_, column));
    return {p, static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
  }

 private:
  sqlite3_stmt* statement_;
};

// Long SQL is cut in messages.
std::string_view brief(std::string_view sql) {
  return sql.substr(0, 120);
}

// "table jobs" for SQL about one; "" when it names none.
std::string table_in(std::string_view sql) {
  for (const std::string_view before : {" FROM ", "INTO ", "UPDATE "}) {
    const size_t at = sql.find(before);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = sql.substr(at + before.size());
    const std::string_view name = rest.substr(0, rest.find_first_of(" (,\n"));
    if (!name.empty() && !name.starts_with("sqlite_")) return format("table {}", name);
  }
  return "";
}

int bind_value(sqlite3_stmt* statement, int at, const Value& value) {
  // SQLITE_STATIC: the caller's values outlive the statement's run.
  if (const auto* v = std::get_if<int64_t>(&value)) return sqlite3_bind_int64(statement, at, *v);
  if (const auto* v = std::get_if<double>(&value)) return sqlite3_bind_double(statement, at, *v);
  if (const auto* v = std::get_if<std::string>(&value))
    return sqlite3_bind_text64(statement, at, v->data(), v->size(), SQLITE_STATIC, SQLITE_UTF8);
  if (const auto* v = std::get_if<Bytes>(&value)) {
    if (v->empty()) return sqlite3_bind_zeroblob(statement, at, 0);  // data() may be null: NULL
    return sqlite3_bind_blob64(statement, at, v->data(), v->size(), SQLITE_STATIC);
  }
  return sqlite3_bind_null(statement, at);
}

}  // namespace

Connection::Statement::~Statement() {
  sqlite3_finalize(handle);
}

class Connection::Use {
 public:
  explicit Use(std::shared_ptr<Statement> statement) : statement_(std::move(statement)) {
    statement_->busy = true;
  }
  Use(const Use&) = delete;
  ~Use() {
    sqlite3_reset(statement_->handle);
    sqlite3_clear_bindings(statement_->handle);
    statement_->busy = false;
  }
  Statement& operator*() { return *statement_; }

 private:
  std::shared_ptr<Statement> statement_;
};

Connection::Connection(sqlite3* handle, Access access, Health& health)
    : handle_(handle), access_(access), health_(health) {}

Connection::~Connection() {
  by_sql_.clear();
  statements_.clear();
  sqlite3_close(handle_);
}

Result<std::unique_ptr<Connection>> Connection::open(const std::string& path, Access access,
                                                     const std::string& vfs, Health& health) {
  const int flags =
      access == Access::read ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX,
                                   vfs.empty() ? nullptr : vfs.c_str());
  std::unique_ptr<Connection> connection(new Connection(handle, access, health));
  if (code != SQLITE_OK) return connection->failure(code, "open");
  TRY(connection->configure());
  if (access == Access::write) TRY(connection->configure_writer());
  if (access == Access::copy) TRY(connection->control("PRAGMA journal_mode = OFF"));
  if (access == Access::copy) TRY(connection->control("PRAGMA synchronous = OFF"));
  return connection;
}

Result<void> Connection::configure() {
  sqlite3_extended_result_codes(handle_, 1);
  sqlite3_busy_timeout(handle_, kBusyMillis);
  // Closing a connection never checkpoints; the writer does so when it means to.
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_ENABLE_FKEY, 1, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  // "x" is a column, never a text: PostgreSQL reads it so.
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_DQS_DML, 0, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_DQS_DDL, 0, nullptr);
  TRY(control("PRAGMA temp_store = MEMORY"));
  return control("PRAGMA cache_size = -16384");
}

Result<void> Connection::configure_writer() {
  int reserved = kReservedBytes;
  sqlite3_file_control(handle_, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved);
  TRY(control(format("PRAGMA page_size = {}", kPageBytes)));
  // So that the writer can give pages back to the disk. It takes effect in a new file alone, and to
  // say it again writes a page.
  if (TRY(pragma("PRAGMA auto_vacuum")) == 0) TRY(control("PRAGMA auto_vacuum = INCREMENTAL"));
  TRY(query("PRAGMA journal_mode = WAL", {}, [](const Row& row) -> Result<void> {
    if (row.text(0) == "wal") return {};
    return Error::unavailable(format("SQLite keeps journal mode {}", row.text(0)),
                              "put the data on a local disk");
  }));
  TRY(control("PRAGMA synchronous = FULL"));
  TRY(control("PRAGMA wal_autocheckpoint = 0"));
  TRY(control("PRAGMA journal_size_limit = 67108864"));  // a WAL that grew is cut when it restarts
  TRY(control("PRAGMA secure_delete = FAST"));
  // No frame goes to the WAL before its commit: a frame is then written once and its checksum holds
  // from the first read on.
  return control("PRAGMA cache_spill = OFF");
}

Result<int64_t> Connection::execute(std::string_view sql, std::span<const Value> values) {
  return run(sql, values, nullptr);
}

Result<void> Connection::query(std::string_view sql, std::span<const Value> values,
                               const std::function<Result<void>(const Row&)>& each) {
  const bool failed_before = failed_, framed = in_transaction();
  const auto done = run(sql, values, &each);
  if (done.ok()) return {};
  if (!failed_before && failed_ && met_damage()) {
    failed_ = false;
    // SQLite has ended the transaction. Nothing is written beside damage: a new one sees the same.
    if (framed && !in_transaction()) TRY(control("BEGIN"));
  }
  return done.error();
}

// Whether the last failure was of a read, and of damage: other statements may follow it.
bool Connection::met_damage() const {
  const bool damage = last_code_ == SQLITE_IOERR || last_code_ == SQLITE_CORRUPT;
  return access_ == Access::read && damage && health_.is_damaged();
}

Result<int64_t> Connection::run(std::string_view sql, std::span<const Value> values,
                                const std::function<Result<void>(const Row&)>* each) {
  if (failed_) return Error::internal("a statement after one that failed in the same transaction");
  auto prepared = prepare(sql);
  if (!prepared.ok()) return failed_ = true, std::move(prepared).error();
  Use use(std::move(prepared).value());
  if (auto bound = bind(*use, values); !bound.ok()) return failed_ = true, std::move(bound).error();

  sqlite3_stmt* const statement = (*use).handle;
  const int64_t before = sqlite3_total_changes64(handle_);
  const StatementRow row(statement);
  for (;;) {
    const int code = sqlite3_step(statement);
    if (code == SQLITE_DONE) break;
    if (code != SQLITE_ROW) return failed_ = true, failure(code, sql);
    if (each != nullptr) TRY((*each)(row));
  }
  // sqlite3_changes keeps its value over statements that change no row.
  const bool changed = sqlite3_total_changes64(handle_) != before;
  return changed ? sqlite3_changes64(handle_) : 0;
}

Result<void> Connection::control(std::string_view sql) {
  const bool failed_before = std::exchange(failed_, false);
  auto result = run(sql, {}, nullptr);
  failed_ = failed_before;
  if (!result.ok()) return std::move(result).error();
  return {};
}

Result<int64_t> Connection::pragma(std::string_view sql) {
  int64_t value = 0;
  bool first = true;
  const std::function<Result<void>(const Row&)> each = [&](const Row& row) -> Result<void> {
    if (std::exchange(first, false)) value = row.integer(0);
    return {};
  };
  const bool failed_before = std::exchange(failed_, false);
  auto result = run(sql, {}, &each);
  failed_ = failed_before;
  if (!result.ok()) return std::move(result).error();
  return value;
}

Result<CheckpointProgress> Connection::checkpoint(Checkpoint mode) {
  int sqlite_mode = SQLITE_CHECKPOINT_PASSIVE;
  if (mode == Checkpoint::restart) sqlite_mode = SQLITE_CHECKPOINT_RESTART;
  if (mode == Checkpoint::truncate) sqlite_mode = SQLITE_CHECKPOINT_TRUNCATE;
  CheckpointProgress progress;
  sqlite3_busy_timeout(handle_, kRestartMillis);
  const int code =
      sqlite3_wal_checkpoint_v2(handle_, "main", sqlite_mode, &progress.pages, &progress.done);
  sqlite3_busy_timeout(handle_, kBusyMillis);
  if (code != SQLITE_OK && code != SQLITE_BUSY) return failure(code, "checkpoint");
  return progress;
}

Error Connection::error(std::string_view doing) {
  return failure(sqlite3_extended_errcode(handle_), doing);
}

bool Connection::in_transaction() const {
  return sqlite3_get_autocommit(handle_) == 0;
}

Result<std::shared_ptr<Connection::Statement>> Connection::prepare(std::string_view sql) {
  if (const auto found = by_sql_.find(sql); found != by_sql_.end()) {
    // A statement that runs inside a callback of its own needs a second one.
    if ((*found->second)->busy) return compile(sql);
    statements_.splice(statements_.begin(), statements_, found->second);
    return statements_.front();
  }
  auto statement = TRY(compile(sql));
  statements_.push_front(statement);
  by_sql_.emplace(statement->sql, statements_.begin());
  if (statements_.size() > kStatementBound) {  // in use: it lives on until that use ends
    by_sql_.erase(statements_.back()->sql);
    statements_.pop_back();
  }
  return statement;
}

Result<std::shared_ptr<Connection::Statement>> Connection::compile(std::string_view sql) {
  auto statement = std::make_shared<Statement>();
  statement->sql = sql;
  const char* rest = nullptr;
  const int code =
      sqlite3_prepare_v3(handle_, statement->sql.data(), static_cast<int>(statement->sql.size()),
                         SQLITE_PREPARE_PERSISTENT, &statement->handle, &rest);
  if (code != SQLITE_OK) return failure(code, sql);
  const std::string_view tail(rest, statement->sql.data() + statement->sql.size());
  if (statement->handle == nullptr || tail.find_first_not_of(" \t\n;") != std::string_view::npos)
    return Error::internal(format("one statement is wanted: {}", brief(sql)));
  if (access_ == Access::read && sqlite3_stmt_readonly(statement->handle) == 0)
    return Error::internal(format("a read may not write: {}", brief(sql)));

  // SQLite numbers $2, $1 by the order of their first mention, so each is found by its name.
  const int count = sqlite3_bind_parameter_count(statement->handle);
  for (int i = 1; i <= count; ++i) {
    const char* name = sqlite3_bind_parameter_name(statement->handle, i);
    const std::string_view digits = name == nullptr ? "" : std::string_view(name).substr(1);
    int number = 0;
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (name == nullptr || name[0] != '$' || parsed.ptr != digits.data() + digits.size() ||
        number < 1)
      return Error::internal(format("placeholders are $1, $2...: {}", brief(sql)));
    statement->values.push_back(number);
    statement->highest = std::max(statement->highest, number);
  }
  return statement;
}

Result<void> Connection::bind(Statement& statement, std::span<const Value> values) {
  if (statement.highest != static_cast<int>(values.size()))
    return Error::internal(format("{} values given for {} placeholders: {}", values.size(),
                                  statement.highest, brief(statement.sql)));
  for (size_t i = 0; i < statement.values.size(); ++i) {
    const Value& value = values[static_cast<size_t>(statement.values[i]) - 1];
    const int code = bind_value(statement.handle, static_cast<int>(i) + 1, value);
    if (code != SQLITE_OK) return failure(code, statement.sql);
  }
  return {};
}

Error Connection::failure(int code, std::string_view sql) {
  const int extended = handle_ == nullptr ? code : sqlite3_extended_errcode(handle_);
  const int primary = code & 0xff;
  const int saved_errno = handle_ == nullptr ? 0 : sqlite3_system_errno(handle_);
  const std::string words = handle_ == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(handle_);
  last_code_ = primary;
  switch (primary) {
    case SQLITE_CONSTRAINT:
      if (extended == SQLITE_CONSTRAINT_UNIQUE || extended == SQLITE_CONSTRAINT_PRIMARYKEY ||
          extended == SQLITE_CONSTRAINT_ROWID)
        return Error::of(Code::exists, words);
      if (extended == SQLITE_CONSTRAINT_FOREIGNKEY) return Error::conflict(words);
      break;
    case SQLITE_FULL:
      health_.disk_full();
      return health_.error();
    case SQLITE_IOERR:
      if (saved_errno == ENOSPC || saved_errno == EDQUOT) {
        health_.disk_full();
        return health_.error();
      }
      if (extended == SQLITE_IOERR_READ || extended == SQLITE_IOERR_SHORT_READ)
        health_.damaged(format("reading failed ({})", std::string_view(strerror(saved_errno))));
      if (extended == SQLITE_IOERR_DATA || health_.is_damaged()) {
        health_.belongs(table_in(sql));
        return health_.damage_error();
      }
      if (access_ == Access::read) break;
      health_.failed(format("{} ({})", words, std::string_view(strerror(saved_errno))));
      return health_.error();
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      health_.damaged(words);
      health_.belongs(table_in(sql));
      return health_.damage_error();
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Error::unavailable("the database is locked by another program",
                                "close what else has the file open");
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
      return Error::unavailable(format("{} ({})", words, std::string_view(strerror(saved_errno))));
    case SQLITE_TOOBIG:
      return Error::of(Code::too_large, words);
    default:
      break;
  }
  return Error::internal(format("{}: {}", words, brief(sql)));
}

}  // namespace hearth::db
