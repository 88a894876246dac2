// A bar on stderr for what takes long, with rate and time left. Where stderr is no terminal: of
// bytes nothing, of things a plain line now and then.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "base/clock.h"

namespace hearth::cli {

// One line that is drawn over itself. Thread-safe.
class Progress {
 public:
  enum class Unit { bytes, things };
  // "Uploading code"; total 0: not known.
  Progress(std::string label, int64_t total, Unit unit = Unit::bytes);
  ~Progress();  // clears the line
  void set(int64_t done);
  void add(int64_t more);
  void note(std::string text);  // what is done now, behind the numbers

 private:
  void draw();
  std::string text(Time now) const;
  std::mutex mutex_;
  const std::string label_;
  const int64_t total_;
  const Unit unit_;
  int64_t done_ = 0;
  bool drawn_ = false;
  std::string note_;
  Time started_, last_;
};

// "[#####     ] 50 %" in `width` columns.
std::string bar(double part, int width);

}  // namespace hearth::cli
