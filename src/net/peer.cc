#include "net/peer.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "base/format.h"
#include "base/units.h"

namespace hearth::net {
namespace {

constexpr std::array<uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr int kMostForwarded = 32;  // addresses of X-Forwarded-For that are looked at

// "1.2.3.4:5678" and "[::1]:5678" as some proxies write them, without the port.
std::string_view without_port(std::string_view text) {
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    return end == std::string_view::npos ? text : text.substr(1, end - 1);
  }
  if (std::count(text.begin(), text.end(), ':') == 1) return text.substr(0, text.find(':'));
  return text;
}

}  // namespace

std::optional<Address> Address::parse(std::string_view text) {
  const std::string copy(text);
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  if (inet_pton(AF_INET, copy.c_str(), &v4.sin_addr) == 1)
    return of(reinterpret_cast<const sockaddr*>(&v4));
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  if (inet_pton(AF_INET6, copy.c_str(), &v6.sin6_addr) == 1)
    return of(reinterpret_cast<const sockaddr*>(&v6));
  return std::nullopt;
}

std::optional<Address> Address::of(const sockaddr* address) {
  Address out;
  if (address->sa_family == AF_INET) {
    std::memcpy(out.bytes_.data(), &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, 4);
    return out;
  }
  if (address->sa_family != AF_INET6) return std::nullopt;
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address);
  if (std::memcmp(&v6->sin6_addr, kMapped.data(), kMapped.size()) == 0) {
    std::memcpy(out.bytes_.data(), v6->sin6_addr.s6_addr + kMapped.size(), 4);
    return out;
  }
  out.ipv4_ = false;
  std::memcpy(out.bytes_.data(), &v6->sin6_addr, 16);
  return out;
}

std::string Address::text() const {
  std::array<char, INET6_ADDRSTRLEN> out{};
  inet_ntop(ipv4_ ? AF_INET : AF_INET6, bytes_.data(), out.data(), out.size());
  return out.data();
}

Result<Networks> Networks::parse(const std::vector<std::string>& blocks) {
  Networks networks;
  for (const std::string& text : blocks) {
    const size_t slash = std::min(text.find('/'), text.size());
    const auto base = Address::parse(std::string_view(text).substr(0, slash));
    int bits = base && !base->ipv4() ? 128 : 32;
    const int most = bits;
    bool good = base.has_value();
    if (slash < text.size()) {
      const char* end = text.data() + text.size();
      const auto [rest, failed] = std::from_chars(text.data() + slash + 1, end, bits);
      good = good && failed == std::errc() && rest == end && bits >= 0 && bits <= most;
    }
    if (!good)
      return Error::invalid(format("'{}' is no network", text),
                            "write an address and a length, as 10.0.0.0/8 or fd00::/8");
    networks.blocks_.push_back({*base, bits});
  }
  return networks;
}

bool Networks::contains(const Address& address) const {
  return std::any_of(blocks_.begin(), blocks_.end(), [&](const Block& block) {
    if (block.base.ipv4_ != address.ipv4_) return false;
    const auto whole = static_cast<size_t>(block.bits / 8);
    if (!std::equal(block.base.bytes_.begin(), block.base.bytes_.begin() + whole,
                    address.bytes_.begin()))
      return false;
    const int rest = block.bits % 8;
    return rest == 0 || ((block.base.bytes_[whole] ^ address.bytes_[whole]) >> (8 - rest)) == 0;
  });
}

std::string forwarded_address(const Headers& headers, const Address& direct,
                              const Networks& trusted) {
  Address nearest = direct;
  int looked_at = 0;
  const auto& all = headers.all();
  for (auto header = all.rbegin(); header != all.rend(); ++header) {
    if (!equal_without_case(header->first, "x-forwarded-for")) continue;
    const auto entries = split(header->second, ',');
    for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
      if (!trusted.contains(nearest) || ++looked_at > kMostForwarded) return nearest.text();
      const auto address = Address::parse(without_port(trim(*entry)));
      if (!address) return nearest.text();
      nearest = *address;
    }
  }
  return nearest.text();
}

bool forwarded_tls(const Headers& headers) {
  const auto proto = headers.get("x-forwarded-proto");
  return proto && equal_without_case(trim(split(*proto, ',').back()), "https");
}

bool valid_request_id(std::string_view id) {
  constexpr size_t kMostBytes = 64;
  return !id.empty() && id.size() <= kMostBytes && std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
}

}  // namespace hearth::net
