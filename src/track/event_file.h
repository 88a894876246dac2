// TensorBoard's event files, read as they grow and written.
//
// A file is records one after the other: u64 length, masked CRC-32C of these 8 bytes, the data,
// masked CRC-32C of the data (mask: rotate right by 15, add 0xa282ead8), all little-endian. The
// data is a tensorflow.Event as a protocol buffer. The first has file_version "brain.Event:2".
//
// Scalars come as `simple_value` or as a tensor with plugin `scalars`; histograms as HistogramProto
// or as a tensor [k, 3] of (left, right, count); images as Summary.Image or as a tensor of texts
// (width, height, file...); text as a tensor of texts. A writer of TensorFlow 2 names the plugin
// only in a tag's first value: EventReader remembers it, and judges by the tensor's shape where it
// cannot.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace hearth::track {

constexpr size_t kMostEventBytes = 64 << 20;    // of one record; larger ones are passed over
constexpr size_t kMostEventTags = 100'000;      // of one file, whose plugin is remembered
constexpr size_t kMostHistogramBins = 100'000;  // more make a value that is left out
constexpr size_t kMostEventTexts = 1024;        // of one value; the rest is left out
constexpr size_t kEventHeaderBytes = 12, kEventTrailerBytes = 4;

struct EventHistogram {
  double min = 0, max = 0, count = 0, sum = 0, sum_squares = 0;
  std::vector<double> edges;   // one more than counts: counts[i] lies in [edges[i], edges[i + 1])
  std::vector<double> counts;  // may be no whole numbers
  bool operator==(const EventHistogram&) const = default;
};

struct EventValue {
  enum class Kind { scalar, histogram, image, text };
  Kind kind = Kind::scalar;
  std::string tag;
  int64_t step = 0;
  Time time;
  double scalar = 0;
  EventHistogram histogram;
  int64_t width = 0, height = 0;   // of images
  std::vector<std::string> texts;  // text: its parts; image: files (PNG, JPEG, GIF) as they lie
  bool operator==(const EventValue&) const = default;
};

// Reads one file, given piece by piece in order. Not thread-safe. Holds at most one record.
class EventReader {
 public:
  using Take = std::function<void(EventValue&&)>;

  // `name` is for errors; `offset` is where the first byte that is fed stands in the file: 0, or
  // what offset() said of an earlier reader.
  explicit EventReader(std::string name, int64_t offset = 0)
      : name_(std::move(name)), offset_(offset) {}
  // invalid: a record is damaged, its place is named. From then on always the same error, as
  // nothing behind it can be found. A record whose end has not come yet (its writer is at it, or
  // died) is no error: the next feed goes on, or a later reader from offset().
  Result<void> feed(std::string_view bytes, const Take& take);
  // Behind the last whole record.
  int64_t offset() const { return offset_; }
  // The place in the file of the byte that the next feed begins with.
  int64_t next() const { return offset_ + static_cast<int64_t>(held_.size() + passed_); }
  // Values and records that were left out as they are of no kind or form known here, or too large.
  int64_t left_out() const { return left_out_; }

 private:
  Result<size_t> record(std::string_view bytes, const Take& take);
  Result<void> event(std::string_view data, const Take& take);
  Result<void> value(std::string_view data, EventValue value, const Take& take);
  Error damaged(std::string_view what) const;

  std::string name_;
  int64_t offset_;
  std::string held_;  // the start of a record
  // Bytes of a record that is too large: still to come, and gone by.
  uint64_t passing_ = 0, passed_ = 0;
  int64_t left_out_ = 0;
  bool broken_ = false;
  Error error_;
  std::map<std::string, std::string, std::less<>> plugins_;  // of tags
};

// One whole record with this data.
std::string event_record(std::string_view data);
// The record a file begins with.
std::string event_file_header(Time time);
// A record of these values, which share the first one's step and time. Scalars are 32-bit
// simple_values, which every reader understands; others are tensors with their plugin.
std::string event_record_of(const std::vector<EventValue>& values);
// "events.out.tfevents.1700000000.host.pid.0"; TensorBoard looks for "tfevents" in it.
std::string event_file_name(Time time, std::string_view host, int64_t number);
bool is_event_file_name(std::string_view name);

}  // namespace hearth::track
