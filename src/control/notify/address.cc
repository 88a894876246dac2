#include "control/notify/address.h"

#include <optional>
#include <vector>

#include <arpa/inet.h>
#include <ifaddrs.h>

#include "base/format.h"
#include "net/peer.h"

namespace hearth::control {
namespace {

const net::Networks& near() {
  static const net::Networks networks = [] {
    auto parsed = net::Networks::parse({
        "0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "192.0.0.0/24", "224.0.0.0/4", "240.0.0.0/4",
        "::/127",  // unspecified and loopback
        "fe80::/10", "fec0::/10", "ff00::/8", "100::/64",
        "fd00:ec2::254/128",   // the metadata service of a cloud
        "100.100.100.200/32",  // of another
    });
    CHECK(parsed.ok());
    return std::move(parsed).value();
  }();
  return networks;
}

// The IPv4 address inside an IPv6 one of 6to4 (2002::/16) or NAT64 (64:ff9b::/96).
std::optional<net::Address> embedded(const std::string& text) {
  in6_addr v6{};
  if (inet_pton(AF_INET6, text.c_str(), &v6) != 1) return std::nullopt;
  const uint8_t* bytes = v6.s6_addr;
  static constexpr std::array<uint8_t, 12> nat64 = {0, 0x64, 0xff, 0x9b};
  const uint8_t* v4 = nullptr;
  if (bytes[0] == 0x20 && bytes[1] == 0x02) v4 = bytes + 2;
  if (std::equal(nat64.begin(), nat64.end(), bytes)) v4 = bytes + 12;
  if (v4 == nullptr) return std::nullopt;
  return net::Address::parse(format("{}.{}.{}.{}", v4[0], v4[1], v4[2], v4[3]));
}

bool is_own(const net::Address& address) {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return true;  // unknown: refuse
  bool own = false;
  for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr) continue;
    const int family = at->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const auto mine = net::Address::of(at->ifa_addr);
    own |= mine && *mine == address;
  }
  freeifaddrs(list);
  return own;
}

}  // namespace

std::string refuse_near_address(const std::string& address) {
  std::string text = address.substr(0, address.find('%'));  // fe80::1%eth0
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  const auto parsed = net::Address::parse(text);
  const std::string words =
      format("{} is this machine's or near it, and webhooks do not go there", address);
  if (!parsed || near().contains(*parsed) || is_own(*parsed)) return words;
  if (const auto inner = embedded(text))
    if (near().contains(*inner) || is_own(*inner)) return words;
  return "";
}

}  // namespace hearth::control
