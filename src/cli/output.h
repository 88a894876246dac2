// What people and programs read: tables, facts, times, errors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "domain/codec.h"
#include "domain/job.h"

namespace hearth::cli {

struct Screen {
  bool out_is_terminal = false, error_is_terminal = false;
  bool colour = false;  // of stdout; NO_COLOR and TERM=dumb say no
  int width = 80;
};
const Screen& screen();

// Columns with a head for people on a terminal; in a pipe one record a line, tabs between, no head.
class Table {
 public:
  explicit Table(std::vector<std::string> head) : head_(std::move(head)) {}
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }
  std::string text(const Screen& screen) const;
  // On stdout; nothing there: `nothing` on stderr, for people alone.
  void print(std::string_view nothing) const;

 private:
  std::vector<std::string> head_;
  std::vector<std::vector<std::string>> rows_;
};

// "name   value" lines; empty values are left out.
class Facts {
 public:
  Facts& add(std::string name, std::string value);
  std::string text() const;
  void print() const;

 private:
  std::vector<std::pair<std::string, std::string>> lines_;
};

enum class Colour { none, dim, bold, red, green, yellow, blue };
std::string paint(std::string_view text, Colour colour, const Screen& screen);
std::string state_word(JobState state, const Screen& screen);
// Columns that a text takes: UTF-8 characters, without escape sequences.
size_t shown_width(std::string_view text);
// Control characters of a stranger's text (a job's name, a message) shown as '?'.
std::string printable(std::string_view text);

std::string ago(Time then, Time now);  // "3 m ago"; "" for no time
std::string ago(Time then);
std::string when(Time time);               // RFC 3339 to the second; "" for no time
std::string number_text(double value);     // six digits at most
std::string any_text(const AnyJson& any);  // a JSON text without its quotes

void print_json(const Node& node);
void print_json(std::string_view document);
void put(std::string_view text);  // to stdout as it is

// "error: ...", each mistake and the mend, to stderr; the exit code. `file`: whose lines are meant.
int fail(const Error& error, std::string_view file = "");
std::string error_text(const Error& error, std::string_view file);
// The same for what is no error of a noun: `code` is a word of its own, as "usage".
int fail(int exit_code, std::string_view code, std::string_view detail, std::string_view mend = "");
// Whether errors are one JSON document a line from here on, with the fields of the HTTP
// interface's.
void tell_errors_in_json(bool in_json);
std::string error_json(std::string_view code, const Error& error, std::string_view file);

}  // namespace hearth::cli
