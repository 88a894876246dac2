#include "base/result.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/format.h"

namespace hearth {
namespace {

struct Row {
  Code code;
  CodeInfo info;
};
constexpr std::array kTable = {
    Row{Code::invalid, {"invalid", 400, 7}},
    Row{Code::too_large, {"too_large", 413, 7}},
    Row{Code::unauthenticated, {"unauthenticated", 401, 4}},
    Row{Code::denied, {"denied", 403, 4}},
    Row{Code::not_found, {"not_found", 404, 3}},
    Row{Code::gone, {"gone", 410, 3}},
    Row{Code::conflict, {"conflict", 409, 5}},
    Row{Code::exists, {"exists", 409, 5}},
    Row{Code::unreachable, {"unreachable", 502, 6}},
    Row{Code::busy, {"busy", 429, 10}},
    Row{Code::unavailable, {"unavailable", 503, 10}},
    Row{Code::timeout, {"timeout", 408, 10}},
    Row{Code::method, {"method", 405, 7}},
    Row{Code::unsupported, {"unsupported", 501, 7}},
    Row{Code::internal, {"internal", 500, 8}},
};

}  // namespace

const CodeInfo& info(Code code) {
  for (const Row& row : kTable)
    if (row.code == code) return row.info;
  return kTable.back().info;
}

Code code_from_name(std::string_view name) {
  for (const Row& row : kTable)
    if (row.info.name == name) return row.code;
  return Code::internal;
}

Error Error::of(Code code, std::string detail, std::string mend) {
  return Error{code, std::move(detail), std::move(mend), {}};
}
Error Error::invalid(std::string detail, std::string mend) {
  return of(Code::invalid, std::move(detail), std::move(mend));
}
Error Error::not_found(std::string detail, std::string mend) {
  return of(Code::not_found, std::move(detail), std::move(mend));
}
Error Error::conflict(std::string detail, std::string mend) {
  return of(Code::conflict, std::move(detail), std::move(mend));
}
Error Error::denied(std::string detail, std::string mend) {
  return of(Code::denied, std::move(detail), std::move(mend));
}
Error Error::unavailable(std::string detail, std::string mend) {
  return of(Code::unavailable, std::move(detail), std::move(mend));
}
Error Error::internal(std::string detail, std::string mend) {
  return of(Code::internal, std::move(detail), std::move(mend));
}

Error Error::from_errno(std::string_view what, int saved_errno) {
  Error error = of(Code::internal, format("{}: {}", what, std::strerror(saved_errno)));
  switch (saved_errno) {
    case ENOENT:
    case ENOTDIR:
      error.code = Code::not_found;
      break;
    case EACCES:
    case EPERM:
      error.code = Code::denied;
      break;
    case EEXIST:
      error.code = Code::exists;
      break;
    case ENOSPC:
    case EDQUOT:
      error.code = Code::unavailable;
      error.mend = "free some space on this disk, then try again";
      break;
    case EROFS:  // nobody's rights: a disk turns so by itself after an error
      error.code = Code::unavailable;
      error.mend = "look at the disk (dmesg), and mount it read-write";
      break;
    default:
      break;
  }
  return error;
}

Error Error::with(std::string_view context) && {
  detail = format("{}: {}", context, detail);
  return std::move(*this);
}

std::string_view Error::mend_beside_fields() const {
  const bool told = std::ranges::find(errors, mend, &FieldError::mend) != errors.end();
  return told ? std::string_view() : mend;
}

std::string Error::text() const {
  std::string out = detail;
  if (!mend_beside_fields().empty()) out += format(" ({})", mend);
  for (const FieldError& field : errors) {
    out += "\n  ";
    if (field.line > 0) out += format("line {}: ", field.line);
    out += format("{}: found {}, allowed: {}", field.path, field.found, field.allowed);
    if (!field.mend.empty()) out += format("; {}", field.mend);
  }
  return out;
}

void panic(std::string_view what, const char* file, int line) {
  std::fprintf(stderr, "hearth: broken invariant: %.*s at %s:%d\n", static_cast<int>(what.size()),
               what.data(), file, line);
  std::abort();
}

}  // namespace hearth
