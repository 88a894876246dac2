// Lines of one task's log, by number.
#pragma once

#include <string>
#include <vector>

#include "domain/describe.h"

namespace hearth {

constexpr int64_t kMostShownLines = 5000;    // of one answer
constexpr size_t kMostShownBytes = 4 << 20;  // ... and of their text, but for one line
constexpr int64_t kMostHits = 1000;          // of one answer to a search

struct LogLine {
  int64_t seq = 0;  // its number: that of its last record; greater than of the line before
  Time time;
  std::string stream;    // stdout, stderr, hearth
  std::string text;      // bytes as written, without the LF
  bool partial = false;  // it goes on in the next line of this stream, which may not be here yet
  bool operator==(const LogLine&) const = default;
};
template <>
struct Describe<LogLine> {
  static constexpr std::string_view name = "LogLine", doc = "A line that a task wrote.";
  static void fields(Fields<LogLine>& f) {
    f("seq", &LogLine::seq, "its number; they grow, and some may lack").required();
    f("time", &LogLine::time, "when it was written");
    f("stream", &LogLine::stream, "stdout, stderr, or hearth for what the platform says")
        .required();
    f("text", &LogLine::text, "as it was written, without the line feed").required();
    f("partial", &LogLine::partial, "its end is not here yet; it comes again, with a new number");
  }
};

struct LogLines {
  std::string task_id, role;
  int64_t attempt = 0, rank = 0;
  int64_t first = 0, last = 0;
  bool ended = false;
  std::vector<LogLine> lines;
  int64_t next_from = 1;
  bool operator==(const LogLines&) const = default;
};
template <>
struct Describe<LogLines> {
  static constexpr std::string_view name = "LogLines", doc = "A part of one task's log.";
  static void fields(Fields<LogLines>& f) {
    f("task_id", &LogLines::task_id, "whose lines; empty: the job has no task yet").required();
    f("attempt", &LogLines::attempt, "number of its attempt");
    f("rank", &LogLines::rank, "its rank there");
    f("role", &LogLines::role, "its role").required();
    f("first", &LogLines::first, "the least number there is; 0: there is no line");
    f("last", &LogLines::last, "the greatest");
    f("ended", &LogLines::ended, "the task has ended and `last` stays what it is");
    f("lines", &LogLines::lines, "in the order of their numbers").required();
    f("next_from", &LogLines::next_from,
      "ask from here to go on; what is there already from here on is given again");
  }
};

struct LogHits {
  std::vector<LogLine> hits;
  int64_t next_from = 1;
  bool ended = false;
  int64_t scanned = 0;
  bool operator==(const LogHits&) const = default;
};
template <>
struct Describe<LogHits> {
  static constexpr std::string_view name = "LogHits", doc = "What a search has found so far.";
  static void fields(Fields<LogHits>& f) {
    f("hits", &LogHits::hits, "lines that match, in the order of their numbers").required();
    f("next_from", &LogHits::next_from, "ask from here to go on");
    f("ended", &LogHits::ended, "all was searched, and no line will come any more");
    f("scanned", &LogHits::scanned, "how many numbers were searched; 0: nothing is new");
  }
};

}  // namespace hearth
