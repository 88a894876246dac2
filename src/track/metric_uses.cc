#include "track/metric_uses.h"

#include <algorithm>

#include "track/sealed.h"

namespace hearth::track {
namespace {

constexpr uint32_t kMagic = 0x31554d48;  // "HMU1"
constexpr const char* kRecord = "count of metric keys";
constexpr size_t kLeastEntryBytes = 3;

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
  Bytes out = begin_sealed(kMagic);
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
  close_seal(out);
  return out;
}

Result<KeyUses> decode_uses(std::span<const std::byte> bytes) {
  Decoder in = TRY(open_sealed(bytes, kMagic, kRecord));
  const uint64_t count = in.varint();
  if (count > in.left() / kLeastEntryBytes) return damaged(kRecord, "keys are missing");
  KeyUses uses;
  for (uint64_t i = 0; i < count && in.ok(); ++i) {
    std::string key(as_text(in.bytes(in.varint())));
    if (!uses.empty() && key <= uses.rbegin()->first)
      return damaged(kRecord, "a key is out of order");
    KeyUse& use = uses.emplace_hint(uses.end(), std::move(key), KeyUse())->second;
    const uint64_t runs = in.varint();
    if (runs > INT32_MAX) return damaged(kRecord, "there are too many runs");
    use.runs = static_cast<int64_t>(runs);
    const auto finite = in.fixed<uint8_t>();
    if (finite > 1) return damaged(kRecord, "a mark is wrong");
    if (finite == 0) continue;
    use.min = in.fixed<double>();
    use.max = in.fixed<double>();
  }
  if (!in.ok() || in.left() != 0) return damaged(kRecord, "its length does not fit the keys");
  return uses;
}

}  // namespace hearth::track
