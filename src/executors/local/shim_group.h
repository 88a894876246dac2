// Where shims live among the control groups: not in the server's unit, whose restart by systemd
// ends every process in it.
//
// As root a group `hearth-shims` at the top of the tree (systemd leaves groups alone that it did
// not make). As an ordinary user, the same below the highest group above the server that was
// delegated to that user (user@UID.service), which has to stand above the server's own unit. Where
// neither can be had, the shims stay with the server and the unit file must say KillMode=process.
#pragma once

#include <string>
#include <vector>

#include "hw/root.h"

namespace hearth::executors {

// The groups to make; empty when the server is in no unit (or nothing can be made).
std::vector<std::string> shim_groups(const hw::Root& root);

}  // namespace hearth::executors
