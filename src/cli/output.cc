#include "cli/output.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include <sys/ioctl.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/format.h"
#include "base/units.h"
#include "domain/wire/api.h"

namespace hearth {

// An error as `--json` tells it.
struct ToldError {
  std::string code, detail, mend, file;
  std::vector<FieldError> errors;
  bool operator==(const ToldError&) const = default;
};
template <>
struct Describe<ToldError> {
  static constexpr std::string_view name = "ToldError", doc = "What went wrong.";
  static void fields(Fields<ToldError>& f) {
    f("code", &ToldError::code,
      "as the HTTP interface has them, unreachable, or usage, wait_over, differs");
    f("detail", &ToldError::detail, "what happened");
    f("mend", &ToldError::mend, "what to do about it");
    f("file", &ToldError::file, "whose lines `errors` means");
    f("errors", &ToldError::errors, "the mistakes in the input");
  }
};

}  // namespace hearth

namespace hearth::cli {
namespace {

Screen find_screen() {
  Screen found;
  found.out_is_terminal = isatty(STDOUT_FILENO) == 1;
  found.error_is_terminal = isatty(STDERR_FILENO) == 1;
  const char* none = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  found.colour = found.out_is_terminal && (none == nullptr || *none == '\0') &&
                 std::string_view(term == nullptr ? "" : term) != "dumb";
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) found.width = size.ws_col;
  return found;
}

constexpr std::string_view code_of(Colour colour) {
  switch (colour) {
    case Colour::dim:
      return "2";
    case Colour::bold:
      return "1";
    case Colour::red:
      return "31";
    case Colour::green:
      return "32";
    case Colour::yellow:
      return "33";
    case Colour::blue:
      return "34";
    case Colour::none:
      break;
  }
  return "";
}

std::string on_one_line(std::string_view cell) {
  std::string text(cell);
  for (char& c : text)
    if (c == '\t' || c == '\n' || c == '\r') c = ' ';
  return text;
}

}  // namespace

const Screen& screen() {
  static const Screen found = find_screen();
  return found;
}

size_t shown_width(std::string_view text) {
  size_t width = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\033') {
      while (i < text.size() && text[i] != 'm') ++i;
      continue;
    }
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) ++width;
  }
  return width;
}

std::string printable(std::string_view text) {
  std::string clean(text);
  for (char& c : clean)
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f) c = '?';
  return clean;
}

std::string paint(std::string_view text, Colour colour, const Screen& screen) {
  if (!screen.colour || colour == Colour::none || text.empty()) return std::string(text);
  return format("\033[{}m{}\033[0m", code_of(colour), text);
}

std::string state_word(JobState state, const Screen& screen) {
  switch (state) {
    case JobState::succeeded:
      return paint(word(state), Colour::green, screen);
    case JobState::failed:
      return paint(word(state), Colour::red, screen);
    case JobState::cancelled:
      return paint(word(state), Colour::yellow, screen);
    case JobState::queued:
      return std::string(word(state));
    case JobState::preparing:
    case JobState::running:
    case JobState::saving:
      return paint(word(state), Colour::blue, screen);
  }
  return std::string(word(state));
}

std::string Table::text(const Screen& screen) const {
  std::string out;
  if (!screen.out_is_terminal) {
    for (const auto& row : rows_) {
      for (size_t i = 0; i < row.size(); ++i) out += (i > 0 ? "\t" : "") + on_one_line(row[i]);
      out += '\n';
    }
    return out;
  }
  std::vector<size_t> widths;
  for (const std::string& name : head_) widths.push_back(shown_width(name));
  for (const auto& row : rows_)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], shown_width(row[i]));
  const auto line = [&](const std::vector<std::string>& cells, Colour colour) {
    std::string text;
    for (size_t i = 0; i < cells.size(); ++i) {
      text += on_one_line(cells[i]);
      if (i + 1 < cells.size()) text.append(widths[i] - shown_width(cells[i]) + 2, ' ');
    }
    out += paint(text, colour, screen) + "\n";
  };
  line(head_, Colour::dim);
  for (const auto& row : rows_) line(row, Colour::none);
  return out;
}

void Table::print(std::string_view nothing) const {
  if (!rows_.empty())
    put(text(screen()));
  else if (screen().error_is_terminal)
    std::fprintf(stderr, "%.*s\n", static_cast<int>(nothing.size()), nothing.data());
}

Facts& Facts::add(std::string name, std::string value) {
  if (!value.empty()) lines_.emplace_back(std::move(name), std::move(value));
  return *this;
}

std::string Facts::text() const {
  size_t width = 0;
  for (const auto& [name, value] : lines_) width = std::max(width, name.size());
  std::string out;
  for (const auto& [name, value] : lines_) out += format("{:<{}}  {}\n", name, width, value);
  return out;
}

void Facts::print() const {
  put(text());
}

std::string ago(Time then, Time now) {
  if (then.micros == 0) return "";
  const int64_t seconds = std::max<int64_t>(0, (now - then).micros / 1'000'000);
  if (seconds < 1) return "now";
  if (seconds < 60) return format("{} s ago", seconds);
  if (seconds < 3600) return format("{} m ago", seconds / 60);
  if (seconds < 2 * 86'400) return format("{} h ago", seconds / 3600);
  return format("{} d ago", seconds / 86'400);
}

std::string ago(Time then) {
  return screen().out_is_terminal ? ago(then, system_clock().now()) : when(then);
}

std::string when(Time time) {
  if (time.micros == 0) return "";
  return to_rfc3339(time).substr(0, 19) + "Z";
}

std::string number_text(double value) {
  if (std::isnan(value)) return "NaN";
  return format("{:.6g}", value);
}

std::string any_text(const AnyJson& any) {
  if (!any.text.starts_with('"')) return any.text;
  const auto node = parse_json(any.text);
  return node.ok() ? node->text : any.text;
}

void put(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void print_json(const Node& node) {
  put(to_json(node) + "\n");
}

void print_json(std::string_view document) {
  put(std::string(document) + "\n");
}

std::string error_text(const Error& error, std::string_view file) {
  std::string out = format("error: {}\n", error.detail);
  for (const FieldError& mistake : error.errors) {
    const std::string place = mistake.line > 0 && !file.empty()
                                  ? format("{}:{}: ", file, mistake.line)
                              : mistake.line > 0 ? format("line {}: ", mistake.line)
                                                 : "";
    out += format("  {}{}: found {}\n", place, mistake.path, mistake.found);
    if (!mistake.allowed.empty()) out += format("      allowed: {}\n", mistake.allowed);
    if (!mistake.mend.empty()) out += format("      {}\n", mistake.mend);
  }
  if (const auto mend = error.mend_beside_fields(); !mend.empty()) out += format("  {}\n", mend);
  return out;
}

std::string error_json(std::string_view code, const Error& error, std::string_view file) {
  return to_json(ToldError{std::string(code), to_utf8_lossy(error.detail), error.mend,
                           to_utf8_lossy(file), error.errors}) +
         "\n";
}

namespace {
bool errors_in_json = false;  // the program's, as its streams are

int tell(int exit_code, std::string_view code, const Error& error, std::string_view file) {
  std::fflush(stdout);
  const std::string text = errors_in_json ? error_json(code, error, file) : error_text(error, file);
  std::fwrite(text.data(), 1, text.size(), stderr);
  return exit_code;
}
}  // namespace

void tell_errors_in_json(bool in_json) {
  errors_in_json = in_json;
}

int fail(const Error& error, std::string_view file) {
  return tell(info(error.code).exit_code, info(error.code).name, error, file);
}

int fail(int exit_code, std::string_view code, std::string_view detail, std::string_view mend) {
  return tell(exit_code, code, Error::invalid(std::string(detail), std::string(mend)), "");
}

}  // namespace hearth::cli
