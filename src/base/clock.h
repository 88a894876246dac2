// Time and randomness as interfaces, so that decisions can be replayed. Only this room asks the
// operating system for them; everything else is given a Clock and a Random.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hearth {

// Microseconds since 1970-01-01 UTC. Stored as such in the database.
struct Time {
  int64_t micros = 0;
  auto operator<=>(const Time&) const = default;
  double seconds() const { return static_cast<double>(micros) / 1e6; }
};
struct Duration {
  int64_t micros = 0;
  auto operator<=>(const Duration&) const = default;
  static constexpr Duration seconds(double s) { return {static_cast<int64_t>(s * 1e6)}; }
  static constexpr Duration millis(int64_t ms) { return {ms * 1000}; }
  double seconds() const { return static_cast<double>(micros) / 1e6; }
  std::chrono::microseconds chrono() const { return std::chrono::microseconds(micros); }
};
constexpr Time operator+(Time t, Duration d) {
  return {t.micros + d.micros};
}
constexpr Time operator-(Time t, Duration d) {
  return {t.micros - d.micros};
}
constexpr Duration operator-(Time a, Time b) {
  return {a.micros - b.micros};
}

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Time now() = 0;     // wall clock: for people and records
  virtual Time steady() = 0;  // never jumps: for time-outs and measuring
};

// The operating system's clocks.
Clock& system_clock();

class ManualClock : public Clock {
 public:
  explicit ManualClock(Time start = {1'700'000'000'000'000}) : now_(start) {}
  Time now() override { return now_; }
  Time steady() override { return now_; }
  void advance(Duration d) { now_ = now_ + d; }

 private:
  Time now_;
};

class Random {
 public:
  virtual ~Random() = default;
  virtual void fill(std::span<std::byte> out) = 0;
  uint64_t u64();
  // Uniform in [0, bound); bound > 0.
  uint64_t below(uint64_t bound);
  double unit();  // [0, 1)
};

// getrandom(2). Fit for tokens and keys. Thread-safe.
Random& system_random();

// SplitMix64 from a seed: the same numbers every time; not fit for secrets. Not thread-safe.
class SeededRandom : public Random {
 public:
  explicit SeededRandom(uint64_t seed) : state_(seed) {}
  void fill(std::span<std::byte> out) override;

 private:
  uint64_t state_;
};

// "2026-11-20T05:37:58.272187Z", always six digits of fraction.
std::string to_rfc3339(Time time);
Result<Time> from_rfc3339(std::string_view text);

}  // namespace hearth
