// The little of regular expressions that field lists use, in time linear in the text for each part
// of the pattern. Users' own expressions (log search, `~` in filters) never come here.
#pragma once

#include <string_view>

namespace hearth {

// True if the whole text matches. Known: literals, `.`, escapes of signs and \d, classes, groups
// with alternatives, and ? * + {m} {m,} {m,n} behind any of them. A pattern outside this is a
// broken invariant (patterns stand in our source) and aborts.
bool pattern_matches(std::string_view pattern, std::string_view text);

}  // namespace hearth
