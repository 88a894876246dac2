// What the cluster holds, as gauges that Prometheus scrapes: jobs, why they wait, nodes, GPUs, and
// projects with their quotas.
#pragma once

#include <vector>

#include "api/api.h"
#include "base/metrics.h"

namespace hearth::api {

// Of projects those that the caller may see, as in the API. Errors: the database's.
Result<std::vector<GaugeFamily>> cluster_metrics(const Services& services, const Identity& who);

}  // namespace hearth::api
