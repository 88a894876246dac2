// The pages of a database file of ours, and the stamp by which damage shows.
//
// The last 8 of a page's 4096 bytes (SQLite's reserved bytes) hold the page's number and the
// CRC-32C of all before, both little-endian; the number tells a page that lies in the wrong place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace hearth::db {

constexpr int kPageBytes = 4096;
constexpr int kReservedBytes = 8;
// SQLite keeps its locks on the bytes of this page and never writes it.
constexpr uint32_t kLockPage = (uint32_t{1} << 30) / kPageBytes + 1;

// `page`: kPageBytes long. Pages count from 1.
void stamp_page(std::span<std::byte> page, uint32_t number);
// "" when whole, else what is wrong with it ("page 7 is damaged").
std::string page_fault(std::span<const std::byte> page, uint32_t number);
// Puts a page right in which one bit alone was flipped: no two bits give the same checksum (CRC-32C
// has a distance of 4 at this length). False, and the page as it was, when that was not all.
// Takes microseconds, the first call some milliseconds.
bool mend_page(std::span<std::byte> page, uint32_t number);

}  // namespace hearth::db
