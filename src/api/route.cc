#include "api/route.h"

#include <algorithm>
#include <charconv>

#include "base/format.h"

namespace hearth::api {
namespace {

std::vector<std::string_view> segments(std::string_view path) {
  if (path.starts_with('/')) path.remove_prefix(1);
  return split(path, '/');
}

bool is_parameter(std::string_view segment) {
  return segment.starts_with('{');
}
// {path*} takes the rest of the path, slashes included.
bool is_rest(std::string_view segment) {
  return segment.ends_with("*}");
}

std::string parameter_name(std::string_view segment) {
  return std::string(segment.substr(1, segment.size() - (is_rest(segment) ? 3 : 2)));
}

int literal_words(const Route& route) {
  int words = 0;
  for (const std::string_view segment : segments(route.path))
    words += is_parameter(segment) ? 0 : 1;
  return words;
}

// Whether the path fits the route; fills `values` with the decoded parameters.
bool fits(const Route& route, const std::vector<std::string_view>& path,
          std::map<std::string, std::string>& values) {
  const auto pattern = segments(route.path);
  values.clear();
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (is_rest(pattern[i])) {
      std::string rest;
      for (size_t j = i; j < path.size(); ++j) {
        const auto piece = net::percent_decode(path[j], false);
        if (!piece) return false;
        rest += (j > i ? "/" : "") + *piece;
      }
      values[parameter_name(pattern[i])] = rest;
      return !rest.empty();
    }
    if (i >= path.size()) return false;
    if (!is_parameter(pattern[i])) {
      if (pattern[i] != path[i]) return false;
      continue;
    }
    auto value = net::percent_decode(path[i], false);
    if (!value || value->empty() || !is_utf8(*value)) return false;
    values[parameter_name(pattern[i])] = std::move(*value);
  }
  return pattern.size() == path.size();
}

}  // namespace

Route& Route::pages() {
  asks("limit", "items at most; default 100", Kind::integer, "100").from(1, db::kMostListRows);
  asks("cursor", "next_cursor of the page before");
  asks("filter", "which items: state = failed and name ~ cnn");
  return asks("order_by", "created_at desc, name");
}

Route& RouteTable::add(std::string_view method, std::string_view path, std::string_view id,
                       std::string_view tag, std::string_view summary, RouteHandler handler) {
  auto route = std::make_unique<Route>();
  route->method = method;
  route->path = path;
  route->id = id;
  route->tag = tag;
  route->summary = summary;
  route->handler = std::move(handler);
  routes_.push_back(std::move(route));
  const auto parts = segments(path);
  const size_t key = is_rest(parts.back()) ? 0 : parts.size();
  by_length_[key].push_back(routes_.back().get());
  if (std::ranges::none_of(parts, is_parameter)) by_path_[path].push_back(routes_.back().get());
  return *routes_.back();
}

void RouteTable::Match::offer(const Route& fitting, std::string_view method,
                              const std::map<std::string, std::string>& values) {
  allowed.push_back(fitting.method);
  const bool same = fitting.method == method || (method == "HEAD" && fitting.method == "GET");
  if (!same || (route != nullptr && fitting.method != method)) return;
  route = &fitting;
  path = values;
}

RouteTable::Match RouteTable::match(std::string_view method, std::string_view path) const {
  Match match;
  // None of the others has as many words of its own.
  if (const auto exact = by_path_.find(path); exact != by_path_.end()) {
    for (const Route* route : exact->second) match.offer(*route, method, {});
    return match;
  }
  const auto parts = segments(path);
  std::map<std::string, std::string> values;
  // /jobs/check is no job's name: where words of the path are a route's own, only routes with as
  // many such words count.
  int most_words = -1;
  for (const size_t key : {parts.size(), size_t{0}}) {
    const auto found = by_length_.find(key);
    if (found == by_length_.end()) continue;
    for (const Route* route : found->second) {
      if (!fits(*route, parts, values)) continue;
      const int words = literal_words(*route);
      if (words < most_words) continue;
      if (words > most_words) match = Match();
      most_words = words;
      match.offer(*route, method, values);
    }
  }
  return match;
}

const RouteTable& route_table() {
  static const RouteTable the_table = [] {
    RouteTable table;
    add_system_routes(table);
    add_access_routes(table);
    add_capacity_routes(table);
    add_job_routes(table);
    add_log_routes(table);
    add_run_routes(table);
    add_tracking_routes(table);
    add_model_routes(table);
    add_dataset_routes(table);
    add_object_routes(table);
    add_task_routes(table);
    add_event_routes(table);
    add_view_routes(table);
    add_import_routes(table);
    return table;
  }();
  return the_table;
}

Result<int64_t> Call::query_integer(std::string_view name, int64_t otherwise, int64_t least,
                                    int64_t most) const {
  const auto text = request.query_value(name);
  if (!text) return otherwise;
  int64_t value = 0;
  const auto [end, failure] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (failure == std::errc() && end == text->data() + text->size() && value >= least &&
      value <= most)
    return value;
  Error error = Error::invalid(format("the query parameter '{}' is wrong", name));
  error.errors.push_back(
      {std::string(name), 0, *text, format("a whole number from {} to {}", least, most), ""});
  return error;
}

Result<Time> time_or_ago(const std::string& text, Time now) {
  const auto ago = parse_duration(text);
  return ago.ok() ? now - *ago : from_rfc3339(text);
}

Result<bool> Call::query_boolean(std::string_view name) const {
  const auto asked = request.query_value(name);
  if (!asked) return false;
  const std::string& text = *asked;
  if (text == "1" || text == "true") return true;
  if (text == "0" || text == "false") return false;
  Error error = Error::invalid(format("the query parameter '{}' is wrong", name));
  error.errors.push_back({std::string(name), 0, text, "true or false", ""});
  return error;
}

Result<db::ListQuery> Call::list_query(const Type& item) const {
  db::ListQuery list;
  list.limit = TRY(query_integer("limit", 100, 1, db::kMostListRows));
  list.cursor = query("cursor");
  list.filter = TRY(parse_filter(query("filter")));
  std::vector<std::string> known, ordered;
  for (const Field& field : item.fields) {
    if (field.is_secret) continue;
    known.emplace_back(field.name);
    ordered.emplace_back(field.name);
    if (field.type->kind == Kind::map || field.type->kind == Kind::object)
      known.push_back(std::string(field.name) + ".*");
  }
  // A job's parameters and labels are known by their short names too.
  if (item.name == "Job")
    for (const char* extra : {"params.*", "labels.*", "experiment"}) known.emplace_back(extra);
  TRY(check_filter(list.filter, known));
  TRY(check_filter_values(list.filter, item));
  const std::string order = query("order_by");
  if (!order.empty())
    list.order_by = TRY(parse_order(order, ordered));
  else
    list.order_by = {{"created_at", true}};
  return list;
}

Result<std::optional<int64_t>> Call::if_match() const {
  const auto header = request.headers.get("If-Match");
  if (!header || trim(*header) == "*") return std::optional<int64_t>();
  std::string_view text = trim(*header);
  // The version alone is taken too: some clients lose the quotes.
  if (text.starts_with('"')) text.remove_prefix(1);
  if (text.ends_with('"')) text.remove_suffix(1);
  int64_t version = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), version);
  if (failure == std::errc() && end == text.data() + text.size())
    return std::optional<int64_t>(version);
  return Error::invalid("the header If-Match is not an ETag of ours", "send the ETag as it came");
}

}  // namespace hearth::api
