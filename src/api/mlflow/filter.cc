#include "api/mlflow/filter.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/bytes.h"
#include "base/format.h"
#include "base/units.h"
#include "domain/scalar.h"

namespace hearth::api::mlflow {
namespace {

using control::Column;
using control::Compare;
using control::Comparison;
using control::Order;
using control::Side;

constexpr size_t kMostShown = 80;

struct Attribute {
  std::string_view name;  // as it may be written
  std::string_view key;   // what it is called inside
  bool number = false;
  bool in = false;  // takes IN and NOT IN
  bool order = true;
};
constexpr std::array kRunAttributes = {
    Attribute{"run_id", "run_id", false, true},
    Attribute{"run_name", "run_name"},
    Attribute{"run name", "run_name"},
    Attribute{"Run name", "run_name"},
    Attribute{"Run Name", "run_name"},
    Attribute{"user_id", "user_id"},
    Attribute{"status", "status"},
    Attribute{"artifact_uri", "artifact_uri"},
    Attribute{"experiment_id", "experiment_id"},
    Attribute{"start_time", "start_time", true},
    Attribute{"end_time", "end_time", true},
    Attribute{"created", "start_time", true},
    Attribute{"Created", "start_time", true},
};
constexpr std::array kExperimentAttributes = {
    Attribute{"name", "name"},
    Attribute{"experiment_id", "experiment_id"},
    Attribute{"creation_time", "creation_time", true},
    Attribute{"last_update_time", "last_update_time", true},
};
constexpr std::array kModelAttributes = {
    Attribute{"name", "name"},
    Attribute{"timestamp", "last_updated_timestamp", true},
    Attribute{"creation_timestamp", "creation_timestamp", true},
    Attribute{"last_updated_timestamp", "last_updated_timestamp", true},
};
constexpr std::array kVersionAttributes = {
    Attribute{"name", "name"},
    Attribute{"run_id", "run_id", false, true},
    Attribute{"source_path", "source_path"},
    Attribute{"source", "source_path"},
    Attribute{"version_number", "version_number", true},
    Attribute{"version", "version_number", true},
    Attribute{"creation_timestamp", "creation_timestamp", true},
    Attribute{"last_updated_timestamp", "last_updated_timestamp", true},
};
constexpr std::array kLoggedAttributes = {
    Attribute{"name", "name"},
    Attribute{"model_id", "model_id"},
    Attribute{"model_type", "model_type"},
    Attribute{"status", "status"},
    Attribute{"source_run_id", "source_run_id"},
    Attribute{"creation_timestamp", "creation_timestamp", true},
    Attribute{"creation_time", "creation_timestamp", true},
    Attribute{"last_updated_timestamp", "last_updated_timestamp", true},
    Attribute{"last_updated_time", "last_updated_timestamp", true},
};

std::span<const Attribute> attributes_of(Noun noun) {
  switch (noun) {
    case Noun::run:
      return kRunAttributes;
    case Noun::experiment:
      return kExperimentAttributes;
    case Noun::registered_model:
      return kModelAttributes;
    case Noun::model_version:
      return kVersionAttributes;
    case Noun::logged_model:
      return kLoggedAttributes;
  }
  return {};
}

struct Entity {
  std::string_view word;
  Side side;
};
constexpr std::array kEntities = {
    Entity{"attribute", Side::attribute},
    Entity{"attributes", Side::attribute},
    Entity{"attr", Side::attribute},
    Entity{"run", Side::attribute},
    Entity{"metric", Side::metric},
    Entity{"metrics", Side::metric},
    Entity{"param", Side::param},
    Entity{"params", Side::param},
    Entity{"parameter", Side::param},
    Entity{"parameters", Side::param},
    Entity{"tag", Side::tag},
    Entity{"tags", Side::tag},
    Entity{"dataset", Side::dataset},
    Entity{"datasets", Side::dataset},
};

bool has_side(Noun noun, Side side) {
  if (side == Side::attribute || side == Side::tag) return true;
  if (noun == Noun::run) return true;
  return noun == Noun::logged_model && side != Side::dataset;
}

std::string known_entities(Noun noun) {
  std::vector<std::string_view> words{"attributes", "tags"};
  if (has_side(noun, Side::metric)) words.insert(words.end(), {"metrics", "params"});
  if (has_side(noun, Side::dataset)) words.emplace_back("datasets");
  return format("{}", join(words, ", "));
}

std::string known_attributes(Noun noun) {
  std::vector<std::string_view> names;
  for (const Attribute& one : attributes_of(noun))
    if (std::find(names.begin(), names.end(), one.key) == names.end()) names.push_back(one.key);
  return format("{}", join(names, ", "));
}

std::string shown(std::string_view text) {
  std::string cut(text.substr(0, kMostShown));
  if (text.size() > kMostShown) cut += "...";
  return to_utf8_lossy(cut);
}

// The column that `entity`.`key` names, and what may be done with it.
struct Target {
  Column column;
  bool number = false;
  bool in = false;
};

Result<Target> target_of(std::string_view entity, std::string_view key, Noun noun) {
  Target target;
  if (!entity.empty()) {
    const auto known = std::find_if(kEntities.begin(), kEntities.end(),
                                    [&](const Entity& e) { return e.word == entity; });
    // Logged models know the plural words alone.
    const bool odd = noun == Noun::logged_model && known != kEntities.end() &&
                     (!entity.ends_with('s') || entity == "parameters");
    if (known == kEntities.end() || odd || !has_side(noun, known->side))
      return Error::invalid(format("Invalid entity type '{}'", shown(entity)),
                            format("valid ones are: {}", known_entities(noun)));
    target.column.side = known->side;
  }
  if (key.empty()) return Error::invalid("Invalid identifier: the key is empty");
  target.column.key = key;
  target.number = target.column.side == Side::metric;
  if (target.column.side == Side::dataset) {
    target.in = true;
    if (key != "name" && key != "digest" && key != "context")
      return Error::invalid(format("Invalid dataset attribute key '{}'", shown(key)),
                            "valid ones are: name, digest, context");
  }
  if (target.column.side != Side::attribute) return target;
  for (const Attribute& one : attributes_of(noun)) {
    if (one.name != key) continue;
    target.column.key = one.key;
    target.number = one.number;
    target.in = one.in;
    return target;
  }
  return Error::invalid(format("Invalid attribute key '{}'", shown(key)),
                        format("valid ones are: {}", known_attributes(noun)));
}

struct Token {
  enum class Kind { end, word, quoted, op, open, close, comma };
  Kind kind = Kind::end;
  std::string text;
  char quote = 0;
  size_t at = 0;  // column from 1
};

constexpr std::string_view kBlank = " \t\r\n";
constexpr std::string_view kWordEnds = " \t\r\n=!<>(),'\"`;";

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return out;
}

class Parser {
 public:
  Parser(std::string_view text, Noun noun) : text_(text), noun_(noun) {}

  Result<std::vector<Comparison>> filter() {
    std::vector<Comparison> all;
    TRY(next());
    if (token_.kind == Token::Kind::end) return all;
    for (;;) {
      if (all.size() == kMostComparisons)
        return Error::invalid(format("a filter has at most {} comparisons", kMostComparisons));
      all.push_back(TRY(comparison()));
      if (token_.kind == Token::Kind::end) return all;
      if (!is_word("AND"))
        return wrong("AND between comparisons, or the end",
                     is_word("OR") ? "OR is not known: search twice" : "");
      TRY(next());
    }
  }

  // One item of order_by.
  Result<Order> order() {
    Order order;
    TRY(next());
    order.column = TRY(left()).column;
    if (order.column.side == Side::dataset)
      return Error::invalid("Invalid order_by: runs have no order by datasets");
    if (token_.kind == Token::Kind::end) return order;
    if (!is_word("ASC") && !is_word("DESC")) return wrong("ASC, DESC or the end", "");
    order.descending = is_word("DESC");
    TRY(next());
    if (token_.kind != Token::Kind::end) return wrong("the end", "");
    return order;
  }

 private:
  Error wrong(std::string_view allowed, std::string mend) const {
    const std::string found =
        token_.kind == Token::Kind::end ? "the end" : format("'{}'", shown(token_.text));
    return Error::invalid(format("Invalid clause(s) in filter string: found {} at column {}, "
                                 "expected {}",
                                 found, token_.at, allowed),
                          std::move(mend));
  }
  bool is_word(std::string_view word) const {
    return token_.kind == Token::Kind::word && upper(token_.text) == word;
  }

  Result<void> next() {
    while (at_ < text_.size() && kBlank.find(text_[at_]) != std::string_view::npos) ++at_;
    token_ = Token();
    token_.at = at_ + 1;
    if (at_ == text_.size()) return {};
    const char c = text_[at_];
    if (c == '\'' || c == '"' || c == '`') return quoted(c);
    if (c == '(' || c == ')' || c == ',') {
      token_.kind = c == '('   ? Token::Kind::open
                    : c == ')' ? Token::Kind::close
                               : Token::Kind::comma;
      token_.text = c;
      ++at_;
      return {};
    }
    if (std::string_view("=!<>").find(c) != std::string_view::npos) {
      token_.kind = Token::Kind::op;
      size_t end = at_ + 1;
      if (end < text_.size() && text_[end] == '=') ++end;
      token_.text = text_.substr(at_, end - at_);
      at_ = end;
      return {};
    }
    const size_t end = std::min(text_.find_first_of(kWordEnds, at_), text_.size());
    token_.kind = Token::Kind::word;
    token_.text = text_.substr(at_, std::max<size_t>(end - at_, 1));
    at_ = std::max(end, at_ + 1);
    return {};
  }

  Result<void> quoted(char quote) {
    token_.kind = Token::Kind::quoted;
    token_.quote = quote;
    if (take_quoted(text_, at_, Backslash::plain, token_.text)) return {};
    return Error::invalid(
        format("Invalid clause(s) in filter string: the {} at column {} is not "
               "closed",
               quote, token_.at));
  }

  // ENTITY.KEY, KEY, ENTITY.`KEY`, `KEY`.
  Result<Target> left() {
    std::string entity, key;
    if (token_.kind == Token::Kind::quoted && token_.quote != '\'') {
      key = token_.text;
      TRY(next());
      return target_of("", key, noun_);
    }
    if (token_.kind != Token::Kind::word) return wrong("a key, as in metrics.loss", "");
    const std::string word = token_.text;
    const size_t dot = word.find('.');
    const bool key_follows = dot != std::string::npos && dot + 1 == word.size() &&
                             at_ < text_.size() && (text_[at_] == '`' || text_[at_] == '"');
    if (dot == std::string::npos) {
      key = word;
    } else {
      entity = word.substr(0, dot);
      key = word.substr(dot + 1);
    }
    TRY(next());
    if (key_follows) {
      key = token_.text;
      TRY(next());
    }
    return target_of(entity, key, noun_);
  }

  Result<Compare> op(const Target& target) {
    struct Word {
      std::string_view text;
      Compare op;
    };
    static constexpr std::array kSigns = {
        Word{"=", Compare::equal},   Word{"!=", Compare::not_equal},
        Word{"<", Compare::less},    Word{"<=", Compare::less_equal},
        Word{">", Compare::greater}, Word{">=", Compare::greater_equal}};
    std::optional<Compare> found;
    const std::string written = token_.text;
    const size_t at = token_.at;
    if (token_.kind == Token::Kind::op) {
      for (const Word& sign : kSigns)
        if (sign.text == token_.text) found = sign.op;
    } else if (is_word("LIKE")) {
      found = Compare::like;
    } else if (is_word("ILIKE")) {
      found = Compare::ilike;
    } else if (is_word("IN")) {
      found = Compare::in;
    } else if (is_word("NOT")) {
      TRY(next());
      if (is_word("IN")) found = Compare::not_in;
    }
    const bool fits = found && (target.number ? *found <= Compare::greater_equal
                                : *found >= Compare::in
                                    ? target.in
                                    : *found <= Compare::not_equal || *found >= Compare::like);
    if (!fits)
      return Error::invalid(format("Invalid comparator '{}' at column {}; '{}' takes {}",
                                   shown(written), at, target.column.key,
                                   target.number ? "=, !=, >, >=, <, <="
                                   : target.in   ? "=, !=, LIKE, ILIKE, IN, NOT IN"
                                                 : "=, !=, LIKE, ILIKE"));
    TRY(next());
    return *found;
  }

  Result<void> list(Comparison& comparison) {
    if (token_.kind != Token::Kind::open) return wrong("a list, as in ('a', 'b')", "");
    do {
      TRY(next());
      if (token_.kind != Token::Kind::quoted || token_.quote == '`')
        return wrong("a text in quotes", "a list has at least one of them");
      if (comparison.list.size() == kMostListItems)
        return Error::invalid(format("a list has at most {} items", kMostListItems));
      comparison.list.push_back(std::move(token_.text));
      TRY(next());
    } while (token_.kind == Token::Kind::comma);
    if (token_.kind != Token::Kind::close) return wrong("',' or ')'", "");
    return next();
  }

  Result<Comparison> comparison() {
    const Target target = TRY(left());
    Comparison made;
    made.column = target.column;
    made.op = TRY(op(target));
    if (made.op >= Compare::in) {
      TRY(list(made));
      return made;
    }
    if (target.number) {
      const auto number =
          token_.kind == Token::Kind::word ? real_of(token_.text) : std::optional<double>();
      if (!number)
        return Error::invalid(format("Expected a numeric value for '{}' at column {}. Got '{}'",
                                     target.column.key, token_.at, shown(token_.text)));
      made.number = *number;
    } else {
      if (token_.kind != Token::Kind::quoted || token_.quote == '`')
        return Error::invalid(
            format("Expected a quoted string value for '{}' at column {} (e.g. 'my-value'). Got "
                   "'{}'",
                   target.column.key, token_.at, shown(token_.text)),
            "put the value in single quotes");
      made.text = std::move(token_.text);
    }
    TRY(next());
    return made;
  }

  std::string_view text_;
  const Noun noun_;
  size_t at_ = 0;
  Token token_;
};

}  // namespace

Result<std::vector<Comparison>> parse_filter(std::string_view text, Noun noun) {
  if (text.size() > kMostSearchBytes)
    return Error::invalid(format("a filter has at most {} bytes", kMostSearchBytes));
  if (!is_utf8(text)) return Error::invalid("the filter is not UTF-8");
  return Parser(text, noun).filter();
}

Result<std::vector<Order>> parse_order(const std::vector<std::string>& items, Noun noun) {
  if (items.size() > kMostOrderItems)
    return Error::invalid(format("order_by has at most {} items", kMostOrderItems));
  std::vector<Order> all;
  for (const std::string& item : items) {
    auto order = Parser(item, noun).order();
    if (!order.ok())
      return std::move(order.error()).with(format("Invalid order_by clause '{}'", shown(item)));
    for (const Order& before : all)
      if (before.column.side == order->column.side && before.column.key == order->column.key)
        return Error::invalid(format("`order_by` contains duplicate fields: '{}'", shown(item)));
    all.push_back(std::move(*order));
  }
  return all;
}

bool holds(const Comparison& comparison, const std::optional<std::string>& text) {
  return text && control::compare_texts(*text, comparison);
}

bool holds(const Comparison& comparison, std::optional<double> number) {
  return number && control::compare_numbers(*number, comparison.op, comparison.number);
}

}  // namespace hearth::api::mlflow
