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

bool take(std::string_view& rest, std::string_view word) {
  if (!rest.starts_with(word)) return false;
  rest.remove_prefix(word.size());
  return true;
}

// Exactly `digits` digits whose value lies in [lowest, highest].
bool take_number(std::string_view& rest, size_t digits, int lowest, int highest, int& value) {
  if (rest.size() < digits) return false;
  value = 0;
  for (const char c : rest.substr(0, digits)) {
    if (c < '0' || c > '9') return false;
    value = value * 10 + (c - '0');
  }
  rest.remove_prefix(digits);
  return value >= lowest && value <= highest;
}

// One digit at least; what is finer than a microsecond is cut off.
bool take_fraction(std::string_view& rest, int64_t& micros) {
  size_t digits = 0;
  for (int64_t unit = 100'000; digits < rest.size(); ++digits, unit /= 10) {
    if (rest[digits] < '0' || rest[digits] > '9') break;
    micros += (rest[digits] - '0') * unit;
  }
  rest.remove_prefix(digits);
  return digits > 0;
}

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

namespace {

constexpr int64_t kDaySeconds = 86'400;
constexpr int64_t kYear0 = -62'167'219'200, kYear10000 = 253'402'300'800;

std::string strange_year(int64_t seconds, int64_t micros) {
  const time_t t = static_cast<time_t>(seconds);
  tm parts{};
  gmtime_r(&t, &parts);
  return format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", parts.tm_year + 1900,
                parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, micros);
}

}  // namespace

std::string to_rfc3339(Time time) {
  int64_t seconds = time.micros / 1'000'000;
  int64_t micros = time.micros % 1'000'000;
  if (micros < 0) {
    micros += 1'000'000;
    --seconds;
  }
  if (seconds < kYear0 || seconds >= kYear10000) return strange_year(seconds, micros);
  const int64_t days = (seconds >= 0 ? seconds : seconds - kDaySeconds + 1) / kDaySeconds;
  const int64_t of_day = seconds - days * kDaySeconds;
  const std::chrono::year_month_day date{
      std::chrono::sys_days{std::chrono::days{static_cast<int>(days)}}};
  // By hand, as lists hold a hundred thousand of them.
  std::string text = "0000-00-00T00:00:00.000000Z";
  const auto put = [&text](size_t end, int64_t value) {
    for (; value > 0; value /= 10) text[--end] = static_cast<char>('0' + value % 10);
  };
  put(4, static_cast<int>(date.year()));
  put(7, static_cast<unsigned>(date.month()));
  put(10, static_cast<unsigned>(date.day()));
  put(13, of_day / 3600);
  put(16, of_day / 60 % 60);
  put(19, of_day % 60);
  put(26, micros);
  return text;
}

Result<Time> from_rfc3339(std::string_view text) {
  const Error wrong =
      Error::invalid(format("'{}' is not a time", text), "write it as 2026-11-20T05:37:58Z");
  std::string_view rest = text;
  tm parts{};
  if (!take_number(rest, 4, 0, 9999, parts.tm_year) || !take(rest, "-") ||
      !take_number(rest, 2, 1, 12, parts.tm_mon) || !take(rest, "-") ||
      !take_number(rest, 2, 1, 31, parts.tm_mday) || !(take(rest, "T") || take(rest, "t")) ||
      !take_number(rest, 2, 0, 23, parts.tm_hour) || !take(rest, ":") ||
      !take_number(rest, 2, 0, 59, parts.tm_min) || !take(rest, ":") ||
      !take_number(rest, 2, 0, 60, parts.tm_sec))
    return wrong;
  int64_t micros = 0;
  if (take(rest, ".") && !take_fraction(rest, micros)) return wrong;
  int offset = 0;
  if (!take(rest, "Z") && !take(rest, "z")) {
    const int sign = take(rest, "+") ? 1 : take(rest, "-") ? -1 : 0;
    int hours = 0, minutes = 0;
    if (sign == 0 || !take_number(rest, 2, 0, 23, hours) || !take(rest, ":") ||
        !take_number(rest, 2, 0, 59, minutes))
      return wrong;
    offset = sign * (hours * 3600 + minutes * 60);
  }
  if (!rest.empty()) return wrong;
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  const int day = parts.tm_mday;
  const bool leap = parts.tm_sec == 60;
  const int64_t seconds = timegm(&parts);  // puts 30 February on a day of March
  if (parts.tm_mday != day && !leap) return wrong;
  return Time{(seconds - offset) * 1'000'000 + micros};
}

}  // namespace hearth
