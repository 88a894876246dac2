#include "app/mlflow/store.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>

#include "base/format.h"
#include "base/units.h"
#include "net/http.h"
#include "os/files.h"

namespace hearth::app::mlflow {
namespace {

using Key = std::tuple<int64_t, int64_t, uint64_t>;  // step, time, bits of the value

uint64_t bits_of(double value) {
  return std::isnan(value) ? std::bit_cast<uint64_t>(std::numeric_limits<double>::quiet_NaN())
                           : std::bit_cast<uint64_t>(value);
}

// In order of step and time, each point once, and none that is in `but`.
void arrange(ImportedSeries& series, const std::set<Key>& but) {
  std::set<Key> points;
  for (size_t i = 0; i < series.steps.size(); ++i) {
    const Key key{series.steps[i], series.times_ms[i], bits_of(series.values[i])};
    if (!but.contains(key)) points.insert(key);
  }
  series.steps.clear();
  series.times_ms.clear();
  series.values.clear();
  for (const auto& [step, time, bits] : points) {
    series.steps.push_back(step);
    series.times_ms.push_back(time);
    series.values.push_back(std::bit_cast<double>(bits));
  }
}

void collect(const ImportedSeries& series, std::set<Key>& into) {
  for (size_t i = 0; i < series.steps.size(); ++i)
    into.insert({series.steps[i], series.times_ms[i], bits_of(series.values[i])});
}

bool is_directory(const std::string& path) {
  const auto status = os::status(path);
  return status.ok() && S_ISDIR(status->st_mode);
}

}  // namespace

void Marked::add(const std::string& run_id, const ImportedSeries& one_point) {
  auto& all = by_run[run_id][one_point.key];
  const auto same = std::find_if(all.begin(), all.end(), [&](const ImportedSeries& one) {
    return one.model_id == one_point.model_id && one.dataset_name == one_point.dataset_name &&
           one.dataset_digest == one_point.dataset_digest;
  });
  if (same == all.end()) {
    all.push_back(one_point);
    return;
  }
  same->steps.push_back(one_point.steps.front());
  same->times_ms.push_back(one_point.times_ms.front());
  same->values.push_back(one_point.values.front());
}

Result<int64_t> Store::count_runs(const ImportedExperiment& experiment) {
  int64_t count = 0;
  TRY(each_run(experiment, [&](StoreRun&&) -> Result<void> {
    ++count;
    return {};
  }));
  return count;
}

Result<std::vector<ImportedSeries>> Store::series(const StoreRun& run) {
  std::vector<ImportedSeries> all;
  const auto marked = marked_.by_run.find(run.record.id);
  std::map<std::string, std::set<Key>> taken;
  if (marked != marked_.by_run.end())
    for (const auto& [key, series] : marked->second)
      for (ImportedSeries one : series) {
        arrange(one, {});
        collect(one, taken[key]);
        all.push_back(std::move(one));
      }
  TRY(read_series(run, [&](ImportedSeries&& one) {
    arrange(one, taken[one.key]);
    if (!one.steps.empty()) all.push_back(std::move(one));
  }));
  return all;
}

void Store::problem(Error error) {
  ++problem_count_;
  if (problems_.size() < kMostProblems) problems_.push_back(std::move(error));
}

Time time_of_millis(int64_t millis) {
  return millis < 0 || millis > kLatestMillis ? Time{} : Time{millis * 1000};
}

double with_infinity(double value) {
  if (std::abs(value) < std::numeric_limits<double>::max()) return value;
  return std::isnan(value) ? value : std::copysign(std::numeric_limits<double>::infinity(), value);
}

Result<RunStatus> run_status(const std::string& text) {
  static constexpr std::array<std::string_view, 5> kNames{"RUNNING", "SCHEDULED", "FINISHED",
                                                          "FAILED", "KILLED"};
  for (size_t i = 0; i < kNames.size(); ++i)
    if (text == kNames.at(i) || text == std::to_string(i + 1)) return static_cast<RunStatus>(i);
  return Error::invalid(format("'{}' is no status of a run", text.substr(0, 40)),
                        "MLflow's are RUNNING, SCHEDULED, FINISHED, FAILED and KILLED, or 1 to 5");
}

LoggedModelStatus model_status(int64_t number) {
  return number < 0 || number > 3 ? LoggedModelStatus::unspecified
                                  : static_cast<LoggedModelStatus>(number);
}

std::string scheme_of(const std::string& uri) {
  const size_t colon = uri.find(':');
  if (colon == std::string::npos || colon < 2) return "";
  for (const char c : uri.substr(0, colon))
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '+' && c != '.')
      return "";
  return uri.substr(0, colon);
}

std::string path_of_uri(const std::string& uri) {
  std::string path = uri;
  if (scheme_of(uri) == "file") {
    path = uri.substr(5);
    if (path.starts_with("//localhost/")) path = path.substr(11);
    while (path.starts_with("//")) path = path.substr(1);
    path = net::percent_decode(path, false).value_or(path);
  }
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

Result<std::unique_ptr<Store>> open_store(const std::string& source, const StoreOptions& options) {
  const std::string scheme = scheme_of(source);
  if (scheme == "http" || scheme == "https") return open_rest_store(source, options);
  if (scheme == "sqlite") {
    // sqlite:///relative.db, sqlite:////absolute.db
    if (!source.starts_with("sqlite:///"))
      return Error::invalid(format("'{}' names no file", source),
                            "write sqlite:///relative.db or sqlite:////absolute.db");
    return open_sqlite_store(source.substr(10, source.find('?') - 10), options);
  }
  if (!scheme.empty() && scheme != "file")
    return Error::invalid(
        format("stores of the kind '{}:' are not read directly", scheme),
        "start `mlflow server --backend-store-uri ...` over it and give its http:// address");
  const std::string path = path_of_uri(source);
  const auto status = os::status(path);
  if (!status.ok())
    return Error::not_found(format("there is no '{}'", path),
                            "give an mlruns directory, an SQLite file, or a server's address");
  if (!S_ISDIR(status->st_mode)) return open_sqlite_store(path, options);
  // The directory that holds mlruns is as good.
  if (!os::exists(path + "/0") && is_directory(path + "/mlruns"))
    return open_file_store(path + "/mlruns", options);
  return open_file_store(path, options);
}

}  // namespace hearth::app::mlflow
