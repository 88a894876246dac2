// What every request must pass before its route sees it.
#pragma once

#include <optional>
#include <string>

#include "api/rate_limit.h"
#include "api/route.h"

namespace hearth::api {

class Guard {
 public:
  Guard(Services& services, const Options& options);

  // A foreign Host is refused: a page of another name that resolves to us (DNS rebinding) must not
  // reach the API with the browser's help. Likewise a foreign Origin on calls that change
  // something.
  std::optional<Error> check_host(const net::RequestHead& head) const;
  std::optional<Error> check_origin(const net::RequestHead& head) const;

  // Who it is, from the bearer token, the cookie or the Unix socket.
  Result<Identity> identify(const net::RequestHead& head);
  // busy when over the rate.
  std::optional<Error> check_rate(const net::RequestHead& head, const Route& route,
                                  const Identity& who);
  std::string cookie_name() const { return cookie_name_; }

 private:
  // What a change must have besides when a cookie speaks for it.
  std::optional<Error> check_page(const net::RequestHead& head) const;
  bool known_host(std::string_view host) const;
  Services& services_;
  const Options& options_;
  std::string cookie_name_;
  RateLimit reads_, changes_, logged_, failures_;
};

}  // namespace hearth::api
