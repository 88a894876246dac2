#include "control/notify/signature.h"

#include "base/bytes.h"
#include "base/format.h"

namespace hearth::control {

std::string webhook_signature(std::string_view secret, std::string_view id, int64_t timestamp,
                              std::string_view body) {
  constexpr std::string_view prefix = "whsec_";
  std::string key(secret);
  if (secret.starts_with(prefix)) {
    const auto decoded = from_base64(secret.substr(prefix.size()));
    if (decoded.ok()) key = as_text(*decoded);
  }
  const auto mac = hmac_sha256(key, format("{}.{}.{}", id, timestamp, body));
  return "v1," + to_base64(mac);
}

}  // namespace hearth::control
