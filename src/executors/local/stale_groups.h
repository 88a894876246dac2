// Control groups of tasks that nobody comes for any more: the supervisor was killed and the task's
// folder is gone, or a server's data directory.
#pragma once

#include "os/cgroup.h"

namespace hearth::executors {

// Removes the groups task-ID of any server of this user in which no process is, and whose ID no
// process of this machine has on its command line: a shim has, from before its group is made until
// after it is removed, and so has a drain.
void remove_stale_groups(const os::CgroupSupport& support);

}  // namespace hearth::executors
