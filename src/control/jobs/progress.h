// When running attempts will end, as they say themselves: how far they are, now and before.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "domain/progress.h"

namespace hearth::control {

class Progress {
 public:
  // A pace is told by no less than this part of the work.
  static constexpr double kLeastPart = 0.02;

  // An attempt that begins at nothing, and when. Of one that goes on from a checkpoint, or was met
  // running, what it says first is the beginning.
  void begin(const std::string& attempt_id, Time at) { begun_[attempt_id] = {0, at}; }
  // Nothing as long as it has not come far enough to tell its pace.
  std::optional<Time> ends_at(const std::string& attempt_id, const PartDone& now);
  void forget(const std::string& attempt_id) { begun_.erase(attempt_id); }

 private:
  std::map<std::string, PartDone> begun_;
};

}  // namespace hearth::control
