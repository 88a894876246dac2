#include "base/even_clock.h"

#include <utility>

namespace hearth {
namespace {

// A look that took longer may be of two times.
constexpr Duration kQuickLook = Duration::millis(200);
constexpr int kMostLooks = 10;

bool more_than(Duration moved, Duration bound) {
  return moved > bound || moved < Duration{-bound.micros};
}

}  // namespace

EvenClock::EvenClock(Clock& inner, Duration ahead) : inner_(inner), ahead_(ahead) {
  last_ = look();
}

EvenClock::Look EvenClock::look() {
  Look look;
  for (int i = 0; i < kMostLooks; ++i) {
    look.steady = inner_.steady();
    look.wall = inner_.now();
    if (inner_.steady() - look.steady <= kQuickLook) break;
  }
  return look;
}

Time EvenClock::read() {
  const Look now = look();
  const Duration moved{(now.wall - last_.wall).micros - (now.steady - last_.steady).micros};
  last_ = now;
  if (more_than(moved, kTolerance)) {
    ahead_.micros -= moved.micros;
    jump_.micros += moved.micros;
  }
  return now.wall + ahead_;
}

Time EvenClock::now() {
  const std::lock_guard lock(mutex_);
  return read();
}

Duration EvenClock::take_jump() {
  const std::lock_guard lock(mutex_);
  read();
  return std::exchange(jump_, Duration{0});
}

Duration EvenClock::ahead() {
  const std::lock_guard lock(mutex_);
  return ahead_;
}

void EvenClock::follow() {
  const std::lock_guard lock(mutex_);
  read();
  ahead_ = {};
}

}  // namespace hearth
