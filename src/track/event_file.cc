// Records and events; values stand in event_value.cc.
#include "track/event_file.h"

#include "base/bytes.h"
#include "base/format.h"
#include "track/event_value.h"
#include "track/protobuf.h"

namespace hearth::track {
namespace {

constexpr std::string_view kFileVersion = "brain.Event:2";
constexpr double kMostWallSeconds = 1e11;  // the year 5138; beyond it a clock is broken

uint32_t masked(uint32_t crc) {
  return (crc >> 15 | crc << 17) + 0xa282ead8U;
}
uint32_t masked_crc(std::string_view bytes) {
  return masked(crc32c(as_bytes(bytes)));
}

template <typename T>
T get(const char* at) {
  T value = 0;
  std::memcpy(&value, at, sizeof value);
  return value;
}
template <typename T>
void put(std::string& to, T value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

Time time_of(double wall_seconds) {
  // Also false for NaN.
  if (!(wall_seconds > 0 && wall_seconds < kMostWallSeconds)) return {};
  return {static_cast<int64_t>(wall_seconds * 1e6 + 0.5)};
}
double wall_of(Time time) {
  return static_cast<double>(time.micros) / 1e6;
}

}  // namespace

// --- reading ---------------------------------------------------------------------------------

Error EventReader::damaged(std::string_view what) const {
  return Error::invalid(format("event file {} is damaged at byte {}: {}", name_, offset_, what),
                        "what stands before it was read; what stands behind it cannot be found");
}

Result<void> EventReader::feed(std::string_view bytes, const Take& take) {
  if (broken_) return error_;
  if (passing_ > 0) {
    const size_t passed = std::min<uint64_t>(passing_, bytes.size());
    passing_ -= passed;
    passed_ += passed;
    bytes.remove_prefix(passed);
    if (passing_ > 0) return {};
    offset_ += static_cast<int64_t>(std::exchange(passed_, 0));
  }
  // Records are looked at where they lie; only one that is not whole is copied.
  const bool holding = !held_.empty();
  if (holding) held_ += bytes;
  const std::string_view all = holding ? std::string_view(held_) : bytes;
  size_t done = 0;
  while (done < all.size()) {
    const auto taken = record(all.substr(done), take);
    if (!taken.ok()) {
      broken_ = true;
      error_ = taken.error();
      held_.clear();
      return error_;
    }
    if (*taken == 0) break;
    if (passing_ > 0) {
      held_.clear();
      return {};
    }
    done += *taken;
    offset_ += static_cast<int64_t>(*taken);
  }
  if (holding)
    held_.erase(0, done);
  else
    held_ = all.substr(done);
  return {};
}

// How many bytes it took; 0: the record is not whole yet.
Result<size_t> EventReader::record(std::string_view bytes, const Take& take) {
  if (bytes.size() < kEventHeaderBytes) return size_t{0};
  const auto length = get<uint64_t>(bytes.data());
  if (masked_crc(bytes.substr(0, 8)) != get<uint32_t>(bytes.data() + 8))
    return damaged("the length of the record does not fit its checksum");
  if (length > kMostEventBytes) {
    const uint64_t all = kEventHeaderBytes + length + kEventTrailerBytes;
    if (all < length || all > INT64_MAX / 2) return damaged("the length of the record is absurd");
    ++left_out_;
    passed_ = std::min<uint64_t>(all, bytes.size());
    passing_ = all - passed_;
    return passing_ > 0 ? static_cast<size_t>(passed_)
                        : static_cast<size_t>(std::exchange(passed_, 0));
  }
  const size_t all = kEventHeaderBytes + length + kEventTrailerBytes;
  if (bytes.size() < all) return size_t{0};
  const std::string_view data = bytes.substr(kEventHeaderBytes, length);
  if (masked_crc(data) != get<uint32_t>(data.data() + length))
    return damaged("the record does not fit its checksum");
  if (const auto read = event(data, take); !read.ok()) return damaged(read.error().detail);
  return all;
}

Result<void> EventReader::event(std::string_view data, const Take& take) {
  EventValue common;
  std::vector<std::string_view> summaries;
  ProtoReader fields(data);
  while (const auto field = TRY(fields.next())) {
    if (field->number == 1) common.time = time_of(field->real());
    if (field->number == 2 && field->wire == ProtoWire::varint) common.step = field->integer();
    if (field->number == 5 && field->wire == ProtoWire::bytes) summaries.push_back(field->bytes);
  }
  for (const std::string_view summary : summaries) {
    ProtoReader values(summary);
    while (const auto field = TRY(values.next()))
      if (field->number == 1 && field->wire == ProtoWire::bytes)
        TRY(value(field->bytes, common, take));
  }
  return {};
}

Result<void> EventReader::value(std::string_view data, EventValue value, const Take& take) {
  RawValue raw = TRY(raw_value(data));
  value.tag = std::string(raw.tag);
  if (!raw.plugin.empty()) {
    if (plugins_.size() < kMostEventTags) plugins_.emplace(raw.tag, raw.plugin);
  } else if (const auto known = plugins_.find(raw.tag); known != plugins_.end()) {
    raw.plugin = known->second;
  }
  if (TRY(fill(value, raw)))
    take(std::move(value));
  else
    ++left_out_;
  return {};
}

// --- writing ---------------------------------------------------------------------------------

std::string event_record(std::string_view data) {
  std::string out;
  out.reserve(kEventHeaderBytes + data.size() + kEventTrailerBytes);
  put(out, uint64_t{data.size()});
  put(out, masked_crc(out));
  out += data;
  put(out, masked_crc(data));
  return out;
}

std::string event_file_header(Time time) {
  ProtoWriter event;
  event.real(1, wall_of(time));
  event.bytes(3, kFileVersion);
  return event_record(event.text());
}

std::string event_record_of(const std::vector<EventValue>& values) {
  ProtoWriter event, summary;
  for (const EventValue& value : values) summary.bytes(1, proto_of(value));
  const EventValue first = values.empty() ? EventValue{} : values.front();
  event.real(1, wall_of(first.time));
  event.varint(2, static_cast<uint64_t>(first.step));
  event.bytes(5, summary.text());
  return event_record(event.text());
}

std::string event_file_name(Time time, std::string_view host, int64_t number) {
  return format("events.out.tfevents.{:010}.{}.{}", time.micros / 1'000'000, host, number);
}

bool is_event_file_name(std::string_view name) {
  // As TensorBoard has it; its profiler's files bear the word too and hold no values.
  return name.find("tfevents") != std::string_view::npos && !name.ends_with(".profile-empty");
}

}  // namespace hearth::track
