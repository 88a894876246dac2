// Versions of the shim protocol: what a server and the shims of its tasks say to each other. A
// server is replaced while shims of an earlier one go on, so each side names the versions it
// speaks, and the newest that both have is spoken. docs/shim-protocol.md has the rules.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "domain/describe.h"

namespace hearth {

struct ProtocolRange {
  int64_t oldest = 1, newest = 1;
  bool contains(int64_t version) const { return oldest <= version && version <= newest; }
  std::string text() const;  // "1", "1 to 3"
  bool operator==(const ProtocolRange&) const = default;
};

// What this program speaks, as a server and as a shim: a program speaks the newest version of the
// release before it, too.
constexpr ProtocolRange kShimProtocols{1, 1};
constexpr int64_t kShimProtocol = kShimProtocols.newest;  // orders are written in it

// The newest version that both speak.
constexpr std::optional<int64_t> common_protocol(ProtocolRange a, ProtocolRange b) {
  const int64_t newest = std::min(a.newest, b.newest);
  return newest < std::max(a.oldest, b.oldest) ? std::nullopt : std::optional(newest);
}

// What stands in the head of every sync, whatever the version: read before all else of it.
struct SyncHello {
  int64_t protocol = 1;                              // this request is written in it
  int64_t oldest_protocol = 0, newest_protocol = 0;  // what the shim speaks; 0: `protocol` alone
  bool operator==(const SyncHello&) const = default;
};
template <>
struct Describe<SyncHello> {
  static constexpr std::string_view name = "SyncHello", doc = "Versions that a shim speaks.";
  static void fields(Fields<SyncHello>& f) {
    f("protocol", &SyncHello::protocol, "version that the request is written in").required();
    f("oldest_protocol", &SyncHello::oldest_protocol, "oldest version that the shim speaks");
    f("newest_protocol", &SyncHello::newest_protocol, "newest version that the shim speaks");
  }
};

// The version to go on in, for a server that speaks `ours`. unsupported: this request cannot be
// read, and why; the words say what mends it, or that the shim goes on in another version.
Result<int64_t> agree(const SyncHello& hello, ProtocolRange ours);

// For who reads an order (task.json) that was written in `version`. unsupported, with the mend.
Result<void> check_order_protocol(int64_t version, ProtocolRange ours);

}  // namespace hearth
