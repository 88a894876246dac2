#include "shim/log_metrics.h"

#include "base/format.h"
#include "base/log.h"

namespace hearth::shim {

LogMetrics::LogMetrics(track::LineMetrics patterns, LineReading reading, MetricGate& gate,
                       Spool& spool, std::function<void(std::string)> complain)
    : patterns_(std::move(patterns)),
      reading_(reading),
      gate_(gate),
      spool_(spool),
      complain_(std::move(complain)),
      released_(reading == LineReading::always) {}

bool LogMetrics::closed() const {
  return reading_ == LineReading::automatic && gate_.logs_itself();
}

void LogMetrics::line(std::string_view text, Time now) {
  if (closed()) {
    held_.clear();
    return;
  }
  const auto& points = patterns_.read(text);
  if (points.empty()) return;
  if (!within_rate(now)) return;
  if (first_.micros == 0) first_ = now;
  // A line's points mostly share their step; a record has one.
  TaskRecord record;
  for (const track::LinePoint& point : points) {
    if (!record.values.empty() && record.step != point.step) add(std::exchange(record, {}));
    record.kind = "metric";
    record.time = now;
    record.step = point.step;
    if (reading_ == LineReading::automatic) record.text = kFromLog;
    record.values[point.key] = point.value;
  }
  add(std::move(record));
}

bool LogMetrics::within_rate(Time now) {
  if (now - second_ >= Duration::seconds(1)) {
    second_ = now;
    in_second_ = 0;
  }
  if (++in_second_ <= kMostRecordsASecond) return true;
  if (!std::exchange(told_, true))
    complain_(
        format("log lines report metrics more than {} times a second: the rest of each "
               "second is not charted",
               kMostRecordsASecond));
  return false;
}

void LogMetrics::add(TaskRecord record) {
  if (!released_) {
    held_.push_back(std::move(record));
    if (held_.size() >= kMostHeld) release();
    return;
  }
  const auto added = spool_.add_record(std::move(record));
  if (!added.ok() && !std::exchange(failed_, true)) log_error("{}", added.error().text());
}

void LogMetrics::tick(Time now) {
  if (released_ || held_.empty()) return;
  if (closed())
    held_.clear();
  else if (now - first_ >= kHold)
    release();
}

void LogMetrics::finish() {
  if (closed())
    held_.clear();
  else
    release();
}

void LogMetrics::release() {
  released_ = true;
  std::deque<TaskRecord> held;
  held.swap(held_);
  for (TaskRecord& record : held) add(std::move(record));
}

}  // namespace hearth::shim
