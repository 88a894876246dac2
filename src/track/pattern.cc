#include "track/pattern.h"

#include <algorithm>
#include <cstring>

#include <re2/filtered_re2.h>
#include <re2/re2.h>

#include "base/format.h"
#include "track/trigram.h"

namespace hearth::track {
namespace {

constexpr int kLeastLiteral = 3;                 // shorter ones have no trigram
constexpr int64_t kMostProgramBytes = 16 << 20;  // of RE2's automata

bool ascii(std::string_view text) {
  return std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
}

}  // namespace

struct Pattern::State {
  std::unique_ptr<re2::RE2> expression;
  re2::FilteredRE2 filter{kLeastLiteral};
  std::vector<std::string> literals;
  bool selective = false;
};

Pattern::Pattern(std::unique_ptr<State> state) : state_(std::move(state)) {}
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;
Pattern::~Pattern() = default;

Result<Pattern> Pattern::compile(std::string_view expression, Case letters) {
  if (expression.empty()) return Error::invalid("the search expression is empty");
  if (expression.size() > kMostPatternBytes)
    return Error::of(Code::too_large, format("the search expression has {} bytes, {} are allowed",
                                             expression.size(), kMostPatternBytes));
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_case_sensitive(letters == Case::sensitive);
  options.set_max_mem(kMostProgramBytes);
  auto state = std::make_unique<State>();
  const re2::StringPiece text(expression.data(), expression.size());
  state->expression = std::make_unique<re2::RE2>(text, options);
  if (!state->expression->ok())
    return Error::invalid(format("the search expression: {}", state->expression->error()),
                          "RE2 syntax; a backslash makes . ( [ { * + ? | ^ $ plain characters");
  int id = 0;
  if (state->filter.Add(text, options, &id) == re2::RE2::NoError) {
    state->filter.Compile(&state->literals);
    std::vector<int> potential;
    state->filter.AllPotentials({}, &potential);
    // A literal beyond ASCII has letter cases of which lower_into knows nothing: not looked for.
    state->selective = potential.empty() && !state->literals.empty() &&
                       std::ranges::all_of(state->literals, ascii);
  }
  return Pattern(std::move(state));
}

bool Pattern::matches(std::string_view line) const {
  return re2::RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), *state_->expression);
}

std::span<const std::string> Pattern::literals() const {
  return state_->literals;
}
bool Pattern::selective() const {
  return state_->selective;
}

bool Pattern::possible(const std::function<bool(size_t)>& has) const {
  if (!state_->selective) return true;
  std::vector<int> held, potential;
  for (size_t i = 0; i < state_->literals.size(); ++i)
    if (has(i)) held.push_back(static_cast<int>(i));
  if (held.empty()) return false;
  state_->filter.AllPotentials(held, &potential);
  return !potential.empty();
}

bool Pattern::possible_in(std::string_view lowered, std::vector<uint32_t>* places) const {
  if (!state_->selective) return true;
  return possible([&](size_t i) {
    const std::string& literal = state_->literals[i];
    bool found = false;
    for (size_t at = 0; at < lowered.size();) {
      const void* hit =
          ::memmem(lowered.data() + at, lowered.size() - at, literal.data(), literal.size());
      if (hit == nullptr) break;
      found = true;
      if (places == nullptr) break;
      at = static_cast<size_t>(static_cast<const char*>(hit) - lowered.data());
      places->push_back(static_cast<uint32_t>(at));
      const void* end = std::memchr(lowered.data() + at, '\n', lowered.size() - at);
      if (end == nullptr) break;
      at = static_cast<size_t>(static_cast<const char*>(end) - lowered.data()) + 1;
    }
    return found;
  });
}

void lower_into(std::string_view text, std::string& out) {
  out.resize(text.size());
  char* to = out.data();
  for (const char c : text)
    *to++ = static_cast<char>(c + (static_cast<unsigned char>(c - 'A') < 26 ? 32 : 0));
}

}  // namespace hearth::track
