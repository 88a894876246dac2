#include "track/keyed_points.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace hearth::track {
namespace {
constexpr size_t kLeastItems = 4;
}  // namespace

void PointCollector::reserve(size_t points) {
  if (points > items_.size()) items_.resize(std::max({points, 2 * items_.size(), kLeastItems}));
}

uint32_t PointCollector::number_of(std::string_view key) {
  if (!next_.empty()) {
    const uint32_t likely = next_[last_];
    if (keys_[likely] == key) return last_ = likely;
  }
  auto at = numbers_.find(key);
  if (at == numbers_.end()) {
    keys_.emplace_back(key);
    next_.push_back(0);
    at = numbers_.emplace(keys_.back(), static_cast<uint32_t>(keys_.size() - 1)).first;
  }
  next_[last_] = at->second;
  return last_ = at->second;
}

void PointCollector::add(const KeyedPoints& points) {
  reserve(count_ + points.points.size());
  for (size_t i = 0; i < points.keys.size(); ++i) {
    const uint32_t key = number_of(points.keys[i]);
    for (const Point& point : points.of(i)) add(key, point);
  }
}

KeyedPoints PointCollector::take() {
  KeyedPoints all;
  all.ends.resize(keys_.size());
  const std::span items(items_.data(), count_);
  for (const Item& item : items) ++all.ends[item.key];
  uint32_t begin = 0;
  for (uint32_t& end : all.ends) begin += std::exchange(end, begin);
  all.points.resize(count_);
  // Each begin moves to its end as its points come.
  for (const Item& item : items) all.points[all.ends[item.key]++] = item.point;
  all.keys.assign(std::make_move_iterator(keys_.begin()), std::make_move_iterator(keys_.end()));
  *this = {};
  return all;
}

}  // namespace hearth::track
