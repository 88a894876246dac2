// Small records that say what they are and whether they are whole: four bytes of a name, the
// CRC-32C of all behind it, then the record's own bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "base/format.h"
#include "base/result.h"
#include "track/coding.h"

namespace hearth::track {

constexpr size_t kSealBytes = 8;

inline Error damaged(std::string_view record, std::string_view why) {
  return Error::internal(format("the {} is damaged: {}", record, why));
}

// The record's bytes are put behind the seal, then close_seal() is called.
inline Bytes begin_sealed(uint32_t magic) {
  Bytes out;
  put_fixed(out, magic);
  put_fixed(out, uint32_t{0});
  return out;
}
inline void close_seal(Bytes& out) {
  set_fixed(out.data() + sizeof(uint32_t), crc32c(std::span(out).subspan(kSealBytes)));
}

// Stands at the record's first byte. `record`: its name in an error ("metric column").
inline Result<Decoder> open_sealed(std::span<const std::byte> bytes, uint32_t magic,
                                   std::string_view record) {
  Decoder in(bytes);
  if (in.fixed<uint32_t>() != magic) return damaged(record, "its first bytes are wrong");
  const auto crc = in.fixed<uint32_t>();
  if (!in.ok() || crc != crc32c(bytes.subspan(kSealBytes)))
    return damaged(record, "it fails its checksum");
  return in;
}

}  // namespace hearth::track
