// Token buckets by key; a bounded table.
#pragma once

#include <mutex>
#include <string>
#include <unordered_map>

#include "base/clock.h"

namespace hearth::api {

class RateLimit {
 public:
  // `rate` a second on the long run, `burst` at once.
  RateLimit(double rate, double burst, Clock& clock) : rate_(rate), burst_(burst), clock_(clock) {}

  // Takes one; false when there is none left.
  bool take(const std::string& key);
  // Whether one is left, without taking it.
  bool has(const std::string& key);

  static constexpr size_t kMostKeys = 65'536;

 private:
  struct Bucket {
    double left = 0;
    Time at;
  };
  Bucket& filled(const std::string& key);
  const double rate_, burst_;
  Clock& clock_;
  std::mutex mutex_;
  std::unordered_map<std::string, Bucket> buckets_;
};

}  // namespace hearth::api
