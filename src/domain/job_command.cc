// ${params.x} in commands. Values go by variables of the environment, never into shell text.
#include "base/format.h"
#include "base/units.h"
#include "domain/job_spec.h"
#include "domain/scalar.h"
#include "domain/tree_builder.h"

namespace hearth {
namespace {

constexpr std::string_view kOpening = "${params.";
constexpr std::string_view kVariablePrefix = "HEARTH_PARAM_";

bool is_name_character(char c, bool first) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         (!first && c >= '0' && c <= '9');
}

Error reference_error(std::string found, std::string allowed, std::string mend) {
  Error error =
      mistakes_error({{"command", 0, std::move(found), std::move(allowed), std::move(mend)}});
  error.detail = "command: found " + error.errors[0].found;
  return error;
}

// The name of the reference that begins `text`, which begins with kOpening.
Result<std::string_view> name_of(std::string_view text,
                                 const std::map<std::string, Param>& params) {
  const std::string_view rest = text.substr(kOpening.size());
  size_t length = 0;
  while (length < rest.size() && is_name_character(rest[length], length == 0)) ++length;
  if (length == 0 || length == rest.size() || rest[length] != '}')
    return reference_error(format("'{}'", shortened(text.substr(0, text.find('\n')))),
                           "${params.NAME}", "write the name of a parameter and a closing brace");
  const std::string_view name = rest.substr(0, length);
  if (params.contains(std::string(name))) return name;
  std::vector<std::string> names;
  for (const auto& [known, param] : params) names.push_back(known);
  const std::string near = nearest(name, names);
  return reference_error(
      format("the unknown parameter '{}'", shortened(name)),
      names.empty() ? "names that stand in params" : format("one of {}", join(names, ", ")),
      near.empty() ? format("add {} to params", shortened(name))
                   : format("did you mean '{}'?", near));
}

// Walks over shell text and knows at each character which quoting rules hold there.
class ShellText {
 public:
  ShellText(std::string_view text, const std::map<std::string, Param>& params)
      : text_(text), params_(params) {}

  Result<std::string> convert() {
    while (at_ < text_.size()) {
      if (rest().starts_with("$${params.")) {
        TRY(escaped_reference());
      } else if (rest().starts_with(kOpening)) {
        TRY(reference());
      } else {
        step();
      }
    }
    return std::move(out_);
  }

 private:
  enum class Place {
    bare,      // plain text; the inside of $(...) too
    subshell,  // (...), plain text as well
    single_quotes,
    double_quotes,
    back_quotes,
    braces,        // ${...}
    arithmetic,    // $((...))
    ansi_quotes,   // $'...', which shells read differently
    document,      // of a here-document
    raw_document,  // of a here-document whose end is quoted
  };
  struct Document {
    std::string end;
    bool raw = false, tabs = false;
  };

  std::string_view rest() const { return text_.substr(at_); }
  Place place() const { return places_.back(); }
  void push(Place place) { places_.push_back(place); }
  void pop() {
    if (places_.size() > 1) places_.pop_back();
  }
  void copy(size_t n) {
    n = std::min(n, text_.size() - at_);
    out_.append(text_, at_, n);
    at_ += n;
  }

  Result<void> reference() {
    const std::string_view name = TRY(name_of(rest(), params_));
    const std::string variable = format("${{{}{}}}", kVariablePrefix, name);
    switch (place()) {
      case Place::bare:
      case Place::subshell:
        out_ += '"' + variable + '"';
        break;
      case Place::double_quotes:
      case Place::document:
        out_ += variable;
        break;
      case Place::single_quotes:
        out_ += "'\"" + variable + "\"'";
        break;
      case Place::raw_document:
        return misplaced(name, "a here-document whose end is quoted", "take its quotes away");
      case Place::back_quotes:
        return misplaced(name, "back-quotes", "write $(...) in place of `...`");
      case Place::braces:
      case Place::arithmetic:
      case Place::ansi_quotes:
        return misplaced(name, "${...}, $((...)) or $'...'",
                         "give it to a variable first, and use that");
    }
    at_ += kOpening.size() + name.size() + 1;
    word_start_ = false;
    return {};
  }
  static Error misplaced(std::string_view name, std::string_view where, std::string mend) {
    return reference_error(format("${{params.{}}} inside {}", shortened(name), where),
                           "a reference in plain text, quotes or $(...)", std::move(mend));
  }

  Result<void> escaped_reference() {
    ++at_;
    const size_t end = rest().find('}');
    if (end == std::string_view::npos)
      return reference_error("'$${params.' without its end", "$${params.NAME}",
                             "write the closing brace");
    if (place() != Place::single_quotes && place() != Place::raw_document) out_ += '\\';
    copy(end + 1);
    word_start_ = false;
    return {};
  }

  void step() {
    switch (place()) {
      case Place::bare:
      case Place::subshell:
        return step_bare();
      case Place::single_quotes:
        if (text_[at_] == '\'') pop();
        return copy(1);
      case Place::double_quotes:
        return step_expanding('"');
      case Place::document:
        return step_document();
      case Place::raw_document:
        if (!at_line_start() || !ends_document()) copy_line();
        return;
      case Place::back_quotes:
        if (text_[at_] == '`') pop();
        return copy(text_[at_] == '\\' ? 2 : 1);
      case Place::braces:
        if (text_[at_] == '{') push(Place::braces);
        if (text_[at_] == '}') pop();
        return copy(text_[at_] == '\\' ? 2 : 1);
      case Place::arithmetic:
        if (text_[at_] == '(') push(Place::arithmetic);
        if (text_[at_] == ')') pop();
        return copy(1);
      case Place::ansi_quotes:
        if (text_[at_] == '\'') pop();
        return copy(text_[at_] == '\\' ? 2 : 1);
    }
  }

  void open_arithmetic(size_t length) {
    copy(length);
    push(Place::arithmetic);
    push(Place::arithmetic);
  }

  // What expands in plain text and in double quotes alike. True when it was one of these.
  bool step_dollar() {
    if (rest().starts_with("$((")) {
      open_arithmetic(3);
    } else if (rest().starts_with("$(")) {
      copy(2);
      push(Place::bare);
      word_start_ = true;
    } else if (rest().starts_with("${")) {
      copy(2);
      push(Place::braces);
    } else if (text_[at_] == '`') {
      copy(1);
      push(Place::back_quotes);
    } else if (text_[at_] == '\\') {
      copy(2);
    } else {
      return false;
    }
    return true;
  }

  void step_expanding(char end) {
    if (step_dollar()) return;
    if (text_[at_] == end) pop();
    copy(1);
  }

  void step_bare() {
    const bool at_word_start = std::exchange(word_start_, false);
    const char c = text_[at_];
    if (rest().starts_with("$'")) {
      copy(2);
      return push(Place::ansi_quotes);
    }
    if (step_dollar()) return;
    if (rest().starts_with("((")) return open_arithmetic(2);
    if (c == '#' && at_word_start) return copy(std::min(rest().find('\n'), rest().size()));
    if (rest().starts_with("<<") && !rest().starts_with("<<<")) return note_document();
    switch (c) {
      case '\'':
        push(Place::single_quotes);
        break;
      case '"':
        push(Place::double_quotes);
        break;
      case '(':
        push(Place::subshell);
        word_start_ = true;
        break;
      case ')':
        word_start_ = place() == Place::subshell || places_.size() == 1;
        pop();
        break;
      case '\n':
        copy(1);
        word_start_ = true;
        return open_document();
      case ' ':
      case '\t':
      case ';':
      case '&':
      case '|':
        word_start_ = true;
        break;
      default:
        break;
    }
    copy(rest().starts_with("<<<") ? 3 : 1);
  }

  // `<<END`, `<<-'END'`: the document begins on the next line.
  void note_document() {
    copy(2);
    Document document;
    if (rest().starts_with('-')) {
      document.tabs = true;
      copy(1);
    }
    while (rest().starts_with(' ') || rest().starts_with('\t')) copy(1);
    constexpr std::string_view ends_word = " \t\n;&|<>()";
    char quote = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (quote == 0 && ends_word.find(c) != std::string_view::npos) break;
      if (quote == 0 && (c == '\'' || c == '"')) {
        quote = c;
        document.raw = true;
      } else if (quote != 0 && c == quote) {
        quote = 0;
      } else if (quote == 0 && c == '\\') {
        document.raw = true;
      } else {
        document.end += c;
      }
      copy(1);
    }
    documents_.push_back(std::move(document));
  }
  void open_document() {
    if (documents_.empty()) return;
    push(documents_.front().raw ? Place::raw_document : Place::document);
  }
  bool at_line_start() const { return at_ > 0 && text_[at_ - 1] == '\n'; }
  // At the start of a line: true when it was the end of the document, which is then copied.
  bool ends_document() {
    std::string_view line = rest().substr(0, rest().find('\n'));
    const size_t length = line.size();
    if (documents_.front().tabs)
      while (line.starts_with('\t')) line.remove_prefix(1);
    if (line != documents_.front().end) return false;
    documents_.erase(documents_.begin());
    pop();
    copy(length + 1);
    word_start_ = true;
    open_document();
    return true;
  }
  // A raw document is read by whole lines; a reference in one is an error at its own place.
  void copy_line() {
    const size_t line = std::min(rest().find('\n'), rest().size() - 1) + 1;
    const size_t reference = rest().find(kOpening);
    if (reference == 0 || reference > line) return copy(line);
    const bool is_escaped = text_[at_ + reference - 1] == '$';
    copy(is_escaped ? reference - 1 : reference);
  }
  void step_document() {
    if (at_line_start() && ends_document()) return;
    if (!step_dollar()) copy(1);
  }

  std::string_view text_;
  const std::map<std::string, Param>& params_;
  size_t at_ = 0;
  std::string out_;
  std::vector<Place> places_{Place::bare};
  std::vector<Document> documents_;
  bool word_start_ = true;  // in plain text: a `#` here begins a comment
};

Result<std::string> convert_word(std::string_view word, const std::map<std::string, Param>& params,
                                 const std::map<std::string, std::string>& values) {
  std::string out;
  while (!word.empty()) {
    const size_t at = word.find(kOpening);
    if (at == std::string_view::npos) {
      out += word;
      break;
    }
    if (at > 0 && word[at - 1] == '$') {
      out.append(word, 0, at - 1).append(kOpening);
      word.remove_prefix(at + kOpening.size());
      continue;
    }
    out.append(word, 0, at);
    const std::string_view name = TRY(name_of(word.substr(at), params));
    out += values.at(format("{}{}", kVariablePrefix, name));
    word.remove_prefix(at + kOpening.size() + name.size() + 1);
  }
  return out;
}

}  // namespace

Result<ReadyCommand> make_command(const Command& command,
                                  const std::map<std::string, Param>& params) {
  ReadyCommand ready;
  for (const auto& [name, param] : params) {
    std::string value = param.value.text;
    if (value.starts_with('"')) value = TRY(parse_json(value)).text;
    ready.env.emplace(format("{}{}", kVariablePrefix, name), std::move(value));
  }
  if (command.words.empty()) {
    ready.argv = {"/bin/sh", "-c", TRY(ShellText(command.text, params).convert())};
    return ready;
  }
  for (const std::string& word : command.words)
    ready.argv.push_back(TRY(convert_word(word, params, ready.env)));
  return ready;
}

}  // namespace hearth
