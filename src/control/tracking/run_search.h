// What may be asked of experiments and runs: comparisons, order, pages, groups.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/filter.h"
#include "domain/run.h"

namespace hearth::control {

// What a comparison or an order looks at.
enum class Side { attribute, metric, param, tag, dataset };
// Of a metric: its latest, least or greatest value.
enum class Which { last, min, max };
struct Column {
  Side side = Side::attribute;
  // Attributes: run_id, run_name, user_id, status (upper case: FINISHED), artifact_uri,
  // experiment_id, start_time, end_time, created (ms), job_id, parent_id, project. Datasets: name,
  // digest, context. Experiments: experiment_id, name, creation_time, last_update_time (ms).
  // Else the key.
  std::string key;
  Which which = Which::last;
};

// A field of our own filter language and of our lists: params.K, tags.K, metrics.K (also with .min
// or .max behind it), or a member of Run. Nothing if runs cannot be compared by it.
std::optional<Column> run_column(const std::string& field);

enum class Compare {
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  like,   // % and _ are wildcards, case counts
  ilike,  // case does not count
  in,
  not_in,
};
// A run without the key never matches, not even not_equal and not_in. Metrics and times take
// numbers (a NaN equals nothing and differs from everything), all else texts. Any dataset of the
// run may match. Wrong operators for the side are `invalid`.
struct Comparison {
  Column column;
  Compare op = Compare::equal;
  double number = 0;              // of metrics and times
  std::string text;               // of the rest
  std::vector<std::string> list;  // of in and not_in
};
// What the faces search in memory is compared the same way.
bool compare_numbers(double a, Compare op, double b);
bool compare_texts(std::string_view text, const Comparison& with);
// % stands for any text, _ for one character (of UTF-8); case is that of ASCII letters.
bool like(std::string_view text, std::string_view pattern, bool case_counts);
struct Order {
  Column column;
  bool descending = false;
};
enum class View { active, deleted, all };

// Experiments by name, creation_time, last_update_time and tags. Default order: creation_time
// descending, then id descending.
struct ExperimentSearch {
  std::string project;  // "": every one that may be seen
  std::vector<Comparison> filter;
  std::vector<Order> order_by;
  View view = View::active;
  int64_t limit = 1000;
  std::string cursor;
};
struct ExperimentPage {
  std::vector<Experiment> experiments;
  std::string next_cursor;
};

// Runs. Order: as asked; in both directions numbers, then NaN, then runs without the value; then
// start_time descending, then run_id. Without order_by: start_time descending, then run_id.
struct RunSearch {
  // Of these alone; none: every experiment that may be seen (of `project`, if that is given).
  // Experiments that do not exist or may not be seen hold no runs.
  std::vector<std::string> experiment_ids;
  std::string project;
  std::vector<Comparison> filter;  // all must match
  // Our own filter language besides; fields params.K, metrics.K (also metrics.K.min, .max), tags.K
  // and the members of Run.
  std::optional<FilterNode> where;
  std::vector<Order> order_by;
  View view = View::active;
  int64_t limit = 1000;  // kMostFoundRuns at most
  std::string cursor;    // of the page before, with the same order and filter: a keyset, so pages
                         // neither repeat nor skip a run that stays as it is
  // For pages that jump. "new" keeps the whole order in memory for a while and gives its name; with
  // that name, `skip` runs of it are passed over; its order stays whatever happens. gone: start
  // anew.
  std::string snapshot;
  int64_t skip = 0;
  bool with_metrics = true;              // false: leaves Run::metrics empty
  std::vector<std::string> metric_keys;  // only these metrics; none: all
  bool with_bounds = false;              // fills FoundRun::bounds
  // Also what is on disk alone: git, environment, code, used datasets, models of Run. Dearer.
  bool whole = false;
};
struct RunDataset {
  std::string experiment_id, name, digest, context;
  auto operator<=>(const RunDataset&) const = default;
};
// What a list shows of a run: all of a TrackedRun but schemas and profiles of inputs.
struct FoundRun {
  Run run;
  std::string artifact_uri;
  std::vector<RunDataset> datasets;
  std::map<std::string, std::pair<double, double>>
      bounds;  // metric -> least, greatest finite value
};
struct RunPage {
  std::vector<FoundRun> runs;
  std::string next_cursor;  // "" at the end
  int64_t total = 0;        // that match, over all pages
  std::string snapshot;     // its name, if one was asked for
};

// The keys that runs have: a catalogue.
struct KeyQuery {
  RunSearch runs;      // of these; order, limit and cursor do not count
  std::string search;  // part of the key, case does not count
  std::vector<Side> sides = {Side::metric, Side::param, Side::tag};
  int64_t limit = 1000;
  std::string cursor;
};
struct KeyInfo {
  Side side = Side::metric;
  std::string key;
  int64_t runs = 0;                // that have it
  std::optional<double> min, max;  // of metrics, over these runs
};
struct KeyPage {
  std::vector<KeyInfo> keys;  // by side, then key
  std::string next_cursor;
  int64_t total = 0;
};

// Runs put together by equal values of columns, over all that match.
enum class Aggregate { count, min, max, mean, std, sum };
struct GroupQuery {
  RunSearch runs;
  std::vector<Column> group_by;
  struct Wanted {
    Column column;  // a metric, or a param or time that is a number
    Aggregate aggregate = Aggregate::mean;
  };
  std::vector<Wanted> aggregates;
  int64_t limit = 1000;
};
struct Group {
  std::vector<std::optional<std::string>> values;  // of group_by; absent where runs lack it
  int64_t runs = 0;
  std::vector<std::optional<double>> aggregates;  // absent where no run has a finite value
  std::vector<std::string> run_ids;               // the first 100
};
struct GroupPage {
  std::vector<Group> groups;  // the largest first
  int64_t total = 0;          // groups in all
};

}  // namespace hearth::control
