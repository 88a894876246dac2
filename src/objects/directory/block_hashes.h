// The hashes of an object's blocks, so that a range can be verified without reading the whole.
//
// A side file beside each object of more than one block: magic "HOB1", u32 block size, u64 object
// size, the object's SHA-256, the SHA-256 of each block, the SHA-256 of all before.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "os/files.h"

namespace hearth::objects {

constexpr int64_t kBlockBytes = 1 << 20;

using Hash = std::array<std::byte, 32>;
Hash hash_of(std::string_view bytes);

struct BlockHashes {
  Hash object{};
  int64_t size_bytes = 0;
  std::vector<Hash> blocks;

  std::string encode() const;
  // internal: it is not what was written, or of another object.
  static Result<BlockHashes> decode(std::string_view bytes, const std::string& digest,
                                    int64_t size_bytes);
  std::string digest() const { return "sha256:" + to_hex(object); }
};

// Reads a file from its start to its end and hashes it.
Result<BlockHashes> hash_file(const os::File& file);

}  // namespace hearth::objects
