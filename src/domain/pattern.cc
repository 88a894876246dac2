#include "domain/pattern.h"

#include <algorithm>
#include <bitset>
#include <cctype>
#include <climits>
#include <iterator>
#include <vector>

#include "base/result.h"

namespace hearth {
namespace {

// Where a part of the pattern can stand: sorted positions in the text, none twice.
using Places = std::vector<size_t>;

class Matcher {
 public:
  Matcher(std::string_view pattern, std::string_view text) : pattern_(pattern), text_(text) {}

  bool whole() {
    const Places ends = alternatives(Places{0});
    CHECK(at_ == pattern_.size());
    return !ends.empty() && ends.back() == text_.size();
  }

 private:
  bool more() const { return at_ < pattern_.size(); }
  bool next_is(char c) const { return more() && pattern_[at_] == c; }
  char take() {
    CHECK(more());
    return pattern_[at_++];
  }

  Places alternatives(const Places& starts) {
    Places ends = sequence(starts);
    while (next_is('|')) {
      ++at_;
      merge(ends, sequence(starts));
    }
    return ends;
  }

  Places sequence(Places places) {
    while (more() && !next_is('|') && !next_is(')')) places = repeated(places);
    return places;
  }

  // One atom with what stands behind it. A set is read once, a group again for each repetition.
  Places repeated(const Places& starts) {
    const size_t atom_at = at_;
    const bool is_group = next_is('(');
    Set set;
    Places once;
    if (is_group) {
      once = group(starts);
    } else {
      set = read_set();
      once = step(starts, set);
    }
    const auto [least, most] = quantifier();
    if (least == 1 && most == 1) return once;
    const size_t behind = at_;
    Places all;
    if (least == 0) all = starts;
    Places now = std::move(once);
    for (int n = 1; n <= most && !now.empty(); ++n) {
      if (n >= least) {
        const size_t before = all.size();
        merge(all, now);
        if (all.size() == before && n > least) break;  // nothing new will come
      }
      if (n == most) break;
      at_ = atom_at;
      now = is_group ? group(now) : step(now, set);
    }
    at_ = behind;
    return all;
  }

  struct Range {
    int least, most;
  };
  Range quantifier() {
    if (next_is('?')) return ++at_, Range{0, 1};
    if (next_is('*')) return ++at_, Range{0, INT_MAX};
    if (next_is('+')) return ++at_, Range{1, INT_MAX};
    if (!next_is('{')) return {1, 1};
    ++at_;
    Range range{number(), 0};
    range.most = range.least;
    if (next_is(',')) {
      ++at_;
      range.most = next_is('}') ? INT_MAX : number();
    }
    CHECK(take() == '}');
    return range;
  }
  int number() {
    int value = 0;
    CHECK(more() && pattern_[at_] >= '0' && pattern_[at_] <= '9');
    while (more() && pattern_[at_] >= '0' && pattern_[at_] <= '9')
      value = value * 10 + (take() - '0');
    return value;
  }

  Places group(const Places& starts) {
    CHECK(take() == '(');
    if (pattern_.substr(at_).starts_with("?:")) at_ += 2;
    Places ends = alternatives(starts);
    CHECK(take() == ')');
    return ends;
  }

  using Set = std::bitset<256>;
  Set read_set() {
    const char c = take();
    Set set;
    if (c == '[') return read_class();
    if (c == '.') return set.set().reset('\n');
    CHECK(c != '*' && c != '+' && c != '?' && c != '{' && c != '^' && c != '$');
    if (c != '\\') return set.set(static_cast<unsigned char>(c));
    const char escaped = take();
    if (escaped == 'd') {
      for (size_t digit = '0'; digit <= '9'; ++digit) set.set(digit);
      return set;
    }
    CHECK(!isalnum(static_cast<unsigned char>(escaped)));
    return set.set(static_cast<unsigned char>(escaped));
  }

  Set read_class() {
    const bool negated = next_is('^');
    if (negated) ++at_;
    Set set;
    for (bool first = true; first || !next_is(']'); first = false) {
      char low = take();
      if (low == '\\') low = take();
      char high = low;
      if (next_is('-') && at_ + 1 < pattern_.size() && pattern_[at_ + 1] != ']') {
        ++at_;
        high = take();
        if (high == '\\') high = take();
      }
      for (size_t c = static_cast<unsigned char>(low); c <= static_cast<unsigned char>(high); ++c)
        set.set(c);
    }
    ++at_;
    return negated ? set.flip() : set;
  }

  Places step(const Places& starts, const Set& accepts) const {
    Places ends;
    for (const size_t start : starts)
      if (start < text_.size() && accepts[static_cast<unsigned char>(text_[start])])
        ends.push_back(start + 1);
    return ends;
  }

  static void merge(Places& into, const Places& from) {
    if (from.empty()) return;
    if (into.empty() || from.front() > into.back()) {
      into.insert(into.end(), from.begin(), from.end());
      return;
    }
    Places both;
    std::set_union(into.begin(), into.end(), from.begin(), from.end(), std::back_inserter(both));
    into = std::move(both);
  }

  std::string_view pattern_, text_;
  size_t at_ = 0;
};

}  // namespace

bool pattern_matches(std::string_view pattern, std::string_view text) {
  return Matcher(pattern, text).whole();
}

}  // namespace hearth
