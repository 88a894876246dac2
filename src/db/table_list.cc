// Lists: filter, order, limit and cursor.
#include <algorithm>
#include <charconv>

#include "base/format.h"
#include "db/table.h"
#include "domain/scalar.h"

namespace hearth::db {
namespace {

constexpr int kIdColumn = 0;
constexpr int kBodyColumn = 2;
constexpr int kFirstColumn = 3;

std::string quoted(std::string_view column) {
  return format("\"{}\"", column);
}

Error foreign_cursor() {
  return Error::invalid("the cursor is not one of this list",
                        "start the list again without a cursor");
}

// A cursor: the order it belongs to and its values in the last row. i123; or d0.5; or s5:hello
std::string make_cursor(const std::string& order, const std::vector<Value>& values) {
  std::string text = format("s{}:{}", order.size(), order);
  for (const Value& value : values) {
    if (const auto* n = std::get_if<int64_t>(&value)) text += format("i{};", *n);
    if (const auto* d = std::get_if<double>(&value)) text += format("d{};", *d);
    if (const auto* s = std::get_if<std::string>(&value)) text += format("s{}:{}", s->size(), *s);
  }
  return to_base64url(as_bytes(text));
}

template <typename T>
std::optional<T> number_up_to(std::string_view& text, char end) {
  T number{};
  const auto [at, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto length = static_cast<size_t>(at - text.data());
  if (failure != std::errc() || length >= text.size() || *at != end) return std::nullopt;
  text.remove_prefix(length + 1);
  return number;
}

std::optional<Value> take_value(std::string_view& text) {
  const char kind = text[0];
  text.remove_prefix(1);
  if (kind == 'i') return number_up_to<int64_t>(text, ';');
  if (kind == 'd') return number_up_to<double>(text, ';');
  if (kind != 's') return std::nullopt;
  const auto length = number_up_to<size_t>(text, ':');
  if (!length || *length > text.size()) return std::nullopt;
  std::string value(text.substr(0, *length));
  text.remove_prefix(*length);
  return value;
}

Result<std::vector<Value>> read_cursor(std::string_view cursor, const std::string& order,
                                       size_t count) {
  const auto bytes = from_base64(cursor);
  if (!bytes.ok()) return foreign_cursor();
  std::string_view text = as_text(*bytes);
  std::vector<Value> values;
  while (!text.empty()) {
    auto value = take_value(text);
    if (!value) return foreign_cursor();
    values.push_back(std::move(*value));
  }
  if (values.size() != count + 1 || values[0] != Value(order)) return foreign_cursor();
  values.erase(values.begin());
  return values;
}

Value row_value(const Row& row, int column, Kind kind) {
  if (kind == Kind::boolean || kind == Kind::integer || kind == Kind::time)
    return row.integer(column);
  if (kind == Kind::real) return row.real(column);
  return std::string(row.text(column));
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

// A job's params and labels stand in its spec.
std::optional<std::string> look_up_field(const Node& body, const std::string& path) {
  if (auto found = look_up(body, path)) return found;
  const Node* spec = body.find("spec");
  return spec == nullptr ? std::nullopt : look_up(*spec, path);
}

// The value as SQL compares it, if that is how the filter does: numbers with integer columns, words
// with text ones (a text that looks like a number is compared as one: 1 = 1.0).
std::optional<Value> comparable(const Field& column, const std::string& text) {
  switch (column.type->kind) {
    case Kind::integer:
      if (const auto whole = integer_of(text)) return Value(*whole);
      return std::nullopt;
    case Kind::text:
      if (real_of(text)) return std::nullopt;
      return Value(text);
    case Kind::enumeration:
      return Value(text);
    default:
      return std::nullopt;
  }
}

std::string_view sql_operator(const FilterNode& node, const Field& column) {
  using Operator = FilterNode::Operator;
  if (node.op == Operator::equal || node.op == Operator::in) return "=";
  if (column.type->kind != Kind::integer) return "";  // texts: engines sort them differently
  switch (node.op) {
    case Operator::less:
      return "<";
    case Operator::less_equal:
      return "<=";
    case Operator::greater:
      return ">";
    case Operator::greater_equal:
      return ">=";
    default:
      return "";
  }
}

}  // namespace

// One call of list().
class TableAccess::Listing {
 public:
  Listing(const TableAccess& table, const ListQuery& query) : table_(table), query_(query) {}

  Result<void> prepare();
  Result<std::string> run(Session& session, const std::function<Result<void>(const Row&)>& accept);

 private:
  struct By {
    std::string column;
    bool descending;
    int at;  // in the selected row
    Kind kind;
  };

  Result<void> add_order(const OrderBy& by);
  void narrow(const FilterNode& node);
  void narrow_by(const FilterNode& node, const Field& column);
  std::string place(Value value) {
    values_.push_back(std::move(value));
    return format("${}", values_.size());
  }
  std::string beyond(const std::vector<Value>& at, size_t i = 0);
  Result<bool> matches_filter(const Row& row) const;

  const TableAccess& table_;
  const ListQuery& query_;
  const bool filtered_ =
      query_.filter.kind != FilterNode::Kind::all || !query_.filter.parts.empty();
  const int64_t limit_ = std::clamp<int64_t>(query_.limit, 1, kMostListRows);
  std::vector<By> order_;
  std::string order_text_;
  std::vector<Value> values_ = query_.values;
  std::vector<std::string> conditions_;
  std::string tail_;
};

Result<void> TableAccess::Listing::add_order(const OrderBy& by) {
  const auto& columns = table_.spec_.columns;
  const auto found = std::ranges::find(columns, by.field);
  if (by.field != "id" && found == columns.end())
    return Error::invalid(format("'{}' cannot be ordered by", by.field),
                          format("order by one of: id, {}", join(columns, ", ")));
  const int at =
      by.field == "id" ? kIdColumn : kFirstColumn + static_cast<int>(found - columns.begin());
  order_.push_back({by.field, by.descending, at, table_.field(by.field)->type->kind});
  if (!order_text_.empty()) order_text_ += ", ";
  order_text_ += quoted(by.field) + (by.descending ? " DESC" : "");
  return {};
}

Result<void> TableAccess::Listing::prepare() {
  for (const OrderBy& by : query_.order_by) TRY(add_order(by));
  // The id decides between equals, so that no row is left out or given twice.
  if (order_.empty() || order_.back().column != "id")
    TRY(add_order({"id", !order_.empty() && order_.back().descending}));

  if (!query_.where.empty()) conditions_.push_back("(" + query_.where + ")");
  narrow(query_.filter);
  if (!query_.cursor.empty())
    conditions_.push_back(beyond(TRY(read_cursor(query_.cursor, order_text_, order_.size()))));
  if (!conditions_.empty()) tail_ = format("WHERE {} ", join(conditions_, " AND "));
  tail_ += "ORDER BY " + order_text_;
  if (!filtered_) tail_ += " LIMIT " + place(limit_ + 1);
  return {};
}

// The parts of a filter that stand alone under `and` and compare a column become SQL. The whole
// filter is applied to each row as well, so this only narrows.
void TableAccess::Listing::narrow(const FilterNode& node) {
  if (node.kind == FilterNode::Kind::all)
    for (const FilterNode& part : node.parts) narrow(part);
  if (node.kind != FilterNode::Kind::comparison) return;
  for (const Field* column : table_.columns_)
    if (column->name == node.field && !column->is_secret) narrow_by(node, *column);
}

void TableAccess::Listing::narrow_by(const FilterNode& node, const Field& column) {
  const std::string_view op = sql_operator(node, column);
  if (op.empty()) return;
  std::vector<Value> values;
  for (const std::string& text : node.values) {
    auto value = comparable(column, text);
    if (!value) return;
    values.push_back(std::move(*value));
  }
  std::vector<std::string> parts;
  for (Value& value : values)
    parts.push_back(format("{} {} {}", quoted(node.field), op, place(std::move(value))));
  conditions_.push_back(format("({})", join(parts, " OR ")));
}

// (a, b, id) beyond the cursor: a > x or (a = x and (b < y or ...)). Where all go one way it is
// written as a comparison of rows, which an index answers.
std::string TableAccess::Listing::beyond(const std::vector<Value>& at, size_t i) {
  const bool down = order_[i].descending;
  if (i == 0 && std::ranges::all_of(order_, [&](const By& by) { return by.descending == down; })) {
    std::vector<std::string> columns, places;
    for (size_t k = 0; k < order_.size(); ++k) {
      columns.push_back(quoted(order_[k].column));
      places.push_back(place(at[k]));
    }
    return format("({}) {} ({})", join(columns, ", "), down ? "<" : ">", join(places, ", "));
  }
  const std::string column = quoted(order_[i].column);
  const std::string value = place(at[i]);
  const std::string past = format("{} {} {}", column, down ? "<" : ">", value);
  if (i + 1 == order_.size()) return past;
  return format("({} OR ({} = {} AND {}))", past, column, value, beyond(at, i + 1));
}

Result<bool> TableAccess::Listing::matches_filter(const Row& row) const {
  if (!filtered_) return true;
  const Node body = TRY(parse_json(row.text(kBodyColumn), kMostBodyBytes));
  return matches(query_.filter,
                 [&](const std::string& field) { return look_up_field(body, field); });
}

Result<std::string> TableAccess::Listing::run(
    Session& session, const std::function<Result<void>(const Row&)>& accept) {
  int64_t taken = 0;
  int64_t scanned = 0;
  std::vector<Value> last;
  bool more = false;
  const auto done = table_.select(session, tail_, values_, [&](const Row& row) -> Result<void> {
    const bool matched = TRY(matches_filter(row));
    if ((matched && taken == limit_) || scanned == kMostScannedRows) {
      more = true;
      return Error::of(Code::gone, "the page is full");  // ends the query
    }
    ++scanned;
    if (matched) {
      ++taken;
      TRY(accept(row));
    }
    // Where the next page begins: at this row, unless it was only passed over on the way to one.
    if (!matched && scanned < kMostScannedRows) return {};
    last.clear();
    for (const By& by : order_) last.push_back(row_value(row, by.at, by.kind));
    return {};
  });
  if (more) return make_cursor(order_text_, last);
  if (!done.ok()) return done.error();
  return std::string();
}

Result<std::string> TableAccess::list(Session& session, const ListQuery& query,
                                      const std::function<Result<void>(const Row&)>& accept) const {
  Listing listing(*this, query);
  TRY(listing.prepare());
  return listing.run(session, accept);
}

}  // namespace hearth::db
