// Bodies of log-metric and log-batch as the general way reads them, for what is held against it.
#pragma once

#include "api/mlflow/logged.h"

namespace hearth::api::mlflow {

// Nothing for one that it refuses.
inline std::optional<Logged> read_generally(std::string_view body, bool batch) {
  net::Request request;
  request.body = body;
  const auto arguments = Arguments::of(request);
  if (!arguments.ok()) return std::nullopt;
  auto read =
      batch ? read_batch(arguments->fields(), body.size()) : read_metric(arguments->fields());
  if (!read.ok()) return std::nullopt;
  return std::move(*read);
}

}  // namespace hearth::api::mlflow
