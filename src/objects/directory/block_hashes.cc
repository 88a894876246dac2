#include "objects/directory/block_hashes.h"

#include <cstring>

namespace hearth::objects {
namespace {

constexpr std::string_view kMagic = "HOB1";
constexpr size_t kHeaderBytes = 4 + 4 + 8 + 32;

template <typename T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}
void put(std::string& out, const Hash& hash) {
  out.append(reinterpret_cast<const char*>(hash.data()), hash.size());
}
template <typename T>
T get(std::string_view bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

Error unusable() {
  return Error::internal("the block hashes are damaged");
}

}  // namespace

Hash hash_of(std::string_view bytes) {
  Sha256 sha;
  sha.update(bytes);
  return sha.finish();
}

std::string BlockHashes::encode() const {
  std::string out(kMagic);
  put(out, static_cast<uint32_t>(kBlockBytes));
  put(out, static_cast<uint64_t>(size_bytes));
  put(out, object);
  for (const Hash& block : blocks) put(out, block);
  put(out, hash_of(out));
  return out;
}

Result<BlockHashes> BlockHashes::decode(std::string_view bytes, const std::string& digest,
                                        int64_t size_bytes) {
  const auto count = static_cast<size_t>((size_bytes + kBlockBytes - 1) / kBlockBytes);
  if (bytes.size() != kHeaderBytes + (count + 1) * sizeof(Hash)) return unusable();
  const size_t summed = bytes.size() - sizeof(Hash);
  if (hash_of(bytes.substr(0, summed)) != get<Hash>(bytes, summed)) return unusable();
  BlockHashes hashes;
  hashes.object = get<Hash>(bytes, kHeaderBytes - sizeof(Hash));
  hashes.size_bytes = size_bytes;
  if (!bytes.starts_with(kMagic) || get<uint32_t>(bytes, 4) != kBlockBytes ||
      get<uint64_t>(bytes, 8) != static_cast<uint64_t>(size_bytes) || hashes.digest() != digest)
    return unusable();
  for (size_t i = 0; i < count; ++i)
    hashes.blocks.push_back(get<Hash>(bytes, kHeaderBytes + i * sizeof(Hash)));
  return hashes;
}

Result<BlockHashes> hash_file(const os::File& file) {
  BlockHashes hashes;
  Sha256 whole;
  Bytes block(static_cast<size_t>(kBlockBytes));
  for (;;) {
    const size_t got = TRY(file.pread(block, hashes.size_bytes));
    if (got == 0) break;
    const auto bytes = std::span(block).first(got);
    whole.update(bytes);
    hashes.blocks.push_back(hash_of(as_text(bytes)));
    hashes.size_bytes += static_cast<int64_t>(got);
    if (got < block.size()) break;
  }
  hashes.object = whole.finish();
  return hashes;
}

}  // namespace hearth::objects
