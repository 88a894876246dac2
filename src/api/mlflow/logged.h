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

// The bodies of log-metric and log-batch, in any form. Refused in MLflow's words: what is over its
// limits, and a param twice.
struct Logged {
  std::string run_id;
  control::LogBatch batch;
};
Result<Logged> read_metric(const Fields& args);
Result<Logged> read_batch(const Fields& args, size_t body_bytes);

// The bodies of log-metric and log-batch that are sent a thousand times a second: names of run and
// metric without an escape, plain numbers (or one of the words NaN, Infinity and -Infinity, as
// texts), nothing else but these. They are read in one pass, without a tree. Nothing when a body is
// in any way different, or wrong: then it is to be read, and refused in the right words, by
// Arguments and the functions above.
struct QuickMetrics {
  std::string run_id;
  control::KeyedPoints points;
};
std::optional<QuickMetrics> read_metric_quickly(std::string_view body);
std::optional<QuickMetrics> read_batch_quickly(std::string_view body);

}  // namespace hearth::api::mlflow
