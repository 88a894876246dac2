#include "track/metric_uses.h"

#include <algorithm>

#include "base/format.h"
#include "track/coding.h"

namespace hearth::track {
namespace {

constexpr uint32_t kMagic = 0x31554d48;  // "HMU1"
constexpr size_t kHeaderBytes = 8;
constexpr size_t kLeastEntryBytes = 3;

Error damaged(std::string_view what) {
  return Error::internal(format("the counts of metric keys are damaged: {}", what));
}

}  // namespace

void KeyUse::add_run(bool finite, double least, double greatest) {
  ++runs;
  if (!finite) return;
  min = std::min(min.value_or(least), least);
  max = std::max(max.value_or(greatest), greatest);
}

void KeyUse::add(const KeyUse& other) {
  runs += other.runs;
  if (!other.min || !other.max) return;
  min = std::min(min.value_or(*other.min), *other.min);
  max = std::max(max.value_or(*other.max), *other.max);
}

Bytes encode_uses(const KeyUses& uses) {
  Bytes out;
  put_fixed(out, kMagic);
  put_fixed(out, uint32_t{0});
  put_varint(out, uses.size());
  for (const auto& [key, use] : uses) {
    put_varint(out, key.size());
    put_bytes(out, as_bytes(key));
    put_varint(out, static_cast<uint64_t>(use.runs));
    const bool finite = use.min && use.max;
    out.push_back(static_cast<std::byte>(finite));
    if (!finite) continue;
    put_fixed(out, *use.min);
    put_fixed(out, *use.max);
  }
  set_fixed(out.data() + sizeof kMagic, crc32c(std::span(out).subspan(kHeaderBytes)));
  return out;
}

Result<KeyUses> decode_uses(std::span<const std::byte> bytes) {
  Decoder in(bytes);
  if (in.fixed<uint32_t>() != kMagic) return damaged("their first bytes are wrong");
  const auto crc = in.fixed<uint32_t>();
  if (!in.ok() || crc != crc32c(bytes.subspan(kHeaderBytes)))
    return damaged("they fail their checksum");
  const uint64_t count = in.varint();
  if (count > in.left() / kLeastEntryBytes) return damaged("keys are missing");
  KeyUses uses;
  for (uint64_t i = 0; i < count && in.ok(); ++i) {
    std::string key(as_text(in.bytes(in.varint())));
    if (!uses.empty() && key <= uses.rbegin()->first) return damaged("a key is out of order");
    KeyUse& use = uses.emplace_hint(uses.end(), std::move(key), KeyUse())->second;
    const uint64_t runs = in.varint();
    if (runs > INT32_MAX) return damaged("there are too many runs");
    use.runs = static_cast<int64_t>(runs);
    const auto finite = in.fixed<uint8_t>();
    if (finite > 1) return damaged("a mark is wrong");
    if (finite == 0) continue;
    use.min = in.fixed<double>();
    use.max = in.fixed<double>();
  }
  if (!in.ok() || in.left() != 0) return damaged("their length does not fit the keys");
  return uses;
}

}  // namespace hearth::track
