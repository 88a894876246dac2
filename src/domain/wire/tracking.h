// Bodies and answers of the tracking routes: searched runs, their keys, groups, charts.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "domain/describe.h"
#include "domain/run.h"

namespace hearth {

struct RunList {
  std::vector<Run> items;
  std::string next_cursor;
  int64_t total = 0;
  std::string snapshot;
  bool operator==(const RunList&) const = default;
};
template <>
struct Describe<RunList> {
  static constexpr std::string_view name = "RunList", doc = "A page of runs.";
  static void fields(Fields<RunList>& f) {
    f("items", &RunList::items, "the runs").required();
    f("next_cursor", &RunList::next_cursor, "give it as cursor for the next page");
    f("total", &RunList::total, "how many match in all");
    f("snapshot", &RunList::snapshot, "give it with skip to jump in this order");
  }
};

struct RunColumn {
  std::string kind, key;
  int64_t count = 0;
  std::optional<double> min, max;
  bool operator==(const RunColumn&) const = default;
};
template <>
struct Describe<RunColumn> {
  static constexpr std::string_view name = "RunColumn", doc = "A key that runs have.";
  static void fields(Fields<RunColumn>& f) {
    f("kind", &RunColumn::kind, "metric, param or tag");
    f("key", &RunColumn::key, "its name");
    f("count", &RunColumn::count, "runs that have it");
    f("min", &RunColumn::min, "least value of a metric");
    f("max", &RunColumn::max, "greatest value of a metric");
  }
};
struct RunColumns {
  std::vector<RunColumn> items;
  std::string next_cursor;
  int64_t total = 0;
  bool operator==(const RunColumns&) const = default;
};
template <>
struct Describe<RunColumns> {
  static constexpr std::string_view name = "RunColumns", doc = "Keys that runs have.";
  static void fields(Fields<RunColumns>& f) {
    f("items", &RunColumns::items, "the keys: metrics, then params, then tags").required();
    f("next_cursor", &RunColumns::next_cursor, "give it as cursor for the next page");
    f("total", &RunColumns::total, "how many in all");
  }
};

struct RunGroup {
  std::map<std::string, std::string> values;
  int64_t count = 0;
  std::map<std::string, double> aggregates;
  std::vector<std::string> run_ids;
  bool operator==(const RunGroup&) const = default;
};
template <>
struct Describe<RunGroup> {
  static constexpr std::string_view name = "RunGroup", doc = "Runs with equal values.";
  static void fields(Fields<RunGroup>& f) {
    f("values", &RunGroup::values, "by the fields grouped by; what the runs lack is left out");
    f("count", &RunGroup::count, "runs");
    f("aggregates", &RunGroup::aggregates, "as asked for, FIELD:FUNCTION to value");
    f("run_ids", &RunGroup::run_ids, "the first 100");
  }
};
struct RunGroups {
  std::vector<RunGroup> items;
  int64_t total = 0;
  bool operator==(const RunGroups&) const = default;
};
template <>
struct Describe<RunGroups> {
  static constexpr std::string_view name = "RunGroups", doc = "Groups, the largest first.";
  static void fields(Fields<RunGroups>& f) {
    f("items", &RunGroups::items, "the groups").required();
    f("total", &RunGroups::total, "how many in all");
  }
};

enum class ChartAxis { step, time, relative };
template <>
struct Words<ChartAxis> {
  static constexpr std::string_view name = "ChartAxis";
  static constexpr std::array<std::string_view, 3> words{"step", "time", "relative"};
};
struct ChartQuery {
  std::vector<std::string> runs, keys;
  ChartAxis x = ChartAxis::step;
  std::optional<int64_t> first, last;
  int64_t columns = 1000;
  bool operator==(const ChartQuery&) const = default;
};
template <>
struct Describe<ChartQuery> {
  static constexpr std::string_view name = "ChartQuery", doc = "Charts of many runs and metrics.";
  static void fields(Fields<ChartQuery>& f) {
    f("runs", &ChartQuery::runs, "ids of runs").required().min(1).max(200);
    f("keys", &ChartQuery::keys, "names of metrics; none: all of these runs").max(10'000);
    f("x", &ChartQuery::x, "step, time or time since the run's start, both in microseconds");
    f("first", &ChartQuery::first, "least x");
    f("last", &ChartQuery::last, "greatest x");
    f("columns", &ChartQuery::columns, "at most so many").min(1).max(10'000);
  }
};
struct ChartSeries {
  std::string run, key;
  std::vector<int64_t> x, last_x, count, not_finite;
  std::vector<double> min, max, last;
  bool operator==(const ChartSeries&) const = default;
};
template <>
struct Describe<ChartSeries> {
  static constexpr std::string_view name = "ChartSeries",
                                    doc = "One metric of one run, in columns.";
  static void fields(Fields<ChartSeries>& f) {
    f("run", &ChartSeries::run, "its id");
    f("key", &ChartSeries::key, "name of the metric");
    f("x", &ChartSeries::x, "where each column begins; those without points are left out");
    f("last_x", &ChartSeries::last_x, "the last x in it");
    f("count", &ChartSeries::count, "points");
    f("not_finite", &ChartSeries::not_finite, "of them NaN or infinite");
    f("min", &ChartSeries::min, "least finite value, or NaN");
    f("max", &ChartSeries::max, "greatest finite value, or NaN");
    f("last", &ChartSeries::last, "last finite value, or NaN");
  }
};
struct ChartAnswer {
  int64_t column_width = 1;
  std::vector<ChartSeries> series;
  std::vector<std::string> damaged;
  bool operator==(const ChartAnswer&) const = default;
};
template <>
struct Describe<ChartAnswer> {
  static constexpr std::string_view name = "ChartAnswer", doc = "Series cut into columns.";
  static void fields(Fields<ChartAnswer>& f) {
    f("column_width", &ChartAnswer::column_width, "a power of two; columns begin at its multiples");
    f("series", &ChartAnswer::series, "by run and key").required();
    f("damaged", &ChartAnswer::damaged, "what could not be read, named");
  }
};

}  // namespace hearth
