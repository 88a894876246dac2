// Ports for the tasks of a gang: rows of kPortsOfTask, below those that the kernel gives out by
// itself, so that nobody but another program's own choice can come between.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "base/result.h"
#include "domain/wire/task_spec.h"
#include "hw/root.h"

namespace hearth::executors {

constexpr int64_t kFirstPort = 20'000;
constexpr int64_t kLastPort = 32'767;  // less where the kernel's own range begins earlier

// First ports of `rows` rows that nobody listens on and none of which is in `held` (first ports of
// rows, too). `seed` says where the search begins, so that a retry does not meet the same ones.
// Errors: unavailable, when there are not so many.
Result<std::vector<int64_t>> find_ports(size_t rows, uint64_t seed, const std::set<int64_t>& held,
                                        const hw::Root& root = {});

// The task's own first port; 0: it has none.
int64_t first_port_of(const TaskSpec& task);

// Gives each task of a gang its address and ports, and tells all of them. One process that needs
// nobody gets none.
Result<void> allot_ports(std::vector<TaskSpec>& tasks, uint64_t seed,
                         const std::set<int64_t>& held);

}  // namespace hearth::executors
