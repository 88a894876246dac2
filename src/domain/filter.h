// The one filter language of API, CLI and page:
//
//   state = running and params.lr < 0.1 and name ~ cnn
//   not (owner = ann or labels.team in (vision, speech)) and created_at > 2026-11-01
//
// Operators: = != < <= > >= ~ (RE2 search) in, not in; and, or, not, parentheses; values bare or in
// quotes ('it''s' or "a \"b\""; names of fields may be quoted too). A comparison with a field that
// is absent is false (so `not (x = 1)` and `x not in (1)` are true of it).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "domain/describe.h"

namespace hearth {

struct FilterNode {
  enum class Kind { all, any, negation, comparison };
  enum class Operator { equal, not_equal, less, less_equal, greater, greater_equal, match, in };
  Kind kind = Kind::all;  // an empty `all` matches everything
  std::vector<FilterNode> parts;
  std::string field;
  Operator op = Operator::equal;
  std::vector<std::string> values;  // one, or several for `in`
  // Of `~`: the compiled expression, when set_filter_regex was called; else `~` looks for the text.
  std::shared_ptr<const std::function<bool(std::string_view)>> search;
};

constexpr size_t kMostFilterBytes = 4096;
constexpr int kMostFilterDepth = 32;

// Makes a search out of an expression, or says why it is none. This room knows no RE2: the program
// installs it once, before threads start.
using FilterRegex =
    std::function<Result<std::function<bool(std::string_view)>>(std::string_view expression)>;
void set_filter_regex(FilterRegex make);

// "" is the filter that matches all. Errors name the column, what was found, what may stand there.
Result<FilterNode> parse_filter(std::string_view text);
// Fails on fields that `known` refuses, naming the nearest; entries ending in ".*" take any key.
Result<void> check_filter(const FilterNode& filter, const std::vector<std::string>& known);
// Fails on what a field of `item` never has: a state that is none, a number or a time that is none.
Result<void> check_filter_values(const FilterNode& filter, const Type& item);
// Compares as numbers where both sides are numbers, else as text. `look` gives a field's value.
bool matches(const FilterNode& filter,
             const std::function<std::optional<std::string>(const std::string& field)>& look);

// The filter as text again; parse_filter gives back the same.
std::string to_text(const FilterNode& filter);

// A list of fields with commas between them. A field with spaces, commas or colons stands in
// quotes, as in a filter: `id, "metrics.val loss" desc`.
struct ListedField {
  std::string text;    // what the quotes hold; without quotes the whole piece
  std::string behind;  // the quotes; "" without quotes
  bool is_quoted = false;
  size_t column = 1;  // of its first character
};
// `what` is listed (order_by, fields), for errors: quotes that are not closed. "" lists nothing.
Result<std::vector<ListedField>> parse_field_list(std::string_view text, std::string_view what);

// "created_at desc, name" -> [{created_at, true}, {name, false}].
struct OrderBy {
  std::string field;
  bool descending = false;
};
Result<std::vector<OrderBy>> parse_order(std::string_view text,
                                         const std::vector<std::string>& known);

}  // namespace hearth
