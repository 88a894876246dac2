// Which addresses webhooks may not reach: this machine and what is near it.
#pragma once

#include <string>

namespace hearth::control {

// Why the address (as text, without port) is refused, or "". Refused are loopback, link-local,
// unspecified, multicast, broadcast and reserved addresses, those of this machine's own interfaces,
// the metadata services of clouds, and all of these in IPv6 clothes (mapped, 6to4, NAT64).
std::string refuse_near_address(const std::string& address);

}  // namespace hearth::control
