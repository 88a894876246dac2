// This installation's own past jobs through the scheduler once more, as the machines and quotas are
// and as they could be.
#pragma once

#include <atomic>
#include <mutex>
#include <string>

#include "control/capacity/capacity.h"
#include "domain/what_if.h"

namespace hearth::control {

class WhatIfs {
 public:
  WhatIfs(Context context, Access& access, ClusterView view);
  // For admins of the server, as it tells of all projects' work. Errors: invalid (nothing is
  // changed), not_found (a node or project that is not there), conflict (no job in these days),
  // busy (one is being answered), timeout (more than kLongest, or cancelled).
  Result<WhatIfAnswer> answer(const Identity& who, const WhatIf& question);
  // Ends the one that is being answered; false: there is none.
  Result<bool> cancel(const Identity& who);

  // Named bounds.
  static constexpr size_t kMostJobs = 20'000;  // the newest of those that came
  static constexpr Duration kLongest = Duration::seconds(20);

 private:
  Context context_;
  Access& access_;
  ClusterView view_;
  std::mutex one_;
  std::atomic<bool> answering_{false}, cancelled_{false};
};

}  // namespace hearth::control
