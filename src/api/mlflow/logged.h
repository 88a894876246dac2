// Metrics as clients log them: any form that MLflow takes, and quickly the one that its clients
// send.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/mlflow/arguments.h"
#include "control/tracking/tracking.h"

namespace hearth::api::mlflow {

// `prefix`: "metrics[3].", for errors.
Result<control::LoggedMetric> metric_of(const Fields& args, const std::string& prefix);

// The bodies of log-metric and log-batch that are sent a thousand times a second: names of run and
// metric without an escape, plain numbers, nothing else but these. They are read in one pass,
// without a tree. Nothing when a body is in any way different, or wrong: then it is to be read, and
// refused in the right words, by Arguments and metric_of.
struct QuickMetrics {
  std::string run_id;
  std::vector<control::LoggedMetric> metrics;
};
std::optional<QuickMetrics> read_metric_quickly(std::string_view body);
std::optional<QuickMetrics> read_batch_quickly(std::string_view body);

}  // namespace hearth::api::mlflow
