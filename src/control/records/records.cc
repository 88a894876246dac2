#include "control/records/records.h"

#include <charconv>

#include "control/records/state.h"
#include "domain/pattern.h"

namespace hearth::control {

Records::Records(Context context, Access& access, RecordsOptions options)
    : state_(std::make_unique<State>(context, access, std::move(options))) {}
Records::~Records() = default;

Reference parse_reference(const std::string& text) {
  Reference reference;
  const size_t at = text.find('@');
  reference.name = text.substr(0, at);
  if (at == std::string::npos) return reference;
  reference.word = text.substr(at + 1);
  std::string_view digits = reference.word;
  if (digits.starts_with('v')) digits.remove_prefix(1);
  int64_t number = 0;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (failure == std::errc() && end == digits.data() + digits.size() && number > 0)
    reference.number = number;
  return reference;
}

Result<void> check_version_word(const std::string& word, std::string_view what) {
  constexpr std::string_view form = "[A-Za-z][A-Za-z0-9._-]{0,62}";
  if (pattern_matches(form, word) && parse_reference("x@" + word).number == 0) return {};
  return Error::invalid(format("'{}' cannot be {}", word.substr(0, 80), what),
                        "begin with a letter, then letters, digits, '.', '_', '-'; not v1, v2...");
}

}  // namespace hearth::control
