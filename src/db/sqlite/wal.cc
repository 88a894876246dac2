#include "db/sqlite/wal.h"

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "base/format.h"

namespace hearth::db {
namespace {

constexpr uint32_t kMagic = 0x377f0682;  // with the last bit set: checksums of big-endian words

uint32_t big(const std::byte* at) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | std::to_integer<uint32_t>(at[i]);
  return value;
}

struct Sum {
  uint32_t a = 0, b = 0;
  bool operator==(const Sum&) const = default;
};

// Words are taken in one byte order, which the log's magic number names.
template <bool kSwap>
Sum run_on(Sum sum, std::span<const std::byte> bytes) {
  for (size_t at = 0; at + 8 <= bytes.size(); at += 8) {
    std::array<uint32_t, 2> words;
    std::memcpy(words.data(), bytes.data() + at, 8);
    sum.a += (kSwap ? __builtin_bswap32(words[0]) : words[0]) + sum.b;
    sum.b += (kSwap ? __builtin_bswap32(words[1]) : words[1]) + sum.a;
  }
  return sum;
}

template <bool kSwap>
Sum frame_sum(Sum before, std::span<const std::byte> frame) {
  return run_on<kSwap>(run_on<kSwap>(before, frame.first(8)), frame.subspan(kWalFrameHeaderBytes));
}

Sum stored(std::span<const std::byte> at) {
  return {big(at.data()), big(at.data() + 4)};
}

struct Frame {
  uint32_t page = 0, commit = 0;
  bool ours = false;   // the salts are those of the header: written since the log began anew
  bool whole = false;  // and the checksums fit from the first frame to here
  bool fits = false;   // its checksum fits to what the frame before it says, right or wrong
};

bool read_at(int fd, std::span<std::byte> to, int64_t offset) {
  size_t done = 0;
  while (done < to.size()) {
    const ssize_t n =
        ::pread(fd, to.data() + done, to.size() - done, offset + static_cast<int64_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

Error damage(const std::string& path, std::string_view what) {
  return Error::internal(format("{} is damaged: {}", path, what),
                         "restore the last backup (hearth restore)");
}

Result<std::vector<Frame>> read_frames(int fd, const std::string& path) {
  std::vector<Frame> frames;
  std::array<std::byte, kWalHeaderBytes> header;
  if (!read_at(fd, header, 0)) return frames;  // nothing was ever committed to it
  if (std::ranges::all_of(header, [](std::byte b) { return b == std::byte{0}; })) return frames;
  const uint32_t magic = big(header.data());
  const bool swap = (magic & 1) == (std::endian::native == std::endian::little ? 1 : 0);
  const std::span<const std::byte> summed = std::span(header).first(24);
  Sum sum = swap ? run_on<true>({}, summed) : run_on<false>({}, summed);
  if ((magic & ~1U) != kMagic || sum != stored(std::span(header).subspan(24)))
    return damage(path, "its header");

  std::array<std::byte, kWalFrameBytes> bytes;
  bool whole = true;
  // Goes on from each frame's stored sum: where all are whole that is the running sum itself.
  for (int64_t n = 1; read_at(fd, bytes, wal_frame_offset(n)); ++n) {
    Frame frame{.page = big(bytes.data()), .commit = big(bytes.data() + 4)};
    frame.ours = frame.page != 0 && std::memcmp(bytes.data() + 8, header.data() + 16, 8) == 0;
    sum = swap ? frame_sum<true>(sum, bytes) : frame_sum<false>(sum, bytes);
    const Sum says = stored(std::span(bytes).subspan(16, 8));
    frame.fits = sum == says;
    sum = says;
    whole = whole && frame.ours && frame.fits;
    frame.whole = whole;
    frames.push_back(frame);
  }
  return frames;
}

// True when a frame lies behind the commit that frames[bad] belongs to. A power loss leaves any
// part of that commit's sectors old, so only fields that were surely written with it are believed:
// those of later frames that fit, and of the bad one when its mark and salts share a sector.
bool later_commit_begins(const std::vector<Frame>& frames, size_t bad) {
  constexpr int64_t kSector = 512;
  const int64_t at = wal_frame_offset(static_cast<int64_t>(bad) + 1);
  const bool one_sector = (at + 4) / kSector == (at + 15) / kSector;
  size_t end = bad;
  if (!one_sector || !frames[bad].ours || frames[bad].commit == 0) {
    do ++end;
    while (end < frames.size() &&
           !(frames[end].ours && frames[end].fits && frames[end].commit != 0));
  }
  for (size_t later = end + 1; later < frames.size(); ++later)
    if (frames[later].ours) return true;
  return false;
}

}  // namespace

int64_t wal_frame_at(int64_t offset) {
  const int64_t in_frames = offset - kWalHeaderBytes - kWalFrameHeaderBytes;
  return in_frames >= 0 && in_frames % kWalFrameBytes == 0 ? in_frames / kWalFrameBytes + 1 : -1;
}

int64_t wal_frame_offset(int64_t frame) {
  return kWalHeaderBytes + (frame - 1) * kWalFrameBytes;
}

int64_t wal_checksum_before(int64_t frame) {
  return frame == 1 ? kWalHeaderBytes - kWalChecksumBytes : wal_frame_offset(frame - 1) + 16;
}

bool wal_frame_is_whole(std::span<const std::byte> before, std::span<const std::byte> frame) {
  const Sum end = stored(frame.subspan(16, 8));
  // A log that came from a machine of the other byte order is read as well.
  return frame_sum<false>(stored(before), frame) == end ||
         frame_sum<true>(stored(before), frame) == end;
}

Result<void> check_wal(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT) return {};
  if (fd < 0) return Error::from_errno(path, errno);
  auto read = read_frames(fd, path);
  ::close(fd);
  const std::vector<Frame> frames = TRY(std::move(read));
  size_t bad = 0;
  while (bad < frames.size() && frames[bad].whole) ++bad;
  if (bad < frames.size() && later_commit_begins(frames, bad))
    return damage(path, format("frame {}", bad + 1));
  return {};
}

}  // namespace hearth::db
