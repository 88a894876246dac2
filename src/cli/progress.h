// A bar on stderr for what takes long; nothing where stderr is no terminal.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "base/clock.h"

namespace hearth::cli {

// One line that is drawn over itself. Thread-safe.
class Progress {
 public:
  // "Uploading code"; total 0: not known.
  Progress(std::string label, int64_t total_bytes);
  ~Progress();  // clears the line
  void set(int64_t done_bytes);
  void add(int64_t bytes);

 private:
  void draw();
  std::mutex mutex_;
  const std::string label_;
  const int64_t total_;
  int64_t done_ = 0;
  bool drawn_ = false;
  Time started_, last_;
};

// "[#####     ] 50 %" in `width` columns.
std::string bar(double part, int width);

}  // namespace hearth::cli
