// Who is at the other end: addresses, networks, and what trusted proxies say about them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/socket.h>

#include "base/result.h"
#include "net/http.h"

namespace hearth::net {

// An IPv4 or IPv6 address. An IPv4 address written as IPv6 (::ffff:1.2.3.4) counts as IPv4.
class Address {
 public:
  static std::optional<Address> parse(std::string_view text);  // no port, no brackets
  static std::optional<Address> of(const sockaddr* address);
  std::string text() const;
  bool ipv4() const { return ipv4_; }
  bool operator==(const Address&) const = default;

 private:
  friend class Networks;
  bool ipv4_ = true;
  std::array<uint8_t, 16> bytes_{};  // the first 4 for IPv4
};

// A set of CIDR blocks: "10.0.0.0/8", "::1", "fd00::/8".
class Networks {
 public:
  static Result<Networks> parse(const std::vector<std::string>& blocks);
  bool contains(const Address& address) const;

 private:
  struct Block {
    Address base;
    int bits = 0;
  };
  std::vector<Block> blocks_;
};

// What stands behind `direct`: itself, unless it is one of `trusted`; then the last address in
// X-Forwarded-For that is not trusted itself (those before it are anybody's word).
std::string forwarded_address(const Headers& headers, const Address& direct,
                              const Networks& trusted);
// True when a trusted proxy says that the client came by TLS.
bool forwarded_tls(const Headers& headers);

// 1-64 of [A-Za-z0-9._-].
bool valid_request_id(std::string_view id);

}  // namespace hearth::net
