// Log lines as metric records (track/line_metrics.h), for a script that logs none by itself.
#pragma once

#include <deque>
#include <functional>
#include <string>

#include "base/clock.h"
#include "domain/job_spec.h"
#include "shim/metric_gate.h"
#include "shim/spool.h"
#include "track/line_metrics.h"

namespace hearth::shim {

// Used by the thread of OutputPump alone.
class LogMetrics {
 public:
  // So long the first records are held back: a script that logs by itself says so by then.
  static constexpr Duration kHold = Duration::seconds(5);
  static constexpr size_t kMostHeld = 5000;
  // Reports come a few a second. Of more than this the first ones of each second are taken.
  static constexpr int kMostRecordsASecond = 1000;

  LogMetrics(track::LineMetrics patterns, LineReading reading, MetricGate& gate, Spool& spool,
             std::function<void(std::string)> complain);
  // A line of the task's. Costs nothing once the script logs by itself.
  void line(std::string_view text, Time now);
  // Gives what was held back when its time has come; call now and then.
  void tick(Time now);
  // The task has ended, and the SDK's records have been read: gives what is held back.
  void finish();

 private:
  bool closed() const;
  void add(TaskRecord record);
  void release();
  bool within_rate(Time now);

  track::LineMetrics patterns_;
  const LineReading reading_;
  MetricGate& gate_;
  Spool& spool_;
  const std::function<void(std::string)> complain_;
  std::deque<TaskRecord> held_;
  Time first_, second_;
  bool released_ = false, told_ = false, failed_ = false;
  int in_second_ = 0;
};

}  // namespace hearth::shim
