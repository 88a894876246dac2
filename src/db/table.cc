#include "db/table.h"

#include "base/format.h"
#include "db/tables.h"

namespace hearth::db {
namespace {

// Of what select() selects: id, version, body, then the spec's.
constexpr int kBodyColumn = 2;
constexpr int kFirstColumn = 3;

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

}  // namespace

TableAccess::TableAccess(const TableSpec& spec, const Type& type) : spec_(spec), type_(type) {
  std::string names = "id, version, body", places = "$1, $2, $3";
  std::string sets = "version = $2, body = $3";
  for (const std::string& column : spec.columns) {
    const Field* found = field(column);
    CHECK(found != nullptr && !found->optional_value);
    columns_.push_back(found);
    const size_t place = columns_.size() + 3;
    names += ", " + quoted(column);
    places += format(", ${}", place);
    sets += format(", {} = ${}", quoted(column), place);
  }
  insert_ = format("INSERT INTO {} ({}) VALUES ({})", spec.name, names, places);
  update_ = format("UPDATE {} SET {} WHERE id = $1 AND version = ${}", spec.name, sets,
                   columns_.size() + 4);
  remove_ = format("DELETE FROM {} WHERE id = $1", spec.name);
  body_ = format("SELECT body FROM {} WHERE id = $1", spec.name);
  select_ = format("SELECT {} FROM {} ", names, spec.name);
}

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
  for (const Field* column : columns_) values.push_back(column_value(*column, object));
  return values;
}

Result<void> TableAccess::insert(Session& session, const void* object) const {
  TRY(session.execute(insert_, values_of(object)));
  return note(session, *static_cast<const std::string*>(field("id")->in(object)));
}

Result<void> TableAccess::update(Session& session, const void* object, int64_t expected) const {
  auto values = values_of(object);
  values.emplace_back(expected);
  if (TRY(session.execute(update_, values)) == 1)
    return note(session, std::get<std::string>(values[0]));
  return Error::conflict(format("{} '{}' was changed by somebody else meanwhile", type_.name,
                                std::get<std::string>(values[0])),
                         "read it again and repeat the change");
}

Result<bool> TableAccess::remove(Session& session, const std::string& id) const {
  if (TRY(session.execute(remove_, {id})) == 0) return false;
  TRY(note(session, id));
  return true;
}

Result<void> TableAccess::note(Session& session, const std::string& id) const {
  return spec_.journal ? note_run_change(session, id) : Result<void>();
}

Result<std::optional<std::string>> TableAccess::body(Session& session,
                                                     const std::string& id) const {
  std::optional<std::string> text;
  TRY(session.query(body_, {id}, [&](const Row& row) -> Result<void> {
    text = std::string(row.text(0));
    return {};
  }));
  return text;
}

Result<void> TableAccess::select(Session& session, std::string_view tail,
                                 std::span<const Value> values,
                                 const std::function<Result<void>(const Row&)>& each) const {
  return session.query(select_ + std::string(tail), values, each);
}

Result<void> TableAccess::load(const Row& row, void* object) const {
  const Node body = TRY(parse_json(row.text(kBodyColumn), kMostBodyBytes));
  auto decoded = decode(body, type_, object, Origin::server);
  if (!decoded.ok()) return std::move(decoded).error().with(format("a row of {}", spec_.name));
  for (size_t i = 0; i < columns_.size(); ++i)
    if (columns_[i]->is_secret)  // not in the body
      *static_cast<std::string*>(columns_[i]->in(object)) =
          row.text(kFirstColumn + static_cast<int>(i));
  return {};
}

}  // namespace hearth::db
