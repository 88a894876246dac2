// Glob: compiled to pieces, matched by walking all positions of the pattern at once, so that no
// pattern of a stranger takes more than pattern x path steps.
#include <cctype>

#include "os/paths.h"

namespace hearth::os {
namespace {

bool in_class(std::string_view name, unsigned char c) {
  struct Row {
    std::string_view name;
    int (*test)(int);
  };
  static constexpr Row kClasses[] = {
      {"alnum", std::isalnum}, {"alpha", std::isalpha}, {"blank", std::isblank},
      {"cntrl", std::iscntrl}, {"digit", std::isdigit}, {"graph", std::isgraph},
      {"lower", std::islower}, {"print", std::isprint}, {"punct", std::ispunct},
      {"space", std::isspace}, {"upper", std::isupper}, {"xdigit", std::isxdigit}};
  for (const Row& row : kClasses)
    if (row.name == name) return row.test(c) != 0;
  return false;
}

bool known_class(std::string_view name) {
  for (const std::string_view known : {"alnum", "alpha", "blank", "cntrl", "digit", "graph",
                                       "lower", "print", "punct", "space", "upper", "xdigit"})
    if (known == name) return true;
  return false;
}

}  // namespace

// `at` stands behind '[' and is left behind ']'. False if the class is not closed or not known.
bool Glob::parse_set(std::string_view pattern, size_t& at) {
  std::vector<bool> set(256);
  bool negated = false;
  if (at < pattern.size() && (pattern[at] == '!' || pattern[at] == '^')) {
    negated = true;
    ++at;
  }
  // The last single character, for ranges; -1 behind a class or a range.
  int last = -1;
  for (bool first = true;; first = false) {
    if (at >= pattern.size()) return false;
    auto c = static_cast<unsigned char>(pattern[at++]);
    if (c == ']' && !first) break;
    if (c == '-' && last >= 0 && at < pattern.size() && pattern[at] != ']') {
      c = static_cast<unsigned char>(pattern[at++]);
      if (c == '\\') {
        if (at >= pattern.size()) return false;
        c = static_cast<unsigned char>(pattern[at++]);
      }
      for (int i = last; i <= c; ++i) set[static_cast<size_t>(i)] = true;
      last = -1;
      continue;
    }
    if (c == '[' && at < pattern.size() && pattern[at] == ':') {
      const size_t end = pattern.find(']', at + 1);
      if (end == std::string_view::npos) return false;
      // "[[:" that does not end in ":]" is an ordinary '['.
      if (end > at + 1 && pattern[end - 1] == ':') {
        const std::string_view name = pattern.substr(at + 1, end - at - 2);
        if (!known_class(name)) return false;
        for (int i = 0; i < 256; ++i)
          if (in_class(name, static_cast<unsigned char>(i))) set[static_cast<size_t>(i)] = true;
        at = end + 1;
        last = -1;
        continue;
      }
    }
    if (c == '\\') {
      if (at >= pattern.size()) return false;
      c = static_cast<unsigned char>(pattern[at++]);
    }
    set[c] = true;
    last = c;
  }
  if (negated) set.flip();
  set['/'] = false;
  sets_.push_back(std::move(set));
  return true;
}

Glob::Glob(std::string_view pattern) : pattern_(pattern) {
  for (size_t at = 0; at < pattern.size() && !impossible_;) {
    const char c = pattern[at++];
    if (c == '?') {
      pieces_.push_back({Kind::any});
    } else if (c == '[') {
      impossible_ = !parse_set(pattern, at);
      if (!impossible_) pieces_.push_back({Kind::set, 0, static_cast<uint32_t>(sets_.size() - 1)});
    } else if (c == '\\') {
      impossible_ = at >= pattern.size();
      if (!impossible_) pieces_.push_back({Kind::literal, pattern[at++]});
    } else if (c != '*') {
      pieces_.push_back({Kind::literal, c});
    } else {
      const size_t begin = at - 1;
      while (at < pattern.size() && pattern[at] == '*') ++at;
      const bool alone = at - begin >= 2 && (begin == 0 || pattern[begin - 1] == '/') &&
                         (at == pattern.size() || pattern[at] == '/');
      if (!alone) {
        pieces_.push_back({Kind::star});
      } else if (at == pattern.size()) {
        pieces_.push_back({Kind::deep_star});
      } else {
        pieces_.push_back({Kind::deep_folders});
        ++at;  // its slash belongs to it
      }
    }
  }
}

// now[i]: the pieces before i may have matched the text so far. deep_folders stands for "" or
// "anything/": once `inside` it, each slash may be its last.
bool Glob::matches(std::string_view path) const {
  if (impossible_) return false;
  std::vector<bool> now(pieces_.size() + 1), next(pieces_.size() + 1), inside(pieces_.size() + 1);
  const auto skip_empty = [&](std::vector<bool>& at) {
    for (size_t i = 0; i < pieces_.size(); ++i) {
      const Kind kind = pieces_[i].kind;
      if (!at[i]) continue;
      if (kind == Kind::deep_folders) inside[i] = true;
      if (kind == Kind::star || kind == Kind::deep_star || kind == Kind::deep_folders)
        at[i + 1] = true;
    }
  };
  now[0] = true;
  skip_empty(now);
  for (const char c : path) {
    std::fill(next.begin(), next.end(), false);
    for (size_t i = 0; i < pieces_.size(); ++i) {
      const Piece& piece = pieces_[i];
      if (piece.kind == Kind::deep_folders && inside[i] && c == '/') next[i + 1] = true;
      if (!now[i]) continue;
      if (piece.kind == Kind::literal && piece.character == c) next[i + 1] = true;
      if (piece.kind == Kind::any && c != '/') next[i + 1] = true;
      if (piece.kind == Kind::set && sets_[piece.set][static_cast<unsigned char>(c)])
        next[i + 1] = true;
      if (piece.kind == Kind::star && c != '/') next[i] = true;
      if (piece.kind == Kind::deep_star) next[i] = true;
    }
    skip_empty(next);
    std::swap(now, next);
  }
  return now[pieces_.size()];
}

}  // namespace hearth::os
