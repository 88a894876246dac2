// Plain files in a POSIX ustar archive, written and read as a stream.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "os/files.h"

namespace hearth::control {

constexpr size_t kTarBlock = 512;
constexpr size_t kMostTarName = 100;
constexpr size_t kTarPiece = 1 << 20;  // bytes read or written at a time

// Every byte's way out of or into a file: also a place to count and to hash.
using Pour = std::function<Result<void>(std::string_view bytes)>;

class TarWriter {
 public:
  explicit TarWriter(os::File& file) : file_(file) {}
  // `fill` pours exactly `size` bytes.
  Result<void> add(const std::string& name, int64_t size, Time modified,
                   const std::function<Result<void>(const Pour&)>& fill);
  Result<void> finish();  // the end mark

 private:
  os::File& file_;
};

struct TarEntry {
  std::string name;
  int64_t size = 0;
};

class TarReader {
 public:
  explicit TarReader(os::File& file) : file_(file) {}
  // The next file; nothing at the end mark. What was not read of the last one is passed over.
  // invalid: cut off, or no tar file of this kind.
  Result<std::optional<TarEntry>> next();
  Result<void> read(const Pour& pour);  // all bytes of the entry

 private:
  Result<void> block(std::span<std::byte> to);

  os::File& file_;
  int64_t left_ = 0;     // of the entry
  int64_t padding_ = 0;  // after it
};

}  // namespace hearth::control
