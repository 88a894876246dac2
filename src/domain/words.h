// Types, bounds and fields in the words of error messages and documentation.
#pragma once

#include <string>
#include <vector>

#include "domain/codec.h"
#include "domain/describe.h"

namespace hearth {

// "a whole number from 0 to 100", "one of job, service", "a size with its unit, from 4MiB".
// `rules` holds bounds and pattern; null: none.
std::string allowed_words(const Type& type, const Field* rules);
// What to write instead of `node`; always says something.
std::string mend_words(const Node& node, const Type& type, const Field* rules);
// " from 0 to 100", " from 0", " up to 100" in the unit of the type; "" without bounds.
std::string bounds_words(const Type& type, const Field* rules);
// A value that the field takes, as it is written in YAML; "" when there is none to show.
std::string example_of(const Type& type, const Field* rules);
std::vector<std::string> field_names(const Type& type);
// A number for people: 100, 0.01, 9.2e+18.
std::string number_words(double value);

}  // namespace hearth
