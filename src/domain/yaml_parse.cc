// YAML through yaml-cpp's events. What a job file must not hold (aliases, anchors, tags, several
// documents, keys given twice, deep nesting) is refused while the events come, so that nothing of
// it is ever built.
#include <exception>
#include <sstream>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "base/bytes.h"
#include "base/format.h"
#include "base/units.h"
#include "domain/scalar.h"
#include "domain/tree_builder.h"

namespace hearth {
namespace {

// Ends the parse from inside an event; caught in parse_yaml.
struct Refusal : std::exception {
  explicit Refusal(FieldError e) : error(std::move(e)) {}
  FieldError error;
};

class Handler : public YAML::EventHandler {
 public:
  Handler(std::string_view text, TreeBuilder& tree) : text_(text), tree_(tree) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1)
      refuse(mark, "a second document", "one document", "put each job into a file of its own");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override {
    check_properties(mark);
    if (tree_.wants_key())
      refuse(mark, "a key that is empty", "a name before the colon", "name the field");
    Node node;
    // The mark of an absent value is that of the token behind it; its key's line says more.
    const int key_line = tree_.pending_key_line();
    node.line = key_line > 0 ? key_line : line_of(mark);
    tree_.scalar(std::move(node));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    refuse(mark, "an alias (*name)", "values written out",
           "write the value here, or put the text in quotes");
  }
  void OnAnchor(const YAML::Mark& mark, const std::string& name) override {
    refuse(mark, format("an anchor (&{})", shortened(name)), "values without anchors",
           "take the anchor away, or put the text in quotes");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                const std::string& value) override {
    check_properties(mark);
    if (tag != "?" && tag != "!") refuse_tag(mark);
    if (tag == "!") check_closed(mark);
    if (tree_.wants_key()) return tree_.key(value, line_of(mark));
    Node node;
    node.quoted = tag == "!";
    node.kind = node.quoted ? Node::Kind::text : kind_of_plain(value);
    node.line = line_of(mark);
    node.text = value;
    tree_.scalar(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    open(Node::Kind::list, mark, tag);
  }
  void OnSequenceEnd() override { tree_.close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    open(Node::Kind::map, mark, tag);
  }
  void OnMapEnd() override { tree_.close(); }

 private:
  static int line_of(const YAML::Mark& mark) { return mark.line + 1; }

  void open(Node::Kind kind, const YAML::Mark& mark, const std::string& tag) {
    check_properties(mark);
    if (!tag.empty() && tag != "?") refuse_tag(mark);
    if (tree_.wants_key())
      refuse(mark, "a list or map as a key", "a name before the colon",
             "put the key in quotes if it begins with [ or {");
    if (!tree_.open(kind, line_of(mark)))
      refuse(mark, format("nesting deeper than {} levels", kMostDepth),
             format("at most {} levels", kMostDepth), "make the structure flatter");
  }
  // The event does not tell an anchor or "!" before the value in every case; the text does.
  void check_properties(const YAML::Mark& mark) {
    const size_t at = static_cast<size_t>(mark.pos);
    if (at >= text_.size()) return;
    if (text_[at] == '!') refuse_tag(mark);
    if (text_[at] == '&') OnAnchor(mark, "");
  }
  // yaml-cpp takes the end of the file for a closing quote.
  void check_closed(const YAML::Mark& mark) {
    size_t at = static_cast<size_t>(mark.pos);
    if (at >= text_.size() || (text_[at] != '"' && text_[at] != '\'')) return;
    const char quote = text_[at];
    for (++at; at < text_.size() && text_[at] != quote; ++at)
      if (quote == '"' && text_[at] == '\\') ++at;
    if (at >= text_.size())
      refuse(mark, format("the quote {} that is not closed", quote), "a closing quote",
             format("close it with {}", quote));
  }
  [[noreturn]] void refuse_tag(const YAML::Mark& mark) {
    refuse(mark, "a tag (!name)", "plain values", "take the tag away, or put the text in quotes");
  }
  [[noreturn]] void refuse(const YAML::Mark& mark, std::string found, std::string allowed,
                           std::string mend) {
    throw Refusal(
        {tree_.path(), line_of(mark), std::move(found), std::move(allowed), std::move(mend)});
  }

  std::string_view text_;
  TreeBuilder& tree_;
  int documents_ = 0;
};

std::string line_text(std::string_view text, int line) {
  for (; line > 1; --line) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) return "the end of the file";
    text.remove_prefix(end + 1);
  }
  text = trim(text.substr(0, text.find('\n')));
  return text.empty() ? "the end of the file" : format("'{}'", shortened(text));
}

FieldError syntax_error(std::string_view text, const TreeBuilder& tree, int line,
                        std::string_view problem) {
  return {tree.path(), line, line_text(text, line), format("YAML ({})", problem),
          "mend this line: indent with spaces, one space behind each colon, and quotes around text "
          "with : # [ ] { } , & * ! | > ' \" % @ or `"};
}

// Characters that YAML forbids; yaml-cpp takes one of them (EOT) for the end of the file.
Result<void> check_characters(std::string_view text) {
  int line = 1;
  for (const char c : text) {
    if (c == '\n') ++line;
    if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) continue;
    if (c == '\n' || c == '\r' || c == '\t') continue;
    return mistakes_error(
        {{"document", line, format("the control character 0x{:02x}", static_cast<unsigned>(c)),
          "printable text", "take the character away"}});
  }
  if (!is_utf8(text))
    return mistakes_error(
        {{"document", 1, "bytes that are not UTF-8", "text in UTF-8", "save the file as UTF-8"}});
  return {};
}

}  // namespace

Result<Node> parse_yaml(std::string_view text, size_t most_bytes) {
  if (text.size() > most_bytes)
    return Error::of(Code::too_large,
                     format("the document has {} bytes, more than {}", text.size(), most_bytes),
                     "keep data in files beside it");
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  TRY(check_characters(text));
  TreeBuilder tree;
  try {
    std::istringstream in{std::string(text)};
    YAML::Parser parser(in);
    Handler handler(text, tree);
    while (parser.HandleNextDocument(handler)) {
    }
  } catch (const Refusal& refusal) {
    tree.mistake(refusal.error);
  } catch (const YAML::Exception& problem) {
    tree.mistake(syntax_error(text, tree, problem.mark.line + 1, problem.msg));
  } catch (const std::exception& problem) {
    return Error::internal(format("the YAML parser failed: {}", problem.what()));
  }
  Node node = TRY(tree.finish());
  if (node.line == 0) node.line = 1;
  return node;
}

}  // namespace hearth
