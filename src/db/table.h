// Rows from described structs. A table keeps the struct's JSON in `body`; the fields it is searched
// by stand beside it as columns of their own, so adding a field to a noun needs no migration unless
// it is searched by. Secret fields (never in JSON) must be columns.
//
// Every row has `version`: update() fails with `conflict` when somebody changed the row since.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "db/database.h"
#include "domain/codec.h"
#include "domain/filter.h"

namespace hearth::db {

struct TableSpec {
  std::string name;
  std::vector<std::string> columns;  // described fields with a column of the same name
  bool journal = false;              // every change of a row is noted (tables.h, note_run_change)
};

// Specialise in tables.h: static const TableSpec& spec().
template <typename T>
struct TableOf;

// A page of a list. `where` is SQL over columns ("project = $1"), `values` its values.
struct ListQuery {
  std::string where;
  std::vector<Value> values;
  FilterNode filter;  // of the API, over the JSON; parts that compare a column narrow in SQL
  std::vector<OrderBy> order_by;  // columns only; the id is added as the last
  int64_t limit = 100;
  std::string cursor;  // from ListPage::next_cursor
};
constexpr int64_t kMostListRows = 1000;

constexpr int64_t kMostScannedRows = 200'000;  // looked at for one page; a shorter page then
constexpr size_t kMostBodyBytes = 64 << 20;

// The untyped half; T comes in by its Type.
class TableAccess {
 public:
  TableAccess(const TableSpec& spec, const Type& type);
  Result<void> insert(Session& session, const void* object) const;
  Result<void> update(Session& session, const void* object, int64_t expected_version) const;
  Result<bool> remove(Session& session, const std::string& id) const;
  Result<std::optional<std::string>> body(Session& session, const std::string& id) const;
  // Calls each(row) for rows of "SELECT <all> FROM table <tail>".
  Result<void> select(Session& session, std::string_view tail, std::span<const Value> values,
                      const std::function<Result<void>(const Row&)>& each) const;
  Result<void> load(const Row& row, void* object) const;
  // As select, with filter, order, limit and cursor; `accept` gets each matching row.
  Result<std::string> list(Session& session, const ListQuery& query,
                           const std::function<Result<void>(const Row&)>& accept) const;

 private:
  class Listing;

  Result<void> note(Session& session, const std::string& id) const;
  std::vector<Value> values_of(const void* object) const;
  const Field* field(std::string_view name) const;

  const TableSpec& spec_;
  const Type& type_;
  std::vector<const Field*> columns_;  // of spec_.columns
  std::string insert_, update_, remove_, body_, select_;
};

template <typename T>
struct ListPage {
  std::vector<T> items;
  // "" at the end. A page may be short, even empty, and still have one (a filter with rare hits).
  std::string next_cursor;
};

template <typename T>
class Table {
 public:
  static Result<void> insert(Session& session, const T& object) {
    return access().insert(session, &object);
  }
  // Writes object with version + 1 if the row still has object.version, and sets it in object.
  static Result<void> update(Session& session, T& object) {
    const int64_t expected = object.version;
    ++object.version;
    auto done = access().update(session, &object, expected);
    if (!done.ok()) object.version = expected;
    return done;
  }
  static Result<bool> remove(Session& session, const std::string& id) {
    return access().remove(session, id);
  }
  static Result<std::optional<T>> find(Session& session, std::string_view tail,
                                       std::initializer_list<Value> values) {
    std::optional<T> found;
    TRY(access().select(session, tail, std::span(values.begin(), values.size()),
                        [&](const Row& row) -> Result<void> {
                          if (found) return {};
                          return access().load(row, &found.emplace());
                        }));
    return found;
  }
  static Result<std::optional<T>> get(Session& session, const std::string& id) {
    return find(session, "WHERE id = $1", {id});
  }
  // As get; absence is a not_found error that names the table and the id.
  static Result<T> need(Session& session, const std::string& id) {
    auto found = TRY(get(session, id));
    if (!found)
      return Error::not_found(std::string(type_of<T>().name) + " '" + id + "' does not exist");
    return std::move(*found);
  }
  // Every row of "WHERE ... ORDER BY ... LIMIT ..." (the caller bounds it).
  static Result<std::vector<T>> select(Session& session, std::string_view tail,
                                       std::initializer_list<Value> values) {
    std::vector<T> all;
    TRY(access().select(
        session, tail, std::span(values.begin(), values.size()),
        [&](const Row& row) -> Result<void> { return access().load(row, &all.emplace_back()); }));
    return all;
  }
  static Result<ListPage<T>> list(Session& session, const ListQuery& query) {
    ListPage<T> page;
    page.next_cursor = TRY(access().list(session, query, [&](const Row& row) -> Result<void> {
      return access().load(row, &page.items.emplace_back());
    }));
    return page;
  }
  // The stored JSON text of one row, without decoding it; nothing if there is none.
  static Result<std::optional<std::string>> body(Session& session, const std::string& id) {
    return access().body(session, id);
  }

 private:
  static const TableAccess& access() {
    static const TableAccess the_access(TableOf<T>::spec(), type_of<T>());
    return the_access;
  }
};

}  // namespace hearth::db
