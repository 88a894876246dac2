// The wall clock without its jumps. Somebody sets the clock of the machine anew, a virtual machine
// was halted: durations, back-offs and expiry times that are read off the wall are wrong by as
// much. This clock follows the wall as long as that goes on evenly, small corrections included; a
// jump is left out, until whoever knows that nothing would be hurt by it takes it over.
#pragma once

#include <mutex>

#include "base/clock.h"

namespace hearth {

class EvenClock : public Clock {
 public:
  // What the wall may move by itself, between two looks, and be followed at once.
  static constexpr Duration kTolerance = Duration::seconds(2);

  // Starts `ahead` of the wall: a shim goes by its server's clock.
  explicit EvenClock(Clock& inner, Duration ahead = {});

  Time now() override;
  Time steady() override { return inner_.steady(); }

  // How far the wall was moved since the last call; 0: not at all.
  Duration take_jump();
  // now() less the wall.
  Duration ahead();
  // From here on now() is the wall again.
  void follow();

 private:
  struct Look {
    Time wall, steady;
  };
  Look look();  // under mutex_
  Time read();  // under mutex_

  Clock& inner_;
  std::mutex mutex_;
  Look last_;
  Duration ahead_;
  Duration jump_{0};  // not taken yet
};

}  // namespace hearth
