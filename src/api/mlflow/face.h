// MLflow's REST API over Hearth's services: runs, experiments, metrics, files, models. A face of
// its own beside /api/v1: its own table of routes, its own errors; host, identity and rates as for
// any.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/mlflow/arguments.h"
#include "api/mlflow/writer.h"
#include "api/route.h"
#include "control/tracking/run_search.h"

namespace hearth::api::mlflow {

// The version of MLflow that is spoken; clients compare it with what they need.
constexpr std::string_view kSpokenVersion = "3.6.0";

// The path as the table knows it (/ajax-api is /api, slashes are single), or nothing when it is not
// MLflow's.
std::optional<std::string> canonical_path(std::string_view path);
const RouteTable& table();
// {"error_code", "message"}.
net::Response error_answer(const Error& error);
// For what MLflow calls other than its code would say.
net::Response error_answer(int status, std::string_view error_code, std::string_view message);
// Of a path that is MLflow's and fits no route.
net::Response no_route(const RouteTable::Match& match, const net::Request& request);

// --- for the files of this folder ---------------------------------------------------------------
// Decodes, calls a service, encodes: the answer is JSON text.
using JsonHandler = Result<std::string> (*)(Call& call, const Fields& args);
// `path` behind /api/2.0/mlflow; a literal.
Route& add_json(RouteTable& table, std::string_view method, std::string_view path,
                JsonHandler handler);
constexpr int64_t kMostJsonBytes = 32 << 20;  // of a large body: a dataset's profile may have 16 MB

void add_experiment_calls(RouteTable& table);
void add_run_calls(RouteTable& table);
void add_metric_calls(RouteTable& table);
void add_input_calls(RouteTable& table);
void add_artifact_calls(RouteTable& table);
void add_model_calls(RouteTable& table);
void add_version_calls(RouteTable& table);
void add_logged_model_calls(RouteTable& table);
void add_other_calls(RouteTable& table);

// The project that is meant: what clients call a workspace, or "" (the token's).
std::string project_of(const Call& call);
// run_id, or its old name run_uuid.
Result<std::string> run_id_of(const Fields& args);
// ACTIVE_ONLY, DELETED_ONLY or ALL.
Result<control::View> view_of(const Fields& args, std::string_view name);
// Milliseconds, as MLflow counts.
inline int64_t millis(Time time) {
  return time.micros / 1000;
}
// Errors: what is before 1970 or behind the year 9999.
Result<Time> time_of(std::string_view name, int64_t millis);

// The error in MLflow's words, where the services' own would not be known to scripts.
Error run_error(Error error, const std::string& run_id);
Error experiment_error(Error error, const std::string& experiment);
template <typename T>
Result<T> of_run(Result<T> result, const std::string& run_id) {
  if (result.ok()) return result;
  return run_error(std::move(result.error()), run_id);
}
template <typename T>
Result<T> of_experiment(Result<T> result, const std::string& experiment) {
  if (result.ok()) return result;
  return experiment_error(std::move(result.error()), experiment);
}

}  // namespace hearth::api::mlflow
