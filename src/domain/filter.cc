// Recursive descent over tokens: any = all (or all)*, all = factor (and factor)*,
// factor = not factor | ( any ) | comparison.
#include "domain/filter.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/format.h"
#include "base/units.h"
#include "domain/scalar.h"
#include "domain/tree_builder.h"

namespace hearth {
namespace {

using Operator = FilterNode::Operator;
constexpr size_t kMostOrderFields = 8;

struct OperatorWord {
  std::string_view word;
  Operator op;
};
// Longer ones first: the lexer takes the first that fits.
constexpr std::array kOperators = {
    OperatorWord{"!=", Operator::not_equal},     OperatorWord{"<=", Operator::less_equal},
    OperatorWord{">=", Operator::greater_equal}, OperatorWord{"==", Operator::equal},
    OperatorWord{"=", Operator::equal},          OperatorWord{"<", Operator::less},
    OperatorWord{">", Operator::greater},        OperatorWord{"~", Operator::match},
};
constexpr std::string_view kWordEnds = " \t\r\n()=!<>~,\"'";

FilterRegex& regex() {
  static FilterRegex make;
  return make;
}

struct Token {
  enum class Kind { end, word, quoted, op, open, close, comma };
  Kind kind = Kind::end;
  std::string text;
  size_t at = 0;  // column from 1
  Operator op = Operator::equal;
};

Error filter_error(std::string_view what, std::string found, size_t column, std::string allowed,
                   std::string mend) {
  FieldError error{std::string(what), 1, format("{} at column {}", found, column),
                   std::move(allowed), std::move(mend)};
  Error whole = mistakes_error({error});
  whole.detail = format("{}: found {}, allowed: {}", what, error.found, error.allowed);
  return whole;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<FilterNode> parse() {
    TRY(next());
    if (token_.kind == Token::Kind::end) return FilterNode{};
    FilterNode filter = TRY(any(0));
    if (token_.kind != Token::Kind::end)
      return wrong("and, or, or the end", "put 'and' or 'or' between comparisons");
    return filter;
  }

 private:
  Error wrong(std::string allowed, std::string mend) const {
    std::string found =
        token_.kind == Token::Kind::end ? "the end" : format("'{}'", shortened(token_.text));
    return filter_error("filter", std::move(found), token_.at, std::move(allowed), std::move(mend));
  }

  Result<void> next() {
    while (at_ < text_.size() && trim(text_.substr(at_, 1)).empty()) ++at_;
    token_ = Token{.at = at_ + 1};
    if (at_ == text_.size()) return {};
    const char c = text_[at_];
    if (c == '"' || c == '\'') return quoted(c);
    if (c == '(' || c == ')' || c == ',') {
      token_.kind = c == '('   ? Token::Kind::open
                    : c == ')' ? Token::Kind::close
                               : Token::Kind::comma;
      token_.text = c;
      ++at_;
      return {};
    }
    for (const OperatorWord& known : kOperators) {
      if (!text_.substr(at_).starts_with(known.word)) continue;
      token_.kind = Token::Kind::op;
      token_.op = known.op;
      token_.text = known.word;
      at_ += known.word.size();
      return {};
    }
    const size_t end = std::min(text_.find_first_of(kWordEnds, at_), text_.size());
    token_.text = text_.substr(at_, std::max<size_t>(end - at_, 1));
    token_.kind = Token::Kind::word;
    if (end == at_) return wrong("a field, value or operator", "write != for 'not equal'");
    at_ = end;
    return {};
  }

  Result<void> quoted(char quote) {
    token_.kind = Token::Kind::quoted;
    if (take_quoted(text_, at_, Backslash::escapes, token_.text)) return {};
    return filter_error("filter", format("{}{}", quote, shortened(token_.text)), token_.at,
                        "a text in quotes", format("close it with {}", quote));
  }

  bool is_keyword(std::string_view lower, std::string_view upper) const {
    return token_.kind == Token::Kind::word && (token_.text == lower || token_.text == upper);
  }
  bool is_any_keyword() const {
    return is_keyword("and", "AND") || is_keyword("or", "OR") || is_keyword("not", "NOT") ||
           is_keyword("in", "IN");
  }

  Result<FilterNode> any(int depth) {
    FilterNode node{.kind = FilterNode::Kind::any};
    node.parts.push_back(TRY(all(depth)));
    while (is_keyword("or", "OR")) {
      TRY(next());
      node.parts.push_back(TRY(all(depth)));
    }
    if (node.parts.size() > 1) return node;
    return FilterNode(std::move(node.parts.front()));
  }

  Result<FilterNode> all(int depth) {
    FilterNode node{.kind = FilterNode::Kind::all};
    node.parts.push_back(TRY(factor(depth)));
    while (is_keyword("and", "AND")) {
      TRY(next());
      node.parts.push_back(TRY(factor(depth)));
    }
    if (node.parts.size() > 1) return node;
    return FilterNode(std::move(node.parts.front()));
  }

  Result<FilterNode> factor(int depth) {
    if (depth >= kMostFilterDepth)
      return wrong(format("at most {} levels of parentheses and not", kMostFilterDepth),
                   "write a flatter filter");
    if (is_keyword("not", "NOT")) {
      TRY(next());
      FilterNode node{.kind = FilterNode::Kind::negation};
      node.parts.push_back(TRY(factor(depth + 1)));
      return node;
    }
    if (token_.kind != Token::Kind::open) return comparison();
    TRY(next());
    FilterNode inner = TRY(any(depth + 1));
    if (token_.kind != Token::Kind::close) return wrong("')'", "close the parenthesis");
    TRY(next());
    return inner;
  }

  Result<FilterNode> comparison() {
    if ((token_.kind != Token::Kind::word && token_.kind != Token::Kind::quoted) ||
        is_any_keyword())
      return wrong("a field, not, or '('", "write, for example, state = running");
    FilterNode node{.kind = FilterNode::Kind::comparison};
    node.field = token_.text;
    TRY(next());
    const bool is_negated = is_keyword("not", "NOT");
    if (is_negated) TRY(next());
    if (is_keyword("in", "IN")) {
      node.op = Operator::in;
      TRY(next());
      TRY(list(node));
    } else if (is_negated) {
      return wrong("in", "write, for example, state not in (failed, cancelled)");
    } else {
      if (token_.kind != Token::Kind::op)
        return wrong("one of = != < <= > >= ~ in", "write, for example, state = running");
      node.op = token_.op;
      TRY(next());
      node.values.push_back(TRY(value()));
      if (node.op == Operator::match) TRY(compile(node));
    }
    if (!is_negated) return node;
    FilterNode negation{.kind = FilterNode::Kind::negation};
    negation.parts.push_back(std::move(node));
    return negation;
  }

  Result<void> list(FilterNode& node) {
    if (token_.kind != Token::Kind::open) return wrong("'('", "write, for example, in (a, b)");
    do {
      TRY(next());
      node.values.push_back(TRY(value()));
    } while (token_.kind == Token::Kind::comma);
    if (token_.kind != Token::Kind::close) return wrong("',' or ')'", "close the parenthesis");
    return next();
  }

  Result<std::string> value() {
    if ((token_.kind != Token::Kind::word && token_.kind != Token::Kind::quoted) ||
        is_any_keyword())
      return wrong("a value",
                   "put values with spaces, signs or of the words and, or, not, in "
                   "into quotes");
    value_at_ = token_.at;
    std::string text = std::move(token_.text);
    TRY(next());
    return text;
  }

  Result<void> compile(FilterNode& node) const {
    if (!regex()) return {};
    Result<std::function<bool(std::string_view)>> search = regex()(node.values[0]);
    if (!search.ok())
      return filter_error("filter", format("'{}'", shortened(node.values[0])), value_at_,
                          format("a regular expression ({})", search.error().detail),
                          "mend the expression");
    node.search =
        std::make_shared<const std::function<bool(std::string_view)>>(std::move(search).value());
    return {};
  }

  std::string_view text_;
  size_t at_ = 0;
  size_t value_at_ = 0;
  Token token_;
};

bool is_known(std::string_view field, const std::vector<std::string>& known) {
  for (const std::string& name : known) {
    if (name == field) return true;
    if (name.ends_with(".*") && field.size() > name.size() - 1 &&
        field.starts_with(std::string_view(name).substr(0, name.size() - 1)))
      return true;
  }
  return false;
}

Error unknown_field(std::string_view what, std::string_view field,
                    const std::vector<std::string>& known) {
  const std::string near = nearest(field, known);
  Error error = mistakes_error(
      {{std::string(what), 1, format("the unknown field '{}'", shortened(field)),
        format("the fields {}", join(known, ", ")),
        near.empty() ? "use one of the fields named" : format("did you mean '{}'?", near)}});
  error.detail = format("{}: found {}", what, error.errors[0].found);
  return error;
}

// NaN is compared as a text, so that `loss = NaN` finds it.
std::optional<double> number(std::string_view text) {
  const std::optional<double> value = real_of(text);
  return value && !std::isnan(*value) ? value : std::nullopt;
}

// Below 0, 0 or above 0.
int compare(const std::string& a, const std::string& b) {
  const std::optional<double> x = number(a), y = x ? number(b) : std::nullopt;
  if (x && y) return *x < *y ? -1 : *x > *y ? 1 : 0;
  return a.compare(b);
}

// Of a comparison; null: anything may stand there.
const Type* type_wanted(const FilterNode& node, const Type& item) {
  const auto at = std::ranges::find(item.fields, node.field, &Field::name);
  return node.op == Operator::match || at == item.fields.end() ? nullptr : at->type;
}

// Times are compared as texts, in UTC: any beginning of one will do, 2026-11 as well.
bool begins_time(std::string_view text) {
  constexpr std::string_view kShape = "0000-00-00T00:00:00.000000";
  if (text.ends_with('Z')) text.remove_suffix(1);
  if (text.size() < 4 || text.size() > kShape.size()) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_digit = text[i] >= '0' && text[i] <= '9';
    if (kShape[i] == '0' ? !is_digit : text[i] != kShape[i]) return false;
  }
  return true;
}

// What is wrong with a value: what may stand there, and the mend.
struct WrongValue {
  std::string allowed, mend;
};
std::optional<WrongValue> wrong_value(const FilterNode& node, const Type& type,
                                      const std::string& value) {
  std::vector<std::string> words;
  // `finished_at != ""`: it has one.
  if (value.empty() && type.kind != Kind::enumeration) return std::nullopt;
  switch (type.kind) {
    case Kind::time:
      if (begins_time(value)) return std::nullopt;
      return WrongValue{"a time in UTC, or the beginning of one",
                        "write it as 2026-11-22 or 2026-11-22T08:30"};
    case Kind::integer:
    case Kind::real:
      if (real_of(value)) return std::nullopt;
      return WrongValue{"a number", "write a number"};
    case Kind::boolean:
      words = {"false", "true"};
      break;
    case Kind::enumeration:
      words.assign(type.words.begin(), type.words.end());
      break;
    default:
      return std::nullopt;
  }
  // Words have no order that could be meant: less and greater are not looked at.
  const bool is_text =
      node.op == Operator::equal || node.op == Operator::not_equal || node.op == Operator::in;
  if (!is_text || std::ranges::find(words, value) != words.end()) return std::nullopt;
  const std::string near = nearest(value, words);
  return WrongValue{format("{}", join(words, ", ")),
                    near.empty() ? "use one of these" : format("did you mean '{}'?", near)};
}

bool compares(const FilterNode& node, const std::string& found) {
  switch (node.op) {
    case Operator::equal:
      return compare(found, node.values[0]) == 0;
    case Operator::not_equal:
      return compare(found, node.values[0]) != 0;
    case Operator::less:
      return compare(found, node.values[0]) < 0;
    case Operator::less_equal:
      return compare(found, node.values[0]) <= 0;
    case Operator::greater:
      return compare(found, node.values[0]) > 0;
    case Operator::greater_equal:
      return compare(found, node.values[0]) >= 0;
    case Operator::match:
      return node.search ? (*node.search)(found) : found.find(node.values[0]) != std::string::npos;
    case Operator::in: {
      // As compare() would say, but what was found is read as a number once.
      const std::optional<double> wanted = number(found);
      return std::ranges::any_of(node.values, [&](const std::string& value) {
        return value == found || (wanted && number(value) == wanted);
      });
    }
  }
  return false;
}

std::string quoted_if_needed(const std::string& text) {
  bool plain = !text.empty() && text.find_first_of(kWordEnds) == std::string::npos;
  for (const std::string_view word : {"and", "or", "not", "in", "AND", "OR", "NOT", "IN"})
    plain &= text != word;
  if (plain) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::string_view operator_word(Operator op) {
  for (const OperatorWord& known : kOperators)
    if (known.op == op && known.word != "==") return known.word;
  return "in";
}

std::string part_text(const FilterNode& part) {
  const bool is_group = part.kind == FilterNode::Kind::all || part.kind == FilterNode::Kind::any;
  return is_group ? format("({})", to_text(part)) : to_text(part);
}

}  // namespace

void set_filter_regex(FilterRegex make) {
  regex() = std::move(make);
}

Result<FilterNode> parse_filter(std::string_view text) {
  if (text.size() > kMostFilterBytes)
    return filter_error("filter", format("{} bytes", text.size()), kMostFilterBytes,
                        format("at most {} bytes", kMostFilterBytes), "write a shorter filter");
  return Parser(text).parse();
}

Result<void> check_filter(const FilterNode& filter, const std::vector<std::string>& known) {
  if (filter.kind == FilterNode::Kind::comparison && !is_known(filter.field, known))
    return unknown_field("filter", filter.field, known);
  for (const FilterNode& part : filter.parts) TRY(check_filter(part, known));
  return {};
}

Result<void> check_filter_values(const FilterNode& filter, const Type& item) {
  for (const FilterNode& part : filter.parts) TRY(check_filter_values(part, item));
  if (filter.kind != FilterNode::Kind::comparison) return {};
  const Type* type = type_wanted(filter, item);
  if (type == nullptr) return {};
  for (const std::string& value : filter.values) {
    const auto wrong = wrong_value(filter, *type, value);
    if (!wrong) continue;
    Error error =
        mistakes_error({{"filter", 1, format("{} is never '{}'", filter.field, shortened(value)),
                         wrong->allowed, wrong->mend}});
    error.detail = format("filter: {}", error.errors[0].found);
    return error;
  }
  return {};
}

bool matches(const FilterNode& filter,
             const std::function<std::optional<std::string>(const std::string& field)>& look) {
  switch (filter.kind) {
    case FilterNode::Kind::all:
      for (const FilterNode& part : filter.parts)
        if (!matches(part, look)) return false;
      return true;
    case FilterNode::Kind::any:
      for (const FilterNode& part : filter.parts)
        if (matches(part, look)) return true;
      return false;
    case FilterNode::Kind::negation:
      return !matches(filter.parts[0], look);
    case FilterNode::Kind::comparison: {
      const std::optional<std::string> found = look(filter.field);
      return found && compares(filter, *found);
    }
  }
  return false;
}

std::string to_text(const FilterNode& filter) {
  switch (filter.kind) {
    case FilterNode::Kind::all:
    case FilterNode::Kind::any: {
      std::string text;
      for (const FilterNode& part : filter.parts) {
        if (!text.empty()) text += filter.kind == FilterNode::Kind::all ? " and " : " or ";
        text += part_text(part);
      }
      return text;
    }
    case FilterNode::Kind::negation:
      return "not " + part_text(filter.parts[0]);
    case FilterNode::Kind::comparison:
      break;
  }
  if (filter.op != Operator::in)
    return format("{} {} {}", quoted_if_needed(filter.field), operator_word(filter.op),
                  quoted_if_needed(filter.values[0]));
  std::vector<std::string> values;
  for (const std::string& value : filter.values) values.push_back(quoted_if_needed(value));
  return format("{} in ({})", quoted_if_needed(filter.field), join(values, ", "));
}

Result<std::vector<ListedField>> parse_field_list(std::string_view text, std::string_view what) {
  std::vector<ListedField> list;
  if (trim(text).empty()) return list;
  for (size_t at = 0; at <= text.size(); ++at) {  // past a comma
    while (at < text.size() && trim(text.substr(at, 1)).empty()) ++at;
    ListedField& field = list.emplace_back();
    field.column = at + 1;
    field.is_quoted = at < text.size() && (text[at] == '"' || text[at] == '\'');
    if (field.is_quoted && !take_quoted(text, at, Backslash::escapes, field.text))
      return filter_error(what, format("'{}'", shortened(text.substr(field.column - 1))),
                          field.column, "a field in quotes", "close the quotes");
    const size_t end = std::min(text.find(',', at), text.size());
    (field.is_quoted ? field.behind : field.text) = trim(text.substr(at, end - at));
    at = end;
  }
  return list;
}

Result<std::vector<OrderBy>> parse_order(std::string_view text,
                                         const std::vector<std::string>& known) {
  std::vector<OrderBy> order;
  for (ListedField& listed : TRY(parse_field_list(text, "order_by"))) {
    const std::string piece = format("{} {}", listed.text, listed.behind);
    if (!listed.is_quoted) {
      const size_t space = std::min(listed.text.find_first_of(" \t"), listed.text.size());
      listed.behind = trim(std::string_view(listed.text).substr(space));
      listed.text.resize(space);
    }
    const std::string_view direction = listed.behind;
    OrderBy by{std::move(listed.text), direction == "desc"};
    if (by.field.empty() || (!direction.empty() && direction != "desc" && direction != "asc"))
      return filter_error("order_by", format("'{}'", shortened(trim(piece))), listed.column,
                          "FIELD, FIELD asc or FIELD desc, a FIELD with spaces in quotes",
                          "write, for example, created_at desc, \"metrics.val loss\"");
    if (!is_known(by.field, known)) return unknown_field("order_by", by.field, known);
    if (order.size() == kMostOrderFields)
      return filter_error("order_by", format("more than {} fields", kMostOrderFields),
                          listed.column, format("at most {} fields", kMostOrderFields),
                          "take some out");
    order.push_back(std::move(by));
  }
  return order;
}

}  // namespace hearth
