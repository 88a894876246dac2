#include "control/filter_regex.h"

#include <memory>

#include "domain/filter.h"
#include "track/pattern.h"

namespace hearth::control {

void use_regex_in_filters() {
  using Search = std::function<bool(std::string_view)>;
  set_filter_regex([](std::string_view expression) -> Result<Search> {
    const auto pattern =
        std::make_shared<const track::Pattern>(TRY(track::Pattern::compile(expression)));
    return Search([pattern](std::string_view text) { return pattern->matches(text); });
  });
}

}  // namespace hearth::control
