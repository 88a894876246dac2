#include "base/bytes.h"

#include <algorithm>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/clock.h"
#include "base/format.h"

namespace hearth {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";
constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kBase64Url =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr size_t kNonceSize = 12, kTagSize = 16, kKeySize = 32;

std::string encode64(std::span<const std::byte> bytes, std::string_view alphabet, bool pad) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t n = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j)
      group = group << 8 | (j < n ? static_cast<uint32_t>(bytes[i + j]) : 0);
    for (size_t j = 0; j < 4; ++j) {
      if (j <= n)
        out += alphabet[group >> (18 - 6 * j) & 63];
      else if (pad)
        out += '=';
    }
  }
  return out;
}

const unsigned char* raw(std::span<const std::byte> bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}
const unsigned char* raw(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

struct CipherFree {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
using Cipher = std::unique_ptr<EVP_CIPHER_CTX, CipherFree>;

// Bytes of the well-formed UTF-8 sequence at text[i], or 0.
size_t utf8_length(std::string_view text, size_t i) {
  const auto at = [&](size_t k) { return static_cast<unsigned char>(text[k]); };
  const unsigned char c = at(i);
  if (c < 0x80) return 1;
  const size_t n = c >= 0xc2 && c < 0xe0   ? 2
                   : (c & 0xf0) == 0xe0    ? 3
                   : c >= 0xf0 && c < 0xf5 ? 4
                                           : 0;
  if (n == 0 || i + n > text.size()) return 0;
  for (size_t k = 1; k < n; ++k)
    if ((at(i + k) & 0xc0) != 0x80) return 0;
  const unsigned char d = at(i + 1);
  if ((c == 0xe0 && d < 0xa0) || (c == 0xed && d > 0x9f) || (c == 0xf0 && d < 0x90) ||
      (c == 0xf4 && d > 0x8f))
    return 0;
  return n;
}

}  // namespace

std::string to_hex(std::span<const std::byte> bytes) {
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const std::byte b : bytes) {
    out += kHex[static_cast<size_t>(b) >> 4];
    out += kHex[static_cast<size_t>(b) & 15];
  }
  return out;
}

Result<Bytes> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) return Error::invalid("a hex text has an odd length");
  Bytes out(text.size() / 2);
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i] >= 'A' && text[i] <= 'F' ? static_cast<char>(text[i] + 32) : text[i];
    const size_t value = kHex.find(c);
    if (value == std::string_view::npos) return Error::invalid("a hex text has an odd character");
    out[i / 2] = out[i / 2] << 4 | std::byte(value);
  }
  return out;
}

std::string to_base64(std::span<const std::byte> bytes) {
  return encode64(bytes, kBase64, true);
}
std::string to_base64url(std::span<const std::byte> bytes) {
  return encode64(bytes, kBase64Url, false);
}

Result<Bytes> from_base64(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  if (text.size() % 4 == 1) return Error::invalid("a base64 text is cut off");
  Bytes out;
  out.reserve(text.size() * 3 / 4);
  uint32_t group = 0;
  int bits = 0;
  for (const char c : text) {
    size_t value = kBase64.find(c);
    if (value == std::string_view::npos) value = kBase64Url.find(c);
    if (value == std::string_view::npos)
      return Error::invalid("a base64 text has an odd character");
    group = group << 6 | static_cast<uint32_t>(value);
    bits += 6;
    if (bits >= 8) out.push_back(std::byte(group >> (bits -= 8) & 255));
  }
  return out;
}

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};
Sha256::Sha256() : state_(std::make_unique<State>()) {
  CHECK(EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) == 1);
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;
void Sha256::update(std::span<const std::byte> bytes) {
  CHECK(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1);
}
std::array<std::byte, 32> Sha256::finish() {
  std::array<std::byte, 32> out;
  CHECK(EVP_DigestFinal_ex(state_->context, reinterpret_cast<unsigned char*>(out.data()),
                           nullptr) == 1);
  return out;
}
std::string Sha256::finish_text() {
  return "sha256:" + to_hex(finish());
}

std::string sha256(std::string_view text) {
  Sha256 digest;
  digest.update(text);
  return digest.finish_text();
}

bool is_digest(std::string_view text) {
  if (!text.starts_with("sha256:") || text.size() != 71) return false;
  return text.substr(7).find_first_not_of(kHex) == std::string_view::npos;
}

std::array<std::byte, 32> hmac_sha256(std::string_view key, std::string_view message) {
  std::array<std::byte, 32> out;
  unsigned int length = 0;
  CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), raw(message), message.size(),
             reinterpret_cast<unsigned char*>(out.data()), &length) != nullptr);
  return out;
}

bool equal_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

Result<Bytes> seal(std::span<const std::byte> key, std::string_view plain, std::string_view bound) {
  CHECK(key.size() == kKeySize);
  Bytes out(kNonceSize + plain.size() + kTagSize);
  system_random().fill(std::span(out).first(kNonceSize));
  const Cipher cipher(EVP_CIPHER_CTX_new());
  auto* text = reinterpret_cast<unsigned char*>(out.data()) + kNonceSize;
  int n = 0;
  const bool ok =
      EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, raw(key), raw(out)) == 1 &&
      EVP_EncryptUpdate(cipher.get(), nullptr, &n, raw(bound), static_cast<int>(bound.size())) ==
          1 &&
      EVP_EncryptUpdate(cipher.get(), text, &n, raw(plain), static_cast<int>(plain.size())) == 1 &&
      EVP_EncryptFinal_ex(cipher.get(), text + n, &n) == 1 &&
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, kTagSize, text + plain.size()) == 1;
  if (!ok) return Error::internal("encryption failed");
  return out;
}

Result<std::string> unseal(std::span<const std::byte> key, std::span<const std::byte> sealed,
                           std::string_view bound) {
  CHECK(key.size() == kKeySize);
  if (sealed.size() < kNonceSize + kTagSize) return Error::invalid("the sealed text is too short");
  const size_t size = sealed.size() - kNonceSize - kTagSize;
  std::string plain(size, '\0');
  Bytes tag(sealed.end() - kTagSize, sealed.end());
  const Cipher cipher(EVP_CIPHER_CTX_new());
  auto* out = reinterpret_cast<unsigned char*>(plain.data());
  int n = 0;
  const bool ok =
      EVP_DecryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, raw(key), raw(sealed)) == 1 &&
      EVP_DecryptUpdate(cipher.get(), nullptr, &n, raw(bound), static_cast<int>(bound.size())) ==
          1 &&
      EVP_DecryptUpdate(cipher.get(), out, &n, raw(sealed) + kNonceSize, static_cast<int>(size)) ==
          1 &&
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, kTagSize, tag.data()) == 1 &&
      EVP_DecryptFinal_ex(cipher.get(), out + n, &n) == 1;
  if (!ok) return Error::invalid("this key does not open it", "was it sealed with another key?");
  return plain;
}

bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const size_t n = utf8_length(text, i);
    if (n == 0) return false;
    i += n;
  }
  return true;
}

std::string to_utf8_lossy(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const size_t n = utf8_length(text, i);
    if (n == 0) {
      out += "\xef\xbf\xbd";
      ++i;
    } else {
      out += text.substr(i, n);
      i += n;
    }
  }
  return out;
}

}  // namespace hearth
