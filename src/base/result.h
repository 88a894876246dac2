// Errors are values. A function that can fail returns Result<T>; TRY passes an error on.
//
//   Result<int> parse(std::string_view text);
//   Result<void> use(std::string_view text) {
//     const int n = TRY(parse(text));
//     if (n < 0) return Error::invalid("n is negative", "give a number from 0 on");
//     return {};
//   }
//
// TRY is a statement expression: use it in plain functions only, never in a coroutine (g++ 12).
#pragma once

#include <cassert>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace hearth {

// One closed table for API, CLI and code; code.cc holds HTTP status and exit code of each.
enum class Code {
  invalid,          // the input is wrong
  too_large,        // over a named bound
  unauthenticated,  // who are you
  denied,           // you may not
  not_found,        // there is no such thing
  gone,             // there was such a thing
  conflict,         // somebody else changed it, or its state forbids it
  exists,           // the name is taken
  unreachable,      // client side only: no server answered
  busy,             // a bound on load was met: try again
  unavailable,      // not now: try again
  timeout,          // not in the time given
  method,           // HTTP: this path does not know this method
  unsupported,      // HTTP: type, length or headers; a thing that is not built
  internal,         // our fault
};

struct CodeInfo {
  std::string_view name;  // as it stands in JSON
  int http_status;
  int exit_code;
};
const CodeInfo& info(Code code);
// The code whose JSON name is `name`; internal if there is none.
Code code_from_name(std::string_view name);

// One mistake in structured input.
struct FieldError {
  std::string path;     // "resources.cpus", "roles.worker.replicas"
  int line = 0;         // 1-based; 0 where the input has no lines
  std::string found;    // what stands there
  std::string allowed;  // what may stand there
  std::string mend;     // what to do about it
  bool operator==(const FieldError&) const = default;
};

struct [[nodiscard]] Error {
  Code code = Code::internal;
  std::string detail;  // what happened, with names and numbers
  std::string mend;    // what the reader can do; may be empty
  std::vector<FieldError> errors;

  static Error invalid(std::string detail, std::string mend = "");
  static Error not_found(std::string detail, std::string mend = "");
  static Error conflict(std::string detail, std::string mend = "");
  static Error denied(std::string detail, std::string mend = "");
  static Error unavailable(std::string detail, std::string mend = "");
  static Error internal(std::string detail, std::string mend = "");
  static Error of(Code code, std::string detail, std::string mend = "");
  // "what: strerror(errno)". ENOENT -> not_found, EACCES/EPERM -> denied, EEXIST -> exists,
  // ENOSPC/EDQUOT -> unavailable with a mend, all else -> internal.
  static Error from_errno(std::string_view what, int saved_errno);

  // The same error with "context: " before its detail.
  Error with(std::string_view context) &&;
  // The mend, or "" where a field error says the same: who shows both shows it once.
  std::string_view mend_beside_fields() const;
  // "detail (mend)" and a line per field error, for logs and terminals.
  std::string text() const;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: wanted
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: wanted
  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return assert(ok()), *std::get_if<0>(&state_); }
  const T& value() const& { return assert(ok()), *std::get_if<0>(&state_); }
  T&& value() && { return assert(ok()), std::move(*std::get_if<0>(&state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  Error& error() & { return assert(!ok()), *std::get_if<1>(&state_); }
  const Error& error() const& { return assert(!ok()), *std::get_if<1>(&state_); }
  Error&& error() && { return assert(!ok()), std::move(*std::get_if<1>(&state_)); }
  T value_or(T other) && { return ok() ? std::move(*this).value() : std::move(other); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: wanted
  bool ok() const { return !error_; }
  explicit operator bool() const { return ok(); }
  void value() const { assert(ok()); }
  Error& error() & { return assert(!ok()), *error_; }
  const Error& error() const& { return assert(!ok()), *error_; }
  Error&& error() && { return assert(!ok()), std::move(*error_); }

 private:
  std::optional<Error> error_;
};

// For the rare call whose failure changes nothing (closing on the way out of an error).
template <typename T>
void ignore(Result<T>&&) {}

[[noreturn]] void panic(std::string_view what, const char* file, int line);
// Broken invariants abort; they are never error values.
#define CHECK(condition) \
  (static_cast<bool>(condition) ? (void)0 : ::hearth::panic(#condition, __FILE__, __LINE__))

#define TRY(expression)                                       \
  ({                                                          \
    auto try_result_ = (expression);                          \
    if (!try_result_.ok()) [[unlikely]]                       \
      return ::hearth::Error(std::move(try_result_).error()); \
    std::move(try_result_).value();                           \
  })

}  // namespace hearth
