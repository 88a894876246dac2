#include "api/guard.h"

#include <algorithm>

#include "base/format.h"

namespace hearth::api {
namespace {

// "https://hearth.example:8470/x" -> "hearth.example:8470"
std::string_view authority(std::string_view url) {
  const size_t scheme = url.find("://");
  if (scheme != std::string_view::npos) url.remove_prefix(scheme + 3);
  return url.substr(0, url.find('/'));
}

std::string_view without_port(std::string_view host) {
  if (host.starts_with('[')) return host.substr(0, host.find(']') + 1);
  return host.substr(0, host.find(':'));
}

bool is_change(std::string_view method) {
  return method != "GET" && method != "HEAD";
}

}  // namespace

Guard::Guard(Services& services, const Options& options)
    : services_(services),
      options_(options),
      cookie_name_("hearth_" + services.access.server_id()),
      reads_(options.reads_per_second, options.reads_per_second, services.context.clock),
      changes_(options.changes_per_second, options.changes_per_second * 4, services.context.clock),
      logged_(options.logged_per_second, options.logged_per_second, services.context.clock),
      failures_(options.failures_per_second, options.failures_per_second * 10,
                services.context.clock) {}

bool Guard::known_host(std::string_view host) const {
  const std::string_view name = without_port(host);
  if (name == "localhost" || name == "[::1]") return true;
  if (name.starts_with("127.") && name.find_first_not_of("0123456789.") == std::string_view::npos)
    return true;
  if (host == authority(options_.url)) return true;
  for (const std::string& url : options_.public_urls) {
    const std::string_view known = authority(url);
    if (known == host || without_port(known) == name) return true;
  }
  return false;
}

std::optional<Error> Guard::check_host(const net::RequestHead& head) const {
  if (head.peer_uid >= 0) return std::nullopt;
  const auto host = head.headers.get("Host");
  if (host && known_host(*host)) return std::nullopt;
  return Error::denied(format("this server does not answer to the name '{}'", host.value_or("")),
                       "start it with --public-url URL to let it be called so");
}

std::optional<Error> Guard::check_origin(const net::RequestHead& head) const {
  if (!is_change(head.method)) return std::nullopt;
  const auto origin = head.headers.get("Origin");
  if (origin && !known_host(authority(*origin)))
    return Error::denied(format("a page of {} may change nothing here", *origin));
  const auto site = head.headers.get("Sec-Fetch-Site");
  if (site && *site != "same-origin" && *site != "none")
    return Error::denied("another site may change nothing here");
  return std::nullopt;
}

// A browser sends its cookie along with whatever a page of the same host asks for, whichever port
// that page came from (a notebook's, say). So a change by cookie needs an Origin that is this very
// server, and a header that no page of another origin can set without being let to.
std::optional<Error> Guard::check_page(const net::RequestHead& head) const {
  if (auto refused = check_origin(head)) return refused;
  if (!is_change(head.method)) return std::nullopt;
  if (const auto origin = head.headers.get("Origin")) {
    const std::string_view from = authority(*origin);
    const bool ours = from == head.headers.get("Host") || from == authority(options_.url) ||
                      std::any_of(options_.public_urls.begin(), options_.public_urls.end(),
                                  [&](const std::string& url) { return from == authority(url); });
    if (!ours) return Error::denied(format("a page of {} may change nothing here", *origin));
  }
  if (!head.headers.get("X-Hearth-Request"))
    return Error::denied("a change by a signed-in browser needs the header X-Hearth-Request",
                         "send it with any value; a token needs none");
  return std::nullopt;
}

Result<Identity> Guard::identify(const net::RequestHead& head) {
  std::string token;
  bool cookie = false;
  if (const auto header = head.headers.get("Authorization")) {
    constexpr std::string_view bearer = "Bearer ", basic = "Basic ";
    if (header->starts_with(bearer)) {
      token = trim(header->substr(bearer.size()));
    } else if (header->starts_with(basic)) {
      // Clients that know only user and password give the token as the password.
      const Bytes raw = TRY(from_base64(header->substr(basic.size())));
      const std::string_view pair = as_text(raw);
      if (const size_t colon = pair.find(':'); colon != std::string_view::npos)
        token = pair.substr(colon + 1);
    }
  } else if (const auto cookies = head.headers.get("Cookie")) {
    for (const std::string_view one : split(*cookies, ';')) {
      const std::string_view pair = trim(one);
      const size_t equals = pair.find('=');
      if (equals != std::string_view::npos && pair.substr(0, equals) == cookie_name_) {
        token = pair.substr(equals + 1);
        cookie = true;
      }
    }
  }
  if (token.empty()) {
    if (head.peer_uid >= 0 && head.peer_uid == options_.owner_uid)
      return services_.access.local_admin(head.id);
    return Error::of(Code::unauthenticated, "this call needs a token",
                     "`hearth token add NAME` gives one; send it as Authorization: Bearer TOKEN "
                     "(MLflow's clients: MLFLOW_TRACKING_TOKEN)");
  }
  if (cookie)
    if (auto refused = check_page(head)) return std::move(*refused);
  // A good token is let in however many bad ones its address has sent: it may be shared.
  auto who = services_.access.authenticate(token, head.peer, head.id);
  if (!who.ok() && who.error().code == Code::unauthenticated && !failures_.take(head.peer))
    return Error::of(Code::busy, "too many failed tries from this address", "wait a minute");
  return who;
}

std::optional<Error> Guard::check_rate(const net::RequestHead& head, const Route& route,
                                       const Identity& who) {
  if (route.unlimited) return std::nullopt;
  const std::string& key = who.token_id.empty() ? head.peer : who.token_id;
  const bool change = is_change(head.method);
  if ((route.logs ? logged_ : change ? changes_ : reads_).take(key)) return std::nullopt;
  return Error::of(Code::busy,
                   format("more than {} {} a second",
                          route.logs ? options_.logged_per_second
                          : change   ? options_.changes_per_second
                                     : options_.reads_per_second,
                          change ? "changes" : "reads"),
                   "wait a second");
}

}  // namespace hearth::api
