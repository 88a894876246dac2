// Pages of lists that are put in order in memory. A token names the last item of its page, and its
// place in case that item goes meanwhile.
#pragma once

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/format.h"
#include "base/units.h"

namespace hearth::api::mlflow {

struct PageToken {
  size_t place = 0;  // of the first item of the next page
  std::string after;
};

inline std::string to_text(const PageToken& token) {
  return to_base64url(as_bytes(format("{} {}", token.place, token.after)));
}

inline Result<PageToken> page_token(const std::string& text) {
  PageToken token;
  if (text.empty()) return token;
  const Error bad = Error::invalid("Invalid page token, could not base64-decode it",
                                   "start the search again without page_token");
  // Both alphabets of base64 are one here.
  std::string plain = text;
  std::replace(plain.begin(), plain.end(), '-', '+');
  std::replace(plain.begin(), plain.end(), '_', '/');
  const auto bytes = from_base64(plain);
  if (!bytes.ok()) return bad;
  const std::string_view read = as_text(*bytes);
  const size_t space = read.find(' ');
  if (space == std::string_view::npos) return bad;
  const auto [end, failure] = std::from_chars(read.data(), read.data() + space, token.place);
  if (failure != std::errc() || end != read.data() + space) return bad;
  token.after = read.substr(space + 1);
  return token;
}

template <typename T>
struct Page {
  std::vector<T> items;
  std::string next_token;
};
// The page of `all` behind the token; id(item) names an item.
template <typename T, typename Id>
Result<Page<T>> page_of(std::vector<T> all, const std::string& token, int64_t limit, Id id) {
  const PageToken from = TRY(page_token(token));
  size_t first = std::min(from.place, all.size());
  if (!from.after.empty()) {
    const auto at =
        std::find_if(all.begin(), all.end(), [&](const T& item) { return id(item) == from.after; });
    if (at != all.end()) first = static_cast<size_t>(at - all.begin()) + 1;
  }
  const size_t last = std::min(all.size(), first + static_cast<size_t>(limit));
  Page<T> page;
  for (size_t i = first; i < last; ++i) page.items.push_back(std::move(all[i]));
  if (last < all.size() && last > first)
    page.next_token = to_text({last, std::string(id(page.items.back()))});
  return page;
}

}  // namespace hearth::api::mlflow
