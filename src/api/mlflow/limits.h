// What MLflow allows of names and values, in its own words.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace hearth::api::mlflow {

constexpr size_t kMostKey = 250;  // of a metric, param or tag; characters, as all below
constexpr size_t kMostParam = 6000;
constexpr size_t kMostTag = 8000;
constexpr size_t kMostExperimentName = 500;
constexpr size_t kMostExperimentTag = 5000;
constexpr size_t kMostRegistryTag = 100'000;
constexpr size_t kMostAlias = 255;
constexpr size_t kMostModelName = 256;
constexpr size_t kMostBatchBytes = 1'000'000;
constexpr size_t kMostBatchMetrics = 1000;
constexpr size_t kMostBatchParams = 100;  // and as many tags
constexpr size_t kMostBatchItems = 1000;  // together

// Of a metric, param or tag: word characters and / . - : space, equal to its own normalised path.
Result<void> check_key(std::string_view name, std::string_view path);
Result<void> check_length(std::string_view what, std::string_view value, size_t most);
// The first `most` characters.
std::string cut(std::string value, size_t most);
Result<void> check_alias(std::string_view alias);
Result<void> check_model_name(std::string_view name);

// A path inside a run's files, as a client sent it: decoded until nothing is left to decode,
// relative, without "..", backslash, '#' and control characters. Comes back without empty and "."
// parts; "" is the root.
Result<std::string> safe_path(std::string path);

}  // namespace hearth::api::mlflow
