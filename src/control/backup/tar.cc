#include "control/backup/tar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "base/bytes.h"
#include "base/format.h"

namespace hearth::control {
namespace {

// Offsets and lengths of POSIX.1-1988 ustar.
constexpr size_t kMode = 100, kUid = 108, kGid = 116, kSize = 124, kTime = 136, kChecksum = 148;
constexpr size_t kType = 156, kMagic = 257;
constexpr size_t kNumber = 12;  // of size and time
constexpr size_t kShortNumber = 8;
constexpr int64_t kOctalEnd = int64_t{1} << 33;  // eleven octal digits

using Header = std::array<char, kTarBlock>;

void put(Header& header, size_t at, std::string_view text) {
  std::memcpy(header.data() + at, text.data(), text.size());
}

void put_octal(Header& header, size_t at, size_t length, int64_t value) {
  put(header, at, format("{:0{}o}", value, length - 1));
}

// Sizes past eleven octal digits: base 256 with the first bit set, as GNU tar and others read it.
void put_size(Header& header, int64_t value) {
  if (value < kOctalEnd) return put_octal(header, kSize, kNumber, value);
  header[kSize] = static_cast<char>(0x80);
  for (size_t i = kNumber - 1; i > 0; --i, value >>= 8)
    header[kSize + i] = static_cast<char>(value & 0xff);
}

std::optional<int64_t> get_number(const Header& header, size_t at, size_t length) {
  if ((header[at] & 0x80) != 0) {
    int64_t value = 0;
    for (size_t i = length - 8; i < length; ++i)
      value = value << 8 | static_cast<unsigned char>(header[at + i]);
    return value < 0 ? std::nullopt : std::optional(value);
  }
  int64_t value = 0;
  const char* begin = header.data() + at;
  const char* end = begin + length;
  while (begin < end && *begin == ' ') ++begin;
  const auto [stop, failure] = std::from_chars(begin, end, value, 8);
  if (failure != std::errc() || value < 0) return std::nullopt;
  return stop == end || *stop == '\0' || *stop == ' ' ? std::optional(value) : std::nullopt;
}

int64_t checksum(Header header) {
  std::memset(header.data() + kChecksum, ' ', kShortNumber);
  int64_t sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  return sum;
}

int64_t padding_of(int64_t size) {
  constexpr auto kBlock = static_cast<int64_t>(kTarBlock);
  return (kBlock - size % kBlock) % kBlock;
}

}  // namespace

Result<void> TarWriter::add(const std::string& name, int64_t size, Time modified,
                            const std::function<Result<void>(const Pour&)>& fill) {
  CHECK(name.size() <= kMostTarName);
  Header header{};
  put(header, 0, name);
  put_octal(header, kMode, kShortNumber, 0600);
  put_octal(header, kUid, kShortNumber, 0);
  put_octal(header, kGid, kShortNumber, 0);
  put_size(header, size);
  put_octal(header, kTime, kNumber, modified.micros / 1'000'000);
  header[kType] = '0';
  put(header, kMagic, std::string_view("ustar\00000", 8));
  put(header, kChecksum, format("{:06o}", checksum(header)));
  header[kChecksum + 7] = ' ';
  TRY(file_.write({header.data(), header.size()}));

  int64_t poured = 0;
  TRY(fill([&](std::string_view bytes) -> Result<void> {
    poured += static_cast<int64_t>(bytes.size());
    if (poured > size) return Error::conflict(name + " grew while it was copied", "try again");
    return file_.write(bytes);
  }));
  if (poured < size) return Error::conflict(name + " shrank while it was copied", "try again");
  return file_.write(std::string(static_cast<size_t>(padding_of(size)), '\0'));
}

Result<void> TarWriter::finish() {
  return file_.write(std::string(2 * kTarBlock, '\0'));
}

Result<void> TarReader::block(std::span<std::byte> to) {
  size_t done = 0;
  while (done < to.size()) {
    const size_t n = TRY(file_.read(to.subspan(done)));
    if (n == 0)
      return Error::invalid(file_.path() + " is cut off", "copy it again, or take another backup");
    done += n;
  }
  return {};
}

Result<std::optional<TarEntry>> TarReader::next() {
  TRY(read([](std::string_view) -> Result<void> { return {}; }));
  Header header;
  TRY(block(std::as_writable_bytes(std::span(header))));
  if (std::ranges::all_of(header, [](char c) { return c == '\0'; }))
    return std::optional<TarEntry>();
  const auto sum = get_number(header, kChecksum, kShortNumber);
  const auto size = get_number(header, kSize, kNumber);
  const std::string_view magic(header.data() + kMagic, 5);
  if (!sum || *sum != checksum(header) || !size || magic != "ustar" || header[kType] != '0')
    return Error::invalid(file_.path() + " is no backup, or is damaged",
                          "give a file that `hearth backup` made");
  left_ = *size;
  padding_ = padding_of(*size);
  const std::string_view name(header.data(), kMostTarName);
  return std::optional(TarEntry{std::string(name.substr(0, name.find('\0'))), *size});
}

Result<void> TarReader::read(const Pour& pour) {
  Bytes piece(std::min<size_t>(kTarPiece, static_cast<size_t>(left_)));
  while (left_ > 0) {
    const auto part = std::span(piece).first(std::min(piece.size(), static_cast<size_t>(left_)));
    TRY(block(part));
    left_ -= static_cast<int64_t>(part.size());
    TRY(pour(as_text(part)));
  }
  std::array<std::byte, kTarBlock> rest;
  TRY(block(std::span(rest).first(static_cast<size_t>(std::exchange(padding_, 0)))));
  return {};
}

}  // namespace hearth::control
