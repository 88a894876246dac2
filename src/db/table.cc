#include "db/table.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/format.h"

namespace hearth::db {
namespace {

// "user" is a word of SQL: every column name is quoted.
std::string quoted(std::string_view column) {
  return format("\"{}\"", column);
}

Value column_value(const Field& field, const void* object) {
  const void* at = field.in(object);
  if (at == nullptr) return std::monostate{};
  switch (field.type->kind) {
    case Kind::boolean:
    case Kind::integer:
      return field.type->get_integer(at);
    case Kind::enumeration:
      return std::string(field.type->words[static_cast<size_t>(field.type->get_integer(at))]);
    case Kind::real:
      return *static_cast<const double*>(at);
    case Kind::time:
      return static_cast<const Time*>(at)->micros;
    case Kind::text:
      return *static_cast<const std::string*>(at);
    default:
      CHECK(!"a column must be a scalar");
      return std::monostate{};
  }
}

std::string value_text(const Value& value) {
  if (const auto* n = std::get_if<int64_t>(&value)) return format("i{}", *n);
  if (const auto* d = std::get_if<double>(&value)) return format("d{}", *d);
  if (const auto* s = std::get_if<std::string>(&value)) return "s" + *s;
  return "n";
}

Result<Value> value_from_text(std::string_view text) {
  const auto wrong = [] {
    return Error::invalid("the cursor is not one of ours", "start the list again without a cursor");
  };
  if (text.empty()) return wrong();
  const std::string_view rest = text.substr(1);
  switch (text[0]) {
    case 'i': {
      int64_t n = 0;
      const auto [end, failure] = std::from_chars(rest.data(), rest.data() + rest.size(), n);
      if (failure != std::errc() || end != rest.data() + rest.size()) return wrong();
      return Value(n);
    }
    case 'd': {
      double d = 0;
      const auto [end, failure] = std::from_chars(rest.data(), rest.data() + rest.size(), d);
      if (failure != std::errc() || end != rest.data() + rest.size()) return wrong();
      return Value(d);
    }
    case 's':
      return Value(std::string(rest));
    default:
      return wrong();
  }
}

// A cursor: base64 of the order's values of the last row, joined by unit separators.
std::string make_cursor(const std::vector<Value>& values) {
  std::string text;
  for (const Value& value : values) text += value_text(value) + '\x1f';
  return to_base64url(as_bytes(text));
}

Result<std::vector<Value>> read_cursor(std::string_view cursor, size_t expected) {
  const Bytes bytes = TRY(from_base64(cursor));
  std::vector<Value> values;
  auto pieces = split(as_text(bytes), '\x1f');
  if (!pieces.empty()) pieces.pop_back();
  for (const std::string_view piece : pieces) values.push_back(TRY(value_from_text(piece)));
  if (values.size() != expected)
    return Error::invalid("the cursor belongs to another order_by",
                          "start the list again without a cursor");
  return values;
}

Value row_value(const Row& row, int column, Kind kind) {
  switch (kind) {
    case Kind::boolean:
    case Kind::integer:
    case Kind::time:
      return row.integer(column);
    case Kind::real:
      return row.real(column);
    default:
      return std::string(row.text(column));
  }
}

// The text of a (nested) field of a body: "params.lr", "spec.priority".
std::optional<std::string> look_up(const Node& body, std::string_view path) {
  const Node* at = &body;
  while (!path.empty()) {
    // A map's key may hold dots: the longest match wins.
    const Node* next = at->find(path);
    if (next != nullptr) {
      at = next;
      break;
    }
    size_t dot = path.rfind('.');
    for (; dot != std::string_view::npos;
         dot = dot == 0 ? std::string_view::npos : path.rfind('.', dot - 1))
      if ((next = at->find(path.substr(0, dot))) != nullptr) break;
    if (next == nullptr) return std::nullopt;
    at = next;
    path.remove_prefix(dot + 1);
  }
  if (at->kind == Node::Kind::map) {
    const Node* value = at->find("value");  // a param or metric given in full
    if (value == nullptr) return std::nullopt;
    at = value;
  }
  if (at->kind == Node::Kind::list || at->kind == Node::Kind::null) return std::nullopt;
  return at->text;
}

}  // namespace

const Field* TableAccess::field(std::string_view name) const {
  for (const Field& f : type_.fields)
    if (f.name == name) return &f;
  return nullptr;
}

std::vector<Value> TableAccess::values_of(const void* object) const {
  std::vector<Value> values{column_value(*field("id"), object),
                            column_value(*field("version"), object)};
  std::string body;
  encode(type_, object, body);
  values.emplace_back(std::move(body));
  for (const std::string& column : spec_.columns) {
    const Field* f = field(column);
    CHECK(f != nullptr);
    values.push_back(column_value(*f, object));
  }
  return values;
}

Result<void> TableAccess::insert(Session& session, const void* object) const {
  std::string columns = "id, version, body", places = "$1, $2, $3";
  for (size_t i = 0; i < spec_.columns.size(); ++i) {
    columns += ", " + quoted(spec_.columns[i]);
    places += format(", ${}", i + 4);
  }
  const auto values = values_of(object);
  const auto done = session.execute(
      format("INSERT INTO {} ({}) VALUES ({})", spec_.name, columns, places), values);
  if (!done.ok()) return done.error();
  return {};
}

Result<void> TableAccess::update(Session& session, const void* object, int64_t expected) const {
  std::string sets = "version = $2, body = $3";
  for (size_t i = 0; i < spec_.columns.size(); ++i)
    sets += format(", {} = ${}", quoted(spec_.columns[i]), i + 4);
  auto values = values_of(object);
  values.emplace_back(expected);
  const int64_t changed = TRY(session.execute(
      format("UPDATE {} SET {} WHERE id = $1 AND version = ${}", spec_.name, sets, values.size()),
      values));
  if (changed != 1)
    return Error::conflict(format("{} '{}' was changed by somebody else meanwhile", type_.name,
                                  std::get<std::string>(values[0])),
                           "read it again and repeat the change");
  return {};
}

Result<bool> TableAccess::remove(Session& session, const std::string& id) const {
  return TRY(session.execute(format("DELETE FROM {} WHERE id = $1", spec_.name), {id})) > 0;
}

Result<void> TableAccess::select(Session& session, std::string_view tail,
                                 std::span<const Value> values,
                                 const std::function<Result<void>(const Row&)>& each) const {
  std::string columns = "version, body";
  for (const std::string& column : spec_.columns) columns += ", " + quoted(column);
  return session.query(format("SELECT {} FROM {} {}", columns, spec_.name, tail), values, each);
}

Result<void> TableAccess::load(const Row& row, void* object) const {
  const Node body = TRY(parse_json(row.text(1), 64 << 20));
  auto decoded = decode(body, type_, object, Origin::server);
  if (!decoded.ok()) return std::move(decoded).error().with(format("a row of {}", spec_.name));
  for (size_t i = 0; i < spec_.columns.size(); ++i) {
    const Field* f = field(spec_.columns[i]);
    if (f->is_secret)
      *static_cast<std::string*>(f->in(object)) = std::string(row.text(static_cast<int>(i) + 2));
  }
  return {};
}

namespace {

// The parts of a filter that stand alone under `and` and compare a column become SQL; the whole
// filter is applied to each row as well, so this only narrows.
void push_down(const FilterNode& node, const std::vector<std::string>& columns, const Type& type,
               std::vector<std::string>& conditions, std::vector<Value>& values) {
  if (node.kind == FilterNode::Kind::all) {
    for (const FilterNode& part : node.parts) push_down(part, columns, type, conditions, values);
    return;
  }
  if (node.kind != FilterNode::Kind::comparison || node.op != FilterNode::Operator::equal) return;
  if (std::find(columns.begin(), columns.end(), node.field) == columns.end()) return;
  for (const Field& f : type.fields) {
    if (f.name != node.field) continue;
    if (f.type->kind != Kind::text && f.type->kind != Kind::enumeration) return;
    values.emplace_back(node.values.front());
    conditions.push_back(format("{} = ${}", quoted(node.field), values.size()));
  }
}

// (a, b, id) beyond the cursor, for mixed directions: a > x or (a = x and (b < y or ...)).
std::string beyond(const std::vector<OrderBy>& order, const std::vector<Value>& at,
                   std::vector<Value>& values, size_t i = 0) {
  values.push_back(at[i]);
  const size_t place = values.size();
  const std::string column = quoted(order[i].field);
  const std::string past = format("{} {} ${}", column, order[i].descending ? "<" : ">", place);
  if (i + 1 == order.size()) return past;
  const std::string rest = beyond(order, at, values, i + 1);
  return format("({} OR ({} = ${} AND {}))", past, column, place, rest);
}

}  // namespace

Result<std::string> TableAccess::list(Session& session, const ListQuery& query,
                                      const std::function<Result<void>(const Row&)>& accept) const {
  std::vector<OrderBy> order = query.order_by;
  for (const OrderBy& by : order)
    if (std::find(spec_.columns.begin(), spec_.columns.end(), by.field) == spec_.columns.end() &&
        by.field != "id")
      return Error::invalid(format("'{}' cannot be ordered by", by.field),
                            format("order by one of: id, {}", join(spec_.columns, ", ")));
  const bool last_descending = !order.empty() && order.back().descending;
  if (order.empty() || order.back().field != "id") order.push_back({"id", last_descending});

  std::vector<Value> values = query.values;
  std::vector<std::string> conditions;
  if (!query.where.empty()) conditions.push_back("(" + query.where + ")");
  push_down(query.filter, spec_.columns, type_, conditions, values);
  if (!query.cursor.empty())
    conditions.push_back(beyond(order, TRY(read_cursor(query.cursor, order.size())), values));

  std::string tail;
  if (!conditions.empty()) tail += format("WHERE {} ", join(conditions, " AND "));
  std::vector<std::string> orders;
  std::vector<std::pair<int, Kind>> order_columns;  // of the selected row; -1: the id
  for (const OrderBy& by : order) {
    orders.push_back(quoted(by.field) + (by.descending ? " DESC" : ""));
    const auto at = std::find(spec_.columns.begin(), spec_.columns.end(), by.field);
    order_columns.emplace_back(
        by.field == "id" ? -1 : static_cast<int>(at - spec_.columns.begin()) + 2,
        field(by.field)->type->kind);
  }
  tail += format("ORDER BY {}", join(orders, ", "));

  const bool has_filter = query.filter.kind != FilterNode::Kind::all || !query.filter.parts.empty();
  const int64_t limit = std::clamp<int64_t>(query.limit, 1, kMostListRows);
  int64_t taken = 0;
  std::vector<Value> last;
  std::string next_cursor;
  const Error enough = Error::of(Code::gone, "enough");
  const auto done = select(session, tail, values, [&](const Row& row) -> Result<void> {
    Node body;
    if (has_filter) {
      body = TRY(parse_json(row.text(1), 64 << 20));
      if (!matches(query.filter, [&](const std::string& f) { return look_up(body, f); })) return {};
    }
    if (taken == limit) {
      next_cursor = make_cursor(last);
      return enough;
    }
    ++taken;
    last.clear();
    for (const auto& [column, kind] : order_columns) {
      if (column >= 0) {
        last.push_back(row_value(row, column, kind));
        continue;
      }
      if (!has_filter) body = TRY(parse_json(row.text(1), 64 << 20));
      last.emplace_back(look_up(body, "id").value_or(""));
    }
    return accept(row);
  });
  if (!done.ok() && next_cursor.empty()) return done.error();
  return next_cursor;
}

}  // namespace hearth::db
