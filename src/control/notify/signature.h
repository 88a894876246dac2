// The signature of Standard Webhooks (https://www.standardwebhooks.com), version 1.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"

namespace hearth::control {

// "v1,<base64 of HMAC-SHA-256 over id.timestamp.body>". A secret that begins with whsec_ is base64
// behind it, as the standard says; any other is taken as the bytes it is.
std::string webhook_signature(std::string_view secret, std::string_view id, int64_t timestamp,
                              std::string_view body);

}  // namespace hearth::control
