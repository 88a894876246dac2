// The route table: what the API is. Requests are matched against it and the OpenAPI document is
// made from it, so a route that is not described does not exist.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/api.h"
#include "domain/describe.h"
#include "domain/identity.h"

namespace hearth::api {

// Who may call. What a role allows in a project is checked by the services.
enum class Need { open, signed_in, task_token };

// One call of one route.
struct Call {
  Services& services;
  const Options& options;
  net::Request& request;
  Identity who;
  std::map<std::string, std::string> path;  // decoded

  // Set when the caller gave an Idempotency-Key: a handler that writes may keep its answer in the
  // same transaction and set replay_kept; else the answer is kept right after.
  std::function<Result<void>(db::Session&, const std::string& body, int status)> keep_replay;
  bool replay_kept = false;
  // Set by signing in (the session's token) and out (empty): becomes the cookie.
  std::optional<std::string> session;

  std::string at(const std::string& name) const { return path.at(name); }
  std::string query(std::string_view name) const { return request.query_value(name).value_or(""); }
  Result<int64_t> query_integer(std::string_view name, int64_t otherwise, int64_t least,
                                int64_t most) const;
  Result<bool> query_boolean(std::string_view name) const;  // 1, true, 0 or false; absent: false
  // The body decoded as T, as a client may send it.
  template <typename T>
  Result<T> body() const {
    return from_json<T>(request.body.empty() ? "{}" : request.body, Origin::client, 64 << 20);
  }
  // limit, cursor, filter and order_by of a list.
  Result<db::ListQuery> list_query(const Type& item) const;
  // The version that If-Match names, if it does.
  Result<std::optional<int64_t>> if_match() const;
};

// A parameter that is a time or how long ago it was, and its JSON Schema.
Result<Time> time_or_ago(const std::string& text, Time now);
inline constexpr std::string_view kTimeOrAgo =
    R"({"type":"string","anyOf":[{"format":"date-time"},)"
    R"({"pattern":"^(?:[0-9]{1,5}(?:\\.[0-9]{1,6})? ?(?:us|ms|s|m|h|d))?$"}]})";

struct QueryField {
  std::string_view name, doc;
  Kind kind = Kind::text;
  std::string_view example;
  bool required = false;
  std::optional<int64_t> least, most;  // of an integer
  std::string_view schema;             // JSON Schema of a text, where it is not any
  bool in_header = false;
};

struct Route;
using RouteHandler = std::function<Result<net::Response>(Call&)>;

struct Route {
  std::string_view method, path, id, summary, tag;
  Need need = Need::signed_in;
  RouteHandler handler;
  const Type* body = nullptr;    // JSON
  std::string_view body_type;    // or raw bytes of this media type
  const Type* answer = nullptr;  // JSON
  bool list = false;             // {items: [answer], next_cursor}
  std::string_view answer_type;  // or this media type
  int status = 200;
  std::vector<QueryField> query_fields;  // and headers of its own
  bool creates = false;                  // takes Idempotency-Key
  bool has_version = false;              // takes If-Match, answers ETag
  int64_t most_body_bytes = 1 << 20;
  bool body_to_file = false;
  bool unlimited = false;  // no rate limit (a shim's sync)
  bool logs = false;       // what a training loop sends again and again: a rate of its own

  // Chained in the route files: add(...).answers<Job>().in_list()
  template <typename T>
  Route& takes() {
    return body = &type_of<T>(), *this;
  }
  template <typename T>
  Route& answers(int with = 200) {
    return answer = &type_of<T>(), status = with, *this;
  }
  template <typename T>
  Route& lists() {
    return answer = &type_of<T>(), list = true, *this;
  }
  Route& answers_bytes(std::string_view type) { return answer_type = type, *this; }
  Route& takes_bytes(std::string_view type, int64_t most) {
    return body_type = type, most_body_bytes = most, *this;
  }
  Route& to_file() { return body_to_file = true, *this; }
  Route& nothing() { return status = 204, *this; }
  Route& needs(Need n) { return need = n, *this; }
  Route& asks(std::string_view name, std::string_view doc, Kind kind = Kind::text,
              std::string_view example = "") {
    return query_fields.push_back({name, doc, kind, example, false, {}, {}, {}, false}), *this;
  }
  Route& asks_header(std::string_view name, std::string_view doc, Kind kind = Kind::text) {
    asks(name, doc, kind);
    return query_fields.back().in_header = true, *this;
  }
  // Of the parameter that was named last.
  Route& from(int64_t least, int64_t most) {
    query_fields.back().least = least;
    return query_fields.back().most = most, *this;
  }
  Route& written_as(std::string_view schema) { return query_fields.back().schema = schema, *this; }
  Route& must() { return query_fields.back().required = true, *this; }
  Route& pages();  // limit, cursor, filter, order_by
  Route& makes() { return creates = true, *this; }
  Route& versioned() { return has_version = true, *this; }
  Route& free_of_rate() { return unlimited = true, *this; }
};

class RouteTable {
 public:
  Route& add(std::string_view method, std::string_view path, std::string_view id,
             std::string_view tag, std::string_view summary, RouteHandler handler);
  const std::vector<std::unique_ptr<Route>>& routes() const { return routes_; }

  struct Match {
    const Route* route = nullptr;
    std::map<std::string, std::string> path;
    std::vector<std::string_view> allowed;  // methods of the path when the method is wrong
    // A route that fits the path.
    void offer(const Route& fitting, std::string_view method,
               const std::map<std::string, std::string>& values);
  };
  // HEAD is answered by GET. A path whose escapes are broken matches nothing.
  Match match(std::string_view method, std::string_view path) const;

 private:
  std::vector<std::unique_ptr<Route>> routes_;
  std::map<size_t, std::vector<const Route*>> by_length_;
  // Those whose path is nothing but words: most requests are for one of them.
  std::unordered_map<std::string_view, std::vector<const Route*>> by_path_;
};
const RouteTable& route_table();

// One per file routes_*.cc.
void add_system_routes(RouteTable& table);
void add_access_routes(RouteTable& table);
void add_capacity_routes(RouteTable& table);
void add_job_routes(RouteTable& table);
void add_log_routes(RouteTable& table);
void add_run_routes(RouteTable& table);
void add_tracking_routes(RouteTable& table);
void add_model_routes(RouteTable& table);
void add_dataset_routes(RouteTable& table);
void add_object_routes(RouteTable& table);
void add_task_routes(RouteTable& table);
void add_event_routes(RouteTable& table);
void add_import_routes(RouteTable& table);
void add_view_routes(RouteTable& table);

}  // namespace hearth::api
