#include "base/clock.h"

#include <cerrno>
#include <cstring>
#include <ctime>

#include <sys/random.h>

#include "base/format.h"

namespace hearth {
namespace {

int64_t read_clock(clockid_t id) {
  timespec t{};
  clock_gettime(id, &t);
  return static_cast<int64_t>(t.tv_sec) * 1'000'000 + t.tv_nsec / 1000;
}

class SystemClock : public Clock {
 public:
  Time now() override { return {read_clock(CLOCK_REALTIME)}; }
  Time steady() override { return {read_clock(CLOCK_MONOTONIC)}; }
};

class SystemRandom : public Random {
 public:
  void fill(std::span<std::byte> out) override {
    size_t done = 0;
    while (done < out.size()) {
      const ssize_t n = getrandom(out.data() + done, out.size() - done, 0);
      if (n < 0 && errno == EINTR) continue;
      CHECK(n > 0);
      done += static_cast<size_t>(n);
    }
  }
};

}  // namespace

Clock& system_clock() {
  static SystemClock clock;
  return clock;
}

Random& system_random() {
  static SystemRandom random;
  return random;
}

uint64_t Random::u64() {
  uint64_t value = 0;
  fill(std::as_writable_bytes(std::span(&value, 1)));
  return value;
}

uint64_t Random::below(uint64_t bound) {
  CHECK(bound > 0);
  // Rejects the last, incomplete range so that every value is equally likely.
  const uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
  uint64_t value = u64();
  while (value >= limit) value = u64();
  return value % bound;
}

double Random::unit() {
  return static_cast<double>(u64() >> 11) * 0x1.0p-53;
}

void SeededRandom::fill(std::span<std::byte> out) {
  size_t done = 0;
  while (done < out.size()) {
    state_ += 0x9e3779b97f4a7c15ULL;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    z ^= z >> 31;
    const size_t n = std::min(out.size() - done, sizeof z);
    std::memcpy(out.data() + done, &z, n);
    done += n;
  }
}

std::string to_rfc3339(Time time) {
  int64_t seconds = time.micros / 1'000'000;
  int64_t micros = time.micros % 1'000'000;
  if (micros < 0) {
    micros += 1'000'000;
    --seconds;
  }
  const time_t t = static_cast<time_t>(seconds);
  tm parts{};
  gmtime_r(&t, &parts);
  return format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", parts.tm_year + 1900,
                parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, micros);
}

Result<Time> from_rfc3339(std::string_view text) {
  const std::string copy(text);
  tm parts{};
  const char* rest = strptime(copy.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  const auto wrong = [&] {
    return Error::invalid(format("'{}' is not a time", text), "write it as 2026-11-20T05:37:58Z");
  };
  if (rest == nullptr) return wrong();
  int64_t micros = 0;
  if (*rest == '.') {
    int64_t unit = 100'000;
    for (++rest; *rest >= '0' && *rest <= '9'; ++rest, unit /= 10) micros += (*rest - '0') * unit;
  }
  int64_t offset = 0;
  if (*rest == 'Z' || *rest == 'z') {
    ++rest;
  } else if (*rest == '+' || *rest == '-') {
    int hours = 0, minutes = 0, used = 0;
    if (std::sscanf(rest + 1, "%2d:%2d%n", &hours, &minutes, &used) != 2) return wrong();
    offset = (hours * 3600 + minutes * 60) * (*rest == '-' ? -1 : 1);
    rest += 1 + used;
  } else {
    return wrong();
  }
  if (*rest != '\0') return wrong();
  return Time{(static_cast<int64_t>(timegm(&parts)) - offset) * 1'000'000 + micros};
}

}  // namespace hearth
