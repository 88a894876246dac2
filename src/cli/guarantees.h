// What the projects are guaranteed together, beside what there is.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "domain/capacity.h"

namespace hearth::cli {

// By path of an amount (flat()). A project's own guarantee covers those below it: of the two, the
// greater counts.
std::map<std::string, double> guaranteed_in_all(const std::vector<QuotaStatus>& quotas);

// What the nodes that are ready have of each of these.
std::map<std::string, double> there_now(const std::vector<NodeStatus>& nodes,
                                        const std::map<std::string, double>& asked);

// A warning where more of what `changed` names is guaranteed in all than there is; else "".
std::string beyond_what_is_there(const Amounts& changed, const std::vector<QuotaStatus>& quotas,
                                 const std::vector<NodeStatus>& nodes);

}  // namespace hearth::cli
