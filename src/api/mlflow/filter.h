// MLflow's filter and order_by strings as structured comparisons.
//
//   metrics.loss < 0.3 AND params.`batch size` = '32' AND attributes.run_id IN ('a', 'b')
//
// Comparisons are joined by AND alone. The left side is ENTITY.KEY, split at the first dot, the key
// in backticks or double quotes where it has odd letters; without an entity it is an attribute. The
// right side is a number (metrics, times), a text in quotes, or a list of texts.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "control/tracking/run_search.h"

namespace hearth::api::mlflow {

// What is searched: each has attributes of its own.
enum class Noun { run, experiment, registered_model, model_version, logged_model };

constexpr size_t kMostSearchBytes = 256 << 10;  // of a filter: lists of run ids get long
constexpr size_t kMostComparisons = 100;        // of one filter
constexpr size_t kMostListItems = 10'000;       // of one IN
constexpr size_t kMostOrderItems = 16;

// "" is the filter that matches all. Errors name the column, what stands there and what may.
Result<std::vector<control::Comparison>> parse_filter(std::string_view text, Noun noun);
// Items "KEY [ASC|DESC]"; no key twice.
Result<std::vector<control::Order>> parse_order(const std::vector<std::string>& items, Noun noun);

// Judges one comparison of what is searched in memory. A value that is absent never matches.
bool holds(const control::Comparison& comparison, const std::optional<std::string>& text);
bool holds(const control::Comparison& comparison, std::optional<double> number);

}  // namespace hearth::api::mlflow
