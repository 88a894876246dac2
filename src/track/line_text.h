// The parts that lines with metrics are made of.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hearth::track {

// A number as programs print it, the whole text: 1, -.5, 1e-05, nan, inf. No hexadecimal.
std::optional<double> real_in(std::string_view text);
// Digits alone, nine at most.
std::optional<int64_t> count_in(std::string_view text);

std::string_view trimmed(std::string_view text);
// Without escape sequences and backspaces, and without blanks at its ends; in `scratch` where
// something had to be taken out.
std::string_view plain_text(std::string_view line, std::string& scratch);

// Takes the stretch up to `separator` off the front of `rest` (all of it, if there is none).
std::string_view take_part(std::string_view& rest, std::string_view separator);

// "name: 1.5", "name:1.5", "name=1.5" by its mark; nothing where the right side is no number.
struct NamedReal {
  std::string_view name;
  double value = 0;
};
std::optional<NamedReal> named_real(std::string_view text, char mark);

// Letters, digits and . _ - / @, the first a letter or `_`; at most 128.
bool is_metric_name(std::string_view text);

}  // namespace hearth::track
