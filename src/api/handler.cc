// The API as a net::Handler: match, guard, call, answer.
#include <algorithm>

#include "api/answer.h"
#include "api/fast_answers.h"
#include "api/guard.h"
#include "api/mlflow/face.h"
#include "api/page.h"
#include "api/route.h"
#include "base/format.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/units.h"
#include "db/tables.h"

namespace hearth::api {
namespace {

class ApiHandler : public net::Handler {
 public:
  ApiHandler(Services services, Options options)
      : services_(std::move(services)),
        options_(std::move(options)),
        guard_(services_, options_),
        fast_(services_.context, services_.access) {}

  net::BodyRule rule(const net::RequestHead& head) override {
    net::BodyRule rule;
    rule.most_bytes = kMostUnknownBody;
    // What is answered from memory is answered here and now.
    rule.on_io_thread = is_page_path(head.path) || fast_.find(head) != nullptr;
    if (rule.on_io_thread) return rule;
    const auto foreign = mlflow::canonical_path(head.path);
    const auto match = foreign ? mlflow::table().match(head.method, *foreign)
                               : route_table().match(head.method, head.path);
    if (match.route == nullptr) return rule;
    rule.most_bytes = match.route->most_body_bytes;
    rule.to_file = match.route->body_to_file;
    // A large body is not taken from somebody who may not send it.
    if (rule.most_bytes > kMostUnknownBody && match.route->need != Need::open)
      refuse_stranger(head, rule);
    return rule;
  }

  net::Response handle(net::Request& request) override {
    net::Response response = answer(request);
    secure(response);
    return response;
  }

  net::Response malformed(int status, std::string_view detail,
                          const std::string& request_id) override {
    static const std::map<int, Code> codes = {
        {408, Code::timeout}, {413, Code::too_large}, {501, Code::unsupported}, {503, Code::busy}};
    const auto code = codes.find(status);
    net::Response response = problem_status(
        status, std::string(info(code == codes.end() ? Code::invalid : code->second).name),
        std::string(detail), "", request_id);
    secure(response);
    return response;
  }

 private:
  // Of a request that fits no route, or one whose sender is not known yet.
  static constexpr int64_t kMostUnknownBody = 1 << 20;

  void refuse_stranger(const net::RequestHead& head, net::BodyRule& rule) {
    std::optional<Error> refused = guard_.check_host(head);
    if (!refused) {
      auto who = guard_.identify(head);
      if (!who.ok()) refused = std::move(who).error();
    }
    if (!refused) return;
    rule.refuse = mlflow::canonical_path(head.path) ? mlflow::error_answer(*refused)
                                                    : problem(*refused, head.id);
    secure(*rule.refuse);
  }

  net::Response answer(net::Request& request) {
    if (const auto foreign = mlflow::canonical_path(request.path))
      return mlflow_answer(*foreign, request);
    if (const auto refused = guard_.check_host(request)) return problem(*refused, request.id);
    if (const auto refused = guard_.check_origin(request)) return problem(*refused, request.id);
    if (auto page = page_answer(request, options_.page_directory)) return std::move(*page);
    if (auto fast = fast_answer(request)) return std::move(*fast);
    auto match = route_table().match(request.method, request.path);
    if (match.route == nullptr) {
      if (auto page = no_such_view(request, options_.page_directory)) return std::move(*page);
      return unmatched(match, request);
    }
    auto answered = call(*match.route, std::move(match.path), request, Query::as_described);
    if (!answered.ok()) {
      if (info(answered.error().code).http_status >= 500)
        log_warning("{} {}: {}", request.method, request.path, answered.error().text());
      return problem(answered.error(), request.id);
    }
    return std::move(answered).value();
  }

  // The same checks, another table, errors in its own words.
  net::Response mlflow_answer(const std::string& path, net::Request& request) {
    if (const auto refused = guard_.check_host(request)) return mlflow::error_answer(*refused);
    if (const auto refused = guard_.check_origin(request)) return mlflow::error_answer(*refused);
    auto match = mlflow::table().match(request.method, path);
    if (match.route == nullptr) return mlflow::no_route(match, request);
    auto answered = call(*match.route, std::move(match.path), request, Query::any);
    if (answered.ok()) return std::move(answered).value();
    if (info(answered.error().code).http_status >= 500)
      log_warning("{} {}: {}", request.method, request.path, answered.error().text());
    return mlflow::error_answer(answered.error());
  }

  // A job whose encoded body is in memory, for a caller who was let through a moment ago.
  std::optional<net::Response> fast_answer(const net::Request& request) {
    const auto found = fast_.find(request);
    if (found == nullptr) return std::nullopt;
    if (auto refused = guard_.check_rate(request, *found->route, found->who))
      return problem(*refused, request.id);
    return found->answer();
  }

  static net::Response unmatched(const RouteTable::Match& match, const net::Request& request) {
    if (match.allowed.empty())
      return problem(Error::not_found(format("there is nothing at {}", request.path),
                                      "/api/openapi.json lists what there is"),
                     request.id);
    net::Response response =
        problem_status(405, "method", format("{} is not known here", request.method),
                       format("use {}", join(match.allowed, " or ")), request.id);
    response.headers.set("Allow", format("{}", join(match.allowed, ", ")));
    return response;
  }

  // Another's clients may send parameters that their server passes over, too.
  enum class Query { as_described, any };

  Result<net::Response> call(const Route& route, std::map<std::string, std::string> path,
                             net::Request& request, Query query) {
    Call call{services_, options_, request, {}, std::move(path), {}, false, {}};
    call.who.address = request.peer;
    call.who.request_id = request.id;
    if (route.need != Need::open) {
      call.who = TRY(guard_.identify(request));
      if (route.need == Need::task_token && call.who.kind != TokenKind::task)
        return Error::denied("this call is a shim's; it needs a task's token");
    }
    if (auto refused = guard_.check_rate(request, route, call.who)) return std::move(*refused);
    TRY(check_media_type(route, request));
    if (!is_utf8(request.query)) return Error::invalid("the query is not UTF-8");
    if (query == Query::as_described && route.path.starts_with("/api/"))
      TRY(check_query(route, request));  // what probes call they may call with anything
    const auto key = request.headers.get("Idempotency-Key");
    if (route.creates && key) return replayed(route, call, std::string(*key));
    const auto fields = TRY(ChosenFields::parse(call.query("fields")));  // before anything is done
    const auto seen = fast_.look(route, request);
    auto response = TRY(route.handler(call));
    if (seen) fast_.keep(*seen, call.who, response);
    if (call.session) add_cookie(call, response);
    return with_fields(fields, std::move(response));
  }

  // A misspelt filter that is passed over would give all there is.
  static Result<void> check_query(const Route& route, const net::Request& request) {
    std::vector<std::string> known;
    for (const QueryField& field : route.query_fields)
      if (!field.in_header) known.emplace_back(field.name);
    // Of all routes, whether they describe it or not.
    if (std::find(known.begin(), known.end(), "fields") == known.end())
      known.emplace_back("fields");
    Error error = Error::invalid("the query has parameters that are not known here");
    for (const auto& [name, value] : request.query_values()) {
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      if (error.errors.size() >= kMostErrors) break;
      const std::string near = nearest(name, known);
      error.errors.push_back({name, 0, format("'{}'", name), format("{}", join(known, ", ")),
                              near.empty() ? "leave it out" : format("write {}", near)});
    }
    if (error.errors.empty()) return {};
    return error;
  }

  static Result<void> check_media_type(const Route& route, const net::Request& request) {
    const auto type = request.headers.get("Content-Type");
    if (request.body.empty() && request.body_file.empty()) return {};
    if (!route.body_type.empty() || !type) return {};
    const std::string_view bare = trim(type->substr(0, type->find(';')));
    if (bare == "application/json" || bare == "application/yaml" || bare.ends_with("+json"))
      return {};
    // A form or text post needs no CORS preflight: a foreign page could send it.
    return Error::of(Code::invalid, format("the media type '{}' is not taken here", bare),
                     "send application/json");
  }

  // The answer of an earlier call with this key, or this call's, kept for the next.
  Result<net::Response> replayed(const Route& route, Call& call, const std::string& key) {
    if (key.empty() || key.size() > 255)
      return Error::invalid("Idempotency-Key has 1 to 255 bytes");
    const std::string owner = call.who.user.empty() ? call.who.token_id : call.who.user;
    const std::string fingerprint = sha256(call.request.method + " " + call.request.path + "?" +
                                           call.request.query + "\n" + call.request.body);
    std::optional<db::Replay> kept;
    auto& database = services_.context.database;
    TRY(database.read([&](db::Session& session) -> Result<void> {
      kept = TRY(db::find_replay(session, owner, key));
      return {};
    }));
    if (kept) {
      if (kept->fingerprint != fingerprint)
        return Error::conflict("this Idempotency-Key was used for another request",
                               "use a new key for a new request");
      net::Response response = json_text(kept->body, static_cast<int>(kept->status));
      response.headers.set("Idempotency-Replayed", "true");
      return response;
    }
    call.keep_replay = [&, owner, key, fingerprint](db::Session& session, const std::string& body,
                                                    int status) {
      return db::save_replay(session, owner, key, {fingerprint, status, body},
                             services_.context.clock.now());
    };
    auto response = TRY(route.handler(call));
    if (call.replay_kept || response.status >= 300) return response;
    if (const auto* body = std::get_if<std::string>(&response.body))
      TRY(database.write([&](db::Session& session) -> Result<void> {
        return call.keep_replay(session, *body, response.status);
      }));
    return response;
  }

  void add_cookie(const Call& call, net::Response& response) const {
    const std::string secure = call.request.tls ? "; Secure" : "";
    const std::string life = call.session->empty() ? "; Max-Age=0" : "; Max-Age=2592000";
    response.headers.set("Set-Cookie", format("{}={}; Path=/; HttpOnly; SameSite=Strict{}{}",
                                              guard_.cookie_name(), *call.session, life, secure));
  }

  static net::Response with_fields(const ChosenFields& fields, net::Response response) {
    if (fields.empty() || response.status != 200) return response;
    if (const auto* body = std::get_if<std::string>(&response.body)) {
      auto projected = project_fields(*body, fields);
      if (projected.ok()) response.body = std::move(projected).value();
    }
    return response;
  }

  static void secure(net::Response& response) {
    auto& headers = response.headers;
    const auto set_default = [&](const char* name, const char* value) {
      if (!headers.get(name)) headers.set(name, value);
    };
    set_default("X-Content-Type-Options", "nosniff");
    set_default("Referrer-Policy", "no-referrer");
    set_default("X-Frame-Options", "DENY");
    set_default("Cross-Origin-Resource-Policy", "same-origin");
    set_default("Cache-Control", "no-store");
    set_default("Content-Security-Policy",
                "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
  }

  Services services_;
  const Options options_;
  Guard guard_;
  FastAnswers fast_;
};

}  // namespace

std::unique_ptr<net::Handler> make_handler(Services services, Options options) {
  options.started = services.context.clock.steady();
  return std::make_unique<ApiHandler>(std::move(services), std::move(options));
}

}  // namespace hearth::api
