#include "api/rate_limit.h"

#include <algorithm>

namespace hearth::api {

RateLimit::Bucket& RateLimit::filled(const std::string& key) {
  const Time now = clock_.steady();
  // A full table is emptied: everybody starts with a full bucket again, nobody is locked out.
  if (buckets_.size() >= kMostKeys && !buckets_.contains(key)) buckets_.clear();
  const auto [at, made] = buckets_.try_emplace(key, Bucket{burst_, now});
  Bucket& bucket = at->second;
  bucket.left = std::min(burst_, bucket.left + (now - bucket.at).seconds() * rate_);
  bucket.at = now;
  return bucket;
}

bool RateLimit::take(const std::string& key) {
  const std::lock_guard lock(mutex_);
  Bucket& bucket = filled(key);
  if (bucket.left < 1) return false;
  bucket.left -= 1;
  return true;
}

bool RateLimit::has(const std::string& key) {
  const std::lock_guard lock(mutex_);
  return filled(key).left >= 1;
}

}  // namespace hearth::api
