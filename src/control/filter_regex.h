// `~` in filters: RE2 behind the filter language of domain, which knows no expressions itself.
#pragma once

namespace hearth::control {

// Once, before threads start.
void use_regex_in_filters();

}  // namespace hearth::control
