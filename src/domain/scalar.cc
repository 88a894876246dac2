#include "domain/scalar.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace hearth {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view without_sign(std::string_view text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  return text;
}

size_t digits_at(std::string_view text, size_t at) {
  size_t n = 0;
  while (at + n < text.size() && is_digit(text[at + n])) ++n;
  return n;
}

template <typename Allowed>
bool all_of(std::string_view text, Allowed allowed) {
  for (const char c : text)
    if (!allowed(c)) return false;
  return !text.empty();
}

bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool is_octal(char c) {
  return c >= '0' && c <= '7';
}

enum class Form { none, decimal, octal, hexadecimal };

Form integer_form(std::string_view text) {
  if (text.starts_with("0o") && all_of(text.substr(2), is_octal)) return Form::octal;
  if (text.starts_with("0x") && all_of(text.substr(2), is_hex)) return Form::hexadecimal;
  return all_of(without_sign(text), is_digit) ? Form::decimal : Form::none;
}

// With more no reader of JSON takes it for a number: it is a digest or the like.
constexpr size_t kMostExponentDigits = 9;

// [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
bool is_decimal_real(std::string_view text) {
  text = without_sign(text);
  size_t at = digits_at(text, 0);
  const size_t whole = at;
  if (at < text.size() && text[at] == '.') {
    const size_t fraction = digits_at(text, at + 1);
    if (whole == 0 && fraction == 0) return false;
    at += 1 + fraction;
  } else if (whole == 0) {
    return false;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    const size_t exponent = digits_at(text, at);
    if (exponent == 0) return false;
    const size_t zeros = std::min(text.find_first_not_of('0', at), at + exponent) - at;
    if (exponent - zeros > kMostExponentDigits) return false;
    at += exponent;
  }
  return at == text.size();
}

std::optional<double> special_of(std::string_view text) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (text == ".nan" || text == ".NaN" || text == ".NAN" || text == "NaN")
    return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity") return infinity;
  if (text == "-Infinity") return -infinity;
  const std::string_view word = without_sign(text);
  if (word == ".inf" || word == ".Inf" || word == ".INF")
    return text[0] == '-' ? -infinity : infinity;
  return std::nullopt;
}

std::optional<double> decimal_of(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size()) return std::nullopt;
  if (failure == std::errc()) return value;
  // from_chars tells overflow and underflow alike; an underflow is as good as zero.
  const size_t e = text.find_first_of("eE");
  if (e != std::string_view::npos && text.find('-', e) != std::string_view::npos) return 0.0;
  return std::nullopt;
}

std::optional<int64_t> in_base(std::string_view text, int base) {
  int64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The digits of a decimal number brought to JSON's grammar: no '+', no leading zeros, digits on
// both sides of the point.
void write_decimal(std::string_view text, std::string& out) {
  if (text[0] == '-') out += '-';
  text = without_sign(text);
  size_t zeros = 0;
  while (zeros + 1 < text.size() && text[zeros] == '0' && is_digit(text[zeros + 1])) ++zeros;
  text.remove_prefix(zeros);
  if (text[0] == '.') out += '0';
  for (size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    if (text[i] == '.' && digits_at(text, i + 1) == 0) out += '0';
  }
}

struct Unit {
  std::string_view name;
  int64_t factor;
};
constexpr std::array kSizeUnits = {
    Unit{"PiB", 1LL << 50}, Unit{"PB", 1'000'000'000'000'000},
    Unit{"TiB", 1LL << 40}, Unit{"TB", 1'000'000'000'000},
    Unit{"GiB", 1LL << 30}, Unit{"GB", 1'000'000'000},
    Unit{"MiB", 1LL << 20}, Unit{"MB", 1'000'000},
    Unit{"KiB", 1LL << 10}, Unit{"KB", 1'000},
};
constexpr std::array kSpanUnits = {
    Unit{"d", 86'400'000'000}, Unit{"h", 3'600'000'000}, Unit{"m", 60'000'000},
    Unit{"s", 1'000'000},      Unit{"ms", 1'000},
};

template <size_t N>
std::string exact(int64_t value, const std::array<Unit, N>& units, std::string_view smallest) {
  for (const Unit& unit : units)
    if (value != 0 && value % unit.factor == 0)
      return std::to_string(value / unit.factor).append(unit.name);
  return std::to_string(value).append(smallest);
}

}  // namespace

Node::Kind kind_of_plain(std::string_view text) {
  using Kind = Node::Kind;
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL")
    return Kind::null;
  if (text == "true" || text == "True" || text == "TRUE" || text == "false" || text == "False" ||
      text == "FALSE")
    return Kind::boolean;
  if (integer_form(text) != Form::none) return Kind::integer;
  if (is_decimal_real(text)) return Kind::real;
  if (without_sign(text).starts_with('.') && special_of(text)) return Kind::real;
  return Kind::text;
}

std::optional<int64_t> integer_of(std::string_view text) {
  switch (integer_form(text)) {
    case Form::octal:
      return in_base(text.substr(2), 8);
    case Form::hexadecimal:
      return in_base(text.substr(2), 16);
    case Form::decimal:
      return in_base(text.starts_with('+') ? text.substr(1) : text, 10);
    case Form::none:
      break;
  }
  if (!is_decimal_real(text)) return std::nullopt;
  constexpr double largest_exact = 9007199254740992.0;  // 2^53
  const std::optional<double> value = decimal_of(text);
  if (!value || std::fabs(*value) > largest_exact || std::trunc(*value) != *value)
    return std::nullopt;
  return static_cast<int64_t>(*value);
}

std::optional<double> real_of(std::string_view text) {
  if (const std::optional<double> special = special_of(text)) return special;
  switch (integer_form(text)) {
    case Form::octal:
    case Form::hexadecimal:
      if (const std::optional<int64_t> value = integer_of(text)) return static_cast<double>(*value);
      return std::nullopt;
    case Form::decimal:
      return decimal_of(text);
    case Form::none:
      break;
  }
  if (!is_decimal_real(text)) return std::nullopt;
  return decimal_of(text);
}

void write_json_real(double value, std::string& out) {
  if (std::isnan(value)) {
    out += "\"NaN\"";
  } else if (std::isinf(value)) {
    out += value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  } else {
    std::array<char, 32> buffer;
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
    out.append(buffer.data(), end);
  }
}

void write_json_number(std::string_view text, std::string& out) {
  const Form form = integer_form(text);
  if (form == Form::decimal || (form == Form::none && is_decimal_real(text))) {
    write_decimal(text, out);
  } else if (form == Form::octal || form == Form::hexadecimal) {
    const std::optional<int64_t> value = integer_of(text);
    if (value)
      out += std::to_string(*value);
    else
      out.append("\"").append(text).append("\"");
  } else {
    write_json_real(special_of(text).value_or(std::numeric_limits<double>::quiet_NaN()), out);
  }
}

std::string exact_size(int64_t bytes) {
  return exact(bytes, kSizeUnits, "B");
}
std::string exact_span(Duration duration) {
  return duration.micros == 0 ? "0s" : exact(duration.micros, kSpanUnits, "us");
}

bool take_quoted(std::string_view from, size_t& at, Backslash backslash, std::string& text) {
  const char quote = from[at];
  for (++at; at < from.size(); ++at) {
    if (backslash == Backslash::escapes && from[at] == '\\' && at + 1 < from.size()) {
      ++at;
    } else if (from[at] == quote) {
      ++at;
      if (at == from.size() || from[at] != quote) return true;
    }
    text += from[at];
  }
  return false;
}

}  // namespace hearth
