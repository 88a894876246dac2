// JSON through the events of Boost.JSON's parser, line by line: a line break cannot stand inside a
// token of JSON, so counting the pieces gives each value its line.
#include "base/format.h"
#include "base/units.h"
#include "domain/json.h"
#include "domain/scalar.h"
#include "domain/tree_builder.h"

namespace hearth {
namespace {

namespace json = boost::json;

struct Handler {
  static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);

  TreeBuilder tree;
  int line = 1;
  std::string part;  // of a text, key or number that came in pieces

  using Fault = json::error_code;
  using View = json::string_view;

  bool on_document_begin(Fault&) { return true; }
  bool on_document_end(Fault&) { return true; }
  bool on_object_begin(Fault& fault) { return open(Node::Kind::map, fault); }
  bool on_object_end(std::size_t, Fault&) { return tree.close(), true; }
  bool on_array_begin(Fault& fault) { return open(Node::Kind::list, fault); }
  bool on_array_end(std::size_t, Fault&) { return tree.close(), true; }
  bool on_key_part(View text, std::size_t, Fault&) { return add(text); }
  bool on_key(View text, std::size_t, Fault&) {
    add(text);
    tree.key(std::move(part), line);
    part.clear();
    return true;
  }
  bool on_string_part(View text, std::size_t, Fault&) { return add(text); }
  bool on_string(View text, std::size_t, Fault&) {
    add(text);
    return scalar(Node::Kind::text);
  }
  bool on_number_part(View text, Fault&) { return add(text); }
  bool on_int64(int64_t, View text, Fault&) { return number(text); }
  bool on_uint64(uint64_t, View text, Fault&) { return number(text); }
  bool on_double(double, View text, Fault&) { return number(text); }
  bool on_bool(bool value, Fault&) {
    part = value ? "true" : "false";
    return scalar(Node::Kind::boolean);
  }
  bool on_null(Fault&) {
    part = "null";
    return scalar(Node::Kind::null);
  }
  bool on_comment_part(View, Fault&) { return true; }
  bool on_comment(View, Fault&) { return true; }

 private:
  bool open(Node::Kind kind, Fault& fault) {
    if (tree.open(kind, line)) return true;
    fault = json::error::too_deep;
    return false;
  }
  bool add(View text) { return part.append(text.data(), text.size()), true; }
  bool number(View text) {
    add(text);
    return scalar(kind_of_plain(part));
  }
  bool scalar(Node::Kind kind) {
    Node node;
    node.kind = kind;
    node.line = line;
    node.quoted = kind == Node::Kind::text;
    node.typed = true;
    node.text = std::move(part);
    part.clear();
    tree.scalar(std::move(node));
    return true;
  }
};

json::parse_options options() {
  json::parse_options options;
  options.max_depth = static_cast<size_t>(kMostDepth);
  return options;
}

// The parser tells that there is an error, not where: it stands at the end of the shortest
// beginning of the text that cannot be continued.
constexpr size_t kMostBytesToSearch = 64 << 10;
std::optional<size_t> find_fault(std::string_view text) {
  if (text.size() > kMostBytesToSearch) return std::nullopt;
  size_t good = 0, bad = text.size() + 1;
  while (bad - good > 1) {
    const size_t middle = good + (bad - good) / 2;
    json::basic_parser<Handler> parser(options());
    json::error_code fault;
    const size_t used = parser.write_some(true, text.data(), middle, fault);
    (fault || used < middle ? bad : good) = middle;
  }
  return bad - 1;
}

FieldError syntax_error(const Handler& handler, std::string_view text,
                        const json::error_code& fault) {
  FieldError error{.path = handler.tree.path(), .line = handler.line};
  if (fault == json::error::too_deep) {
    error.found = format("nesting deeper than {} levels", kMostDepth);
    error.allowed = format("at most {} levels", kMostDepth);
    error.mend = "make the structure flatter";
    return error;
  }
  error.allowed = format("JSON ({})", fault.message());
  error.mend = "mend the text on this line";
  error.found = "something else";
  if (const std::optional<size_t> at = find_fault(text)) {
    const size_t line_start = text.substr(0, *at).rfind('\n') + 1;
    error.line = 1 + static_cast<int>(std::count(text.begin(), text.begin() + line_start, '\n'));
    const std::string_view rest = trim(text.substr(*at));
    error.found = rest.empty() ? "the end of the text" : format("'{}'", shortened(rest));
    error.mend = format("mend the text at column {}", *at - line_start + 1);
  }
  return error;
}

}  // namespace

Result<Node> parse_json(std::string_view text, size_t most_bytes) {
  if (text.size() > most_bytes)
    return Error::of(Code::too_large,
                     format("the document has {} bytes, more than {}", text.size(), most_bytes),
                     "send less at once");
  const std::string_view whole = text;
  json::basic_parser<Handler> parser(options());
  Handler& handler = parser.handler();
  json::error_code fault;
  do {
    const size_t end = text.find('\n');
    const std::string_view piece = end == std::string_view::npos ? text : text.substr(0, end + 1);
    text.remove_prefix(piece.size());
    const size_t used = parser.write_some(!text.empty(), piece.data(), piece.size(), fault);
    if (!fault && used < piece.size() &&
        piece.find_first_not_of(" \t\r\n", used) != std::string_view::npos)
      fault = json::error::extra_data;
    if (fault) {
      handler.tree.mistake(syntax_error(handler, whole, fault));
      break;
    }
    if (end != std::string_view::npos) ++handler.line;
  } while (!text.empty());
  return handler.tree.finish();
}

}  // namespace hearth
