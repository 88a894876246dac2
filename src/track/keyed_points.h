// Points of several metric keys that come in together, each key once.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "track/metric_chunk.h"

namespace hearth::track {

// A view: of one key.
struct KeySeries {
  std::string_view key;
  std::span<const Point> points;
};

struct KeyedPoints {
  std::vector<std::string> keys;
  std::vector<Point> points;   // those of the first key in the order in which they came, and so on
  std::vector<uint32_t> ends;  // of each key's points

  bool empty() const { return points.empty(); }
  std::span<const Point> of(size_t key) const {
    const size_t begin = key == 0 ? 0 : ends[key - 1];
    return std::span(points).subspan(begin, ends[key] - begin);
  }
  KeySeries series(size_t key) const { return {keys[key], of(key)}; }
};

// Sorts points by key as they come. Quick where keys come in the same order again and again, as
// training loops log them. Not thread-safe.
class PointCollector {
 public:
  void reserve(size_t points);
  // The number of a key, counted from 0; one that is new gets the next.
  uint32_t number_of(std::string_view key);
  void add(uint32_t key, const Point& point) {
    if (count_ == items_.size()) reserve(count_ + 1);
    Item& item = items_[count_++];
    item.key = key;
    item.point = point;
  }
  void add(std::string_view key, const Point& point) { add(number_of(key), point); }
  void add(const KeyedPoints& points);
  size_t keys() const { return keys_.size(); }
  size_t points() const { return count_; }
  // What was added; afterwards it is empty.
  KeyedPoints take();

 private:
  struct Item {
    uint32_t key = 0;
    Point point;
  };
  std::deque<std::string> keys_;  // stay where they are
  std::unordered_map<std::string_view, uint32_t> numbers_;
  std::vector<uint32_t> next_;  // the key that came behind this one when it came last
  uint32_t last_ = 0;
  std::vector<Item> items_;  // the first count_ are used
  size_t count_ = 0;
};

}  // namespace hearth::track
