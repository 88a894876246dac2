// Searching runs, their keys and groups, charts: thin over control::Tracking.
#include <algorithm>
#include <array>

#include "api/answer.h"
#include "base/format.h"
#include "base/units.h"
#include "domain/wire/tracking.h"

namespace hearth::api {
namespace {

constexpr int64_t kMostRuns = 1000;
constexpr size_t kMostColumns = 20;  // grouped by, aggregated, ordered by

std::vector<std::string> known_fields() {
  std::vector<std::string> known = {"params.*", "metrics.*", "tags.*"};
  for (const Field& field : type_of<Run>().fields)
    if (control::run_column(std::string(field.name))) known.emplace_back(field.name);
  return known;
}

// What is not asked for is not read: runs may have thousands of metrics.
void choose_fields(const ChosenFields& fields, control::RunSearch& search) {
  if (!fields.has("metrics")) {
    const auto& keys = fields.keys_of("metrics");
    search.with_metrics = !keys.empty();
    search.metric_keys.assign(keys.begin(), keys.end());
  }
  search.whole = std::ranges::any_of(
      std::array{"code_digest", "git", "environment", "datasets", "models"},
      [&](const char* member) { return fields.has(member) || !fields.keys_of(member).empty(); });
}

// A list's answer with more members than all lists have; `items` stands there when it is empty too.
template <typename T>
net::Response list_with(const std::vector<T>& items, const std::string& next_cursor, int64_t total,
                        const std::string& snapshot = "") {
  net::Response response = json_list(items, next_cursor);
  auto& text = std::get<std::string>(response.body);
  text.pop_back();
  text += format(",\"total\":{}", total);
  if (!snapshot.empty()) text += ",\"snapshot\":" + json_quote(snapshot);
  text += "}";
  return response;
}

Result<control::Column> column_of(const std::string& field) {
  const auto column = control::run_column(field);
  if (column) return *column;
  const std::string near = nearest(field, known_fields());
  return Error::invalid(format("runs have no field '{}'", field),
                        near.empty()
                            ? "use params.K, metrics.K, metrics.K.min, metrics.K.max, tags.K "
                              "or a member of a run"
                            : format("did you mean {}?", near));
}

Result<control::RunSearch> search_of(const Call& call) {
  control::RunSearch search;
  search.project = call.query("project");
  const std::string filter = call.query("filter");
  if (!filter.empty()) {
    search.where = TRY(parse_filter(filter));
    TRY(check_filter(*search.where, known_fields()));
    TRY(check_filter_values(*search.where, type_of<Run>()));
  }
  if (const std::string experiment = call.query("experiment_id"); !experiment.empty())
    search.experiment_ids = {experiment};
  if (TRY(call.query_boolean("deleted"))) search.view = control::View::deleted;
  return search;
}

Result<net::Response> list_runs(Call& call) {
  control::RunSearch search = TRY(search_of(call));
  const std::string order = call.query("order_by");
  for (const OrderBy& by :
       TRY(parse_order(order.empty() ? "created_at desc" : order, known_fields())))
    search.order_by.push_back({TRY(column_of(by.field)), by.descending});
  search.limit = TRY(call.query_integer("limit", 100, 1, kMostRuns));
  search.cursor = call.query("cursor");
  search.snapshot = call.query("snapshot");
  search.skip = TRY(call.query_integer("skip", 0, 0, INT64_MAX));
  search.whole = true;
  if (const auto fields = TRY(ChosenFields::parse(call.query("fields"))); !fields.empty())
    choose_fields(fields, search);
  control::RunPage page = TRY(call.services.tracking.search_runs(call.who, search));
  std::vector<Run> runs;
  for (control::FoundRun& found : page.runs) runs.push_back(std::move(found.run));
  return list_with(runs, page.next_cursor, page.total, page.snapshot);
}

Result<net::Response> list_columns(Call& call) {
  control::KeyQuery query;
  query.runs = TRY(search_of(call));
  query.search = call.query("q");
  query.cursor = call.query("cursor");
  query.limit = TRY(call.query_integer("limit", 1000, 1, 10'000));
  const control::KeyPage page = TRY(call.services.tracking.keys(call.who, query));
  std::vector<RunColumn> columns;
  for (const control::KeyInfo& key : page.keys)
    columns.push_back({key.side == control::Side::metric  ? "metric"
                       : key.side == control::Side::param ? "param"
                                                          : "tag",
                       key.key, key.runs, key.min, key.max});
  return list_with(columns, page.next_cursor, page.total);
}

Result<control::Aggregate> aggregate_of(std::string_view word) {
  using control::Aggregate;
  static const std::map<std::string_view, Aggregate> known = {
      {"count", Aggregate::count}, {"min", Aggregate::min}, {"max", Aggregate::max},
      {"mean", Aggregate::mean},   {"std", Aggregate::std}, {"sum", Aggregate::sum}};
  const auto at = known.find(word);
  if (at != known.end()) return at->second;
  return Error::invalid(format("'{}' is no function of many values", word),
                        "use count, min, max, mean, std or sum");
}

// A state as a run's member says it.
std::string own_word(const std::string& field, std::string value) {
  if (field == "status")
    for (char& c : value) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return value;
}

// Without the empty ones.
Result<std::vector<ListedField>> pieces(const Call& call, std::string_view name) {
  std::vector<ListedField> all = TRY(parse_field_list(call.query(std::string(name)), name));
  std::erase_if(all, [](const ListedField& piece) { return piece.text.empty(); });
  return all;
}

Error after_quotes(const ListedField& piece, std::string_view allowed) {
  return Error::invalid(format("'{}' behind \"{}\"", piece.behind, piece.text),
                        format("{} may stand behind the quotes", allowed));
}

// FIELD:FUNCTION, the mean without one.
struct WantedAggregate {
  std::string field, function = "mean";
  std::string key;  // that its value is answered under: as it was asked for
};
Result<WantedAggregate> wanted_aggregate(const ListedField& piece) {
  if (piece.is_quoted) {
    if (!piece.behind.empty() && piece.behind[0] != ':')
      return after_quotes(piece, "nothing but :FUNCTION");
    WantedAggregate wanted{.field = piece.text, .key = piece.text + piece.behind};
    if (!piece.behind.empty()) wanted.function = piece.behind.substr(1);
    return wanted;
  }
  const size_t colon = std::min(piece.text.rfind(':'), piece.text.size());
  WantedAggregate wanted{.field = piece.text.substr(0, colon), .key = piece.text};
  if (colon != piece.text.size()) wanted.function = piece.text.substr(colon + 1);
  return wanted;
}

Result<net::Response> list_groups(Call& call) {
  control::GroupQuery query;
  query.runs = TRY(search_of(call));
  query.limit = TRY(call.query_integer("limit", 100, 1, 10'000));
  const auto by = TRY(pieces(call, "group_by")), wanted = TRY(pieces(call, "agg"));
  if (by.empty() || by.size() > kMostColumns || wanted.size() > kMostColumns)
    return Error::invalid(
        format("group by 1 to {} fields, with at most as many aggregates", kMostColumns),
        "give ?group_by=params.arch&agg=metrics.loss.min:mean");
  for (const ListedField& field : by) {
    if (!field.behind.empty()) return after_quotes(field, "nothing");
    query.group_by.push_back(TRY(column_of(field.text)));
  }
  std::vector<std::string> keys;
  for (const ListedField& piece : wanted) {
    const WantedAggregate one = TRY(wanted_aggregate(piece));
    query.aggregates.push_back({TRY(column_of(one.field)), TRY(aggregate_of(one.function))});
    keys.push_back(one.key);
  }
  const control::GroupPage page = TRY(call.services.tracking.groups(call.who, query));
  std::vector<RunGroup> groups;
  for (const control::Group& group : page.groups) {
    RunGroup& to = groups.emplace_back();
    to.count = group.runs;
    to.run_ids = group.run_ids;
    for (size_t i = 0; i < by.size(); ++i)
      if (group.values[i]) to.values[by[i].text] = own_word(by[i].text, *group.values[i]);
    for (size_t i = 0; i < keys.size(); ++i)
      if (group.aggregates[i]) to.aggregates[keys[i]] = *group.aggregates[i];
  }
  return list_with(groups, "", page.total);
}

Result<net::Response> query_metrics(Call& call) {
  const auto body = TRY(call.body<ChartQuery>());
  control::MetricsQuery query;
  query.run_ids = body.runs;
  query.keys = body.keys;
  query.x = static_cast<control::MetricsQuery::X>(body.x);
  query.first = body.first;
  query.last = body.last;
  query.columns = body.columns;
  control::MetricsAnswer found = TRY(call.services.tracking.metrics(call.who, query));
  ChartAnswer answer;
  answer.column_width = found.column_width;
  answer.damaged = std::move(found.damaged);
  for (control::MetricSeries& series : found.series)
    answer.series.push_back({series.run_id, series.key, std::move(series.x),
                             std::move(series.last_x), std::move(series.count),
                             std::move(series.not_finite), std::move(series.min),
                             std::move(series.max), std::move(series.last)});
  return json(answer);
}

// What all searches of runs ask.
Route& searches(Route& route) {
  return route.asks("project", "of this project alone")
      .asks("experiment_id", "of this experiment alone")
      .asks("deleted", "deleted runs in place of the others", Kind::boolean)
      .asks("filter", "params.K, metrics.K (also .min, .max), tags.K and members of a run",
            Kind::text, "metrics.loss < 0.3 and params.opt = adam");
}

}  // namespace

void add_tracking_routes(RouteTable& table) {
  searches(table.add("GET", "/api/v1/runs", "listRuns", "runs", "Runs, the newest first", list_runs)
               .answers<RunList>())
      .asks("order_by", "fields as in filter, each with desc or asc; with spaces in quotes",
            Kind::text, "metrics.loss.min desc")
      .asks("limit", "of one page", Kind::integer, "100")
      .from(1, kMostRuns)
      .asks("cursor", "next_cursor of the page before")
      .asks("snapshot", "new: keep this order; its name: a page of it")
      .asks("skip", "of a snapshot: so many runs are passed over", Kind::integer)
      .from(0, INT64_MAX)
      .asks("fields", "only these members, or keys of them: id,params,metrics.loss");
  searches(table
               .add("GET", "/api/v1/runs/columns", "listRunColumns", "runs",
                    "The metrics, params and tags that runs have", list_columns)
               .answers<RunColumns>())
      .asks("q", "part of the key")
      .asks("limit", "of one page", Kind::integer, "1000")
      .from(1, 10'000)
      .asks("cursor", "next_cursor of the page before");
  searches(table
               .add("GET", "/api/v1/runs/groups", "listRunGroups", "runs",
                    "Runs put together by equal values", list_groups)
               .answers<RunGroups>())
      .asks("group_by", "fields, with commas; one with commas in quotes", Kind::text, "params.arch")
      .must()
      .asks("agg", "FIELD:FUNCTION, with commas; count, min, max, mean, std or sum", Kind::text,
            "metrics.loss.min:mean")
      .asks("limit", "the largest so many", Kind::integer, "100")
      .from(1, 10'000);
  table
      .add("POST", "/api/v1/metrics/query", "queryMetrics", "runs",
           "Charts of many runs and metrics in one call", query_metrics)
      .takes<ChartQuery>()
      .answers<ChartAnswer>();
}

}  // namespace hearth::api
