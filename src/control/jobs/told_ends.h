// When running attempts will end, as they say themselves: how far they are, now and before.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "domain/part_done.h"

namespace hearth::control {

class ToldEnds {
 public:
  // A pace is told by no less than this part of the work.
  static constexpr double kLeastPart = 0.02;

  void begin(const std::string& attempt_id, Time at) { attempts_[attempt_id] = {at, {}}; }
  // Its pace since what it said first: what was before that (preparing, reading a checkpoint) is
  // none of it. Nothing as long as it has not come far enough; what an earlier attempt of the run
  // said last is passed over.
  std::optional<Time> ends_at(const std::string& attempt_id, const PartDone& now);
  void forget(const std::string& attempt_id) { attempts_.erase(attempt_id); }

 private:
  struct Attempt {
    Time began;
    std::optional<PartDone> first;
  };
  std::map<std::string, Attempt> attempts_;
};

}  // namespace hearth::control
