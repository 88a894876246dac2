// How long a job may still run, from those that ran before, and its Gittins index, which orders
// jobs for the least mean completion when nobody knows how long one runs. Pure.
//
// The hazard of an end is learnt for each quarter of an octave of running time, and for ever
// narrower kinds of jobs: all, those of the shape, of the user, of the name, and those that came
// within a week, a day, an hour, a minute of it. Each kind starts from what holds for the wider
// one; how far it may differ is learnt, too (a beta process with its strength by past likelihood).
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sched/run_times.h"
#include "sched/scheduler.h"

namespace hearth::sched {

class Outlook {
 public:
  static constexpr size_t kFewest = 3;   // jobs that say something
  static constexpr size_t kEnough = 30;  // that say something of jobs of a shape that is new, too
  static constexpr size_t kMostKinds = 10'000;
  static constexpr size_t kRemembers = 4096;  // jobs of each user and shape, for who came near
  static constexpr size_t kNear = 32;         // of them to each side
  void learn(const QueuedJob& job, Duration ran);
  size_t learnt() const { return learnt_; }
  // By served GPU-seconds, ascending from 0; the lower the level, the sooner it should run.
  std::shared_ptr<const std::vector<ServiceLevel>> levels(const QueuedJob& job) const;
  // How long the like of it runs, that ran for `before` in earlier attempts. Null when too little
  // has been learnt.
  std::shared_ptr<const RunTimes> like(const QueuedJob& job, Duration before = {}) const;
  // Whether what was learnt of `ended` says more of `job` than it says of all.
  static bool near(const QueuedJob& job, const QueuedJob& ended);

 private:
  struct Seen {
    StepHazards ended{}, reached{};  // of so many that reached the step, so many ended in it
    double jobs = 0;
    void add(size_t step);
  };
  // How much a kind may differ from the wider one: weights of kStrengths.
  static constexpr std::array<double, 6> kStrengths = {0.3, 1, 3, 10, 30, 100};
  struct Strength {
    std::array<double, kStrengths.size()> log{}, weight{};
    Strength() { weight.fill(1.0 / static_cast<double>(kStrengths.size())); }
    double mixed(double ended, double reached, double wider) const;
    void learn(double ended, double reached, double wider, bool ends);
    void settle();
  };
  static constexpr std::array<double, 4> kWithin = {7 * 86400.0, 86400, 3600, 60};  // seconds
  static constexpr size_t kWider = 4;  // all, shape, user, name
  using Views = std::array<const Seen*, kWider + kWithin.size()>;
  struct Near {
    std::array<Seen, kWithin.size()> seen;
  };
  Views views(const QueuedJob& job, Near& near) const;
  StepHazards hazards_of(const QueuedJob& job) const;

  std::map<std::string, Seen> kinds_;
  std::map<std::string, std::multimap<int64_t, size_t>> came_;  // when -> its step
  std::array<Strength, kWider + kWithin.size()> strengths_;
  size_t learnt_ = 0;
};

}  // namespace hearth::sched
