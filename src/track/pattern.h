// A regular expression (RE2 syntax) with the literals that any match must hold, so that most text
// can be passed over without running it.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hearth::track {

constexpr size_t kMostPatternBytes = 4096;

// Thread-safe, but threads do better with one each. With letter case ignored, U+212A and U+017F,
// which Unicode folds with k and s, are found only by expressions without literals.
class Pattern {
 public:
  enum class Case { sensitive, ignored };
  // invalid: RE2's words on what is wrong with it.
  static Result<Pattern> compile(std::string_view expression, Case letters = Case::sensitive);
  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;
  ~Pattern();

  // Whether a part of the line matches. Invalid UTF-8 in the line matches nothing but itself.
  bool matches(std::string_view line) const;

  // The literals, of three bytes or more, in lower case. Any text in which the expression matches
  // holds at least one of them, letter case aside, if selective().
  std::span<const std::string> literals() const;
  bool selective() const;
  // Whether a text may match of which `has(i)` says if it may hold literal i.
  bool possible(const std::function<bool(size_t)>& has) const;
  // possible() for a text in lower case; the offsets at which literals stand are added to `places`,
  // at most one a line and literal.
  bool possible_in(std::string_view lowered, std::vector<uint32_t>* places = nullptr) const;

 private:
  struct State;
  explicit Pattern(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// text in lower case (ASCII letters alone) into `out`.
void lower_into(std::string_view text, std::string& out);

}  // namespace hearth::track
