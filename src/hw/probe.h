// What a probe answers: what it found, or in words why it found nothing. Absence is an ordinary
// answer of a machine, not an error; nothing here guesses.
#pragma once

#include <cassert>
#include <optional>
#include <string>
#include <utility>

namespace hearth::hw {

struct Absent {
  std::string
      why;  // a sentence without a full stop, for people: "the kernel has no /proc/pressure"
};

template <typename T>
class [[nodiscard]] Probe {
 public:
  using value_type = T;
  Probe() = default;
  Probe(T value) : value_(std::move(value)), why_() {}   // NOLINT: wanted
  Probe(Absent absent) : why_(std::move(absent.why)) {}  // NOLINT: wanted
  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  T& operator*() { return assert(ok()), *value_; }
  const T& operator*() const { return assert(ok()), *value_; }
  T* operator->() { return &**this; }
  const T* operator->() const { return &**this; }
  T value_or(T other) const { return ok() ? *value_ : std::move(other); }
  const std::string& why() const { return why_; }  // empty when ok
  // For passing an absence on: `if (!p) return p.absent();`
  Absent absent() const { return {why_}; }

 private:
  std::optional<T> value_;
  std::string why_ = "not looked for";
};

}  // namespace hearth::hw
