// What the user's process writes: pipes -> secrets out -> lines -> frames -> spool. A thread of its
// own, so that nothing else holds the process up.
#pragma once

#include <atomic>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "domain/job.h"
#include "os/process.h"
#include "shim/log_metrics.h"
#include "shim/redact.h"
#include "shim/spool.h"
#include "track/line_splitter.h"
#include "track/log_frame.h"

namespace hearth::shim {

class OutputPump {
 public:
  static constexpr Duration kSealInterval = Duration::millis(20);
  static constexpr size_t kReadBytes = 256 << 10;
  static constexpr size_t kPipeBytes = 1 << 20;         // asked for; the kernel may give less
  static constexpr size_t kMostWaitingBytes = 8 << 20;  // while the disk is full
  static constexpr size_t kMostSaid = 1000;             // lines of our own that wait

  // Lines are shown to `metrics`, if there is one.
  static Result<std::unique_ptr<OutputPump>> make(Spool& spool,
                                                  const std::vector<std::string>& secrets,
                                                  std::unique_ptr<LogMetrics> metrics = nullptr);
  ~OutputPump();

  // For the child; close them here once it has started.
  int out_for_child() const { return out_.write.get(); }
  int err_for_child() const { return err_.write.get(); }
  void child_started();

  // A line of the shim's own, among the task's.
  void say(std::string text);
  // Reads what is left (for at most so long while somebody holds the pipes), seals and ends.
  void finish(Duration at_most);
  // Of a Python traceback on standard error: its last line.
  std::string last_exception() const;
  // What the process wrote last, secrets out; kMostFailureLines of it. After finish().
  std::vector<std::string> last_lines() const;
  const Redactor& redactor() const { return plain_; }

 private:
  struct Source {
    os::Fd* fd;
    track::Stream stream;
    Redactor redactor;
    track::LineSplitter splitter;
    bool open = true;
  };
  OutputPump(Spool& spool, const std::vector<std::string>& secrets,
             std::unique_ptr<LogMetrics> metrics);
  void run();
  bool read(Source& source);
  void end(Source& source);
  void append(track::Stream stream, const track::SplitLine& line);
  void watch_traceback(std::string_view line);
  void remember(std::string_view line);
  void take_said();
  enum class Added { yes, no, later };
  void seal();
  Added add(const track::Frame& frame);
  void drop(const track::Frame& frame, Added why);
  bool mark_dropped(int64_t seq, bool always);
  void wake();

  Spool& spool_;
  const Redactor plain_;
  const std::unique_ptr<LogMetrics> metrics_;
  os::Pipe out_, err_;
  os::Fd wake_;
  std::vector<Source> sources_;
  track::FrameWriter writer_;
  std::string buffer_;
  std::deque<Bytes> waiting_;  // sealed frames for which the disk has no room
  size_t waiting_bytes_ = 0;
  Time sealed_at_, finish_by_;
  int64_t dropped_ = 0;  // lines of this stretch
  std::string why_dropped_;
  bool in_traceback_ = false;
  mutable std::mutex mutex_;
  std::deque<std::string> said_;
  std::string last_exception_;
  std::deque<std::string> last_lines_;
  std::atomic<bool> finishing_{false};
  std::thread thread_;
};

}  // namespace hearth::shim
