// Bytes as text and back, and digests.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hearth {

using Bytes = std::vector<std::byte>;
inline std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}
inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string to_hex(std::span<const std::byte> bytes);
Result<Bytes> from_hex(std::string_view text);
std::string to_base64(std::span<const std::byte> bytes);
Result<Bytes> from_base64(std::string_view text);            // with or without padding
std::string to_base64url(std::span<const std::byte> bytes);  // without padding

// SHA-256, written "sha256:" + 64 hex digits wherever a digest is text.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  void update(std::span<const std::byte> bytes);
  void update(std::string_view text) { update(as_bytes(text)); }
  std::array<std::byte, 32> finish();  // once
  std::string finish_text();           // "sha256:..."

 private:
  struct State;
  std::unique_ptr<State> state_;
};
std::string sha256(std::string_view text);  // "sha256:..."
bool is_digest(std::string_view text);
std::array<std::byte, 32> hmac_sha256(std::string_view key, std::string_view message);
// Compares in a time that depends on the lengths alone.
bool equal_constant_time(std::string_view a, std::string_view b);

// CRC-32C (Castagnoli), as in iSCSI and TensorFlow records. Pass the last value to continue.
uint32_t crc32c(std::span<const std::byte> bytes, uint32_t crc = 0);

// AES-256-GCM with a fresh 12-byte nonce before and a 16-byte tag behind the cipher text.
// key: 32 bytes. `bound` is authenticated, not stored: the same must be given to open.
Result<Bytes> seal(std::span<const std::byte> key, std::string_view plain, std::string_view bound);
Result<std::string> unseal(std::span<const std::byte> key, std::span<const std::byte> sealed,
                           std::string_view bound);

// True if text is well-formed UTF-8 (no surrogates, no overlong forms).
bool is_utf8(std::string_view text);
// Every ill-formed byte replaced by U+FFFD.
std::string to_utf8_lossy(std::string_view text);

}  // namespace hearth
