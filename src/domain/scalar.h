// Scalars of YAML 1.2 (core schema) and JSON: what a plain word is, and its value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "domain/codec.h"

namespace hearth {

// null, boolean, integer, real or text. `no`, `on`, `yes` are text.
Node::Kind kind_of_plain(std::string_view text);
// Decimal, 0o17, 0x1F, or a whole number in real form ("3.0", "1e3"); nothing when it is none or
// does not fit.
std::optional<int64_t> integer_of(std::string_view text);
// Any number of the core schema and the words NaN, Infinity, -Infinity; nothing for other text and
// for what overflows.
std::optional<double> real_of(std::string_view text);
// A number of the core schema as a number of JSON (inf and nan as their words, in quotes).
void write_json_number(std::string_view text, std::string& out);
// The shortest decimal that reads back as the same double; inf and nan as their words, in quotes.
void write_json_real(double value, std::string& out);
// A text in quotes, as both filter languages have it: `at` stands on the first quote, afterwards
// behind the last. The quote twice is the quote; a backslash keeps the next character, or is one.
// False: it is not closed; `text` has what there was.
enum class Backslash { escapes, plain };
bool take_quoted(std::string_view from, size_t& at, Backslash backslash, std::string& text);
// "4GiB", "90s": the largest unit that loses nothing.
std::string exact_size(int64_t bytes);
std::string exact_span(Duration duration);

}  // namespace hearth
