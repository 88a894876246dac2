// What both ways of sending a request share: its body out of a file, and what becomes of its
// answer.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <string_view>

#include "net/client.h"

namespace hearth::net {

inline constexpr size_t kMostAnswerHeaderBytes = 256 << 10;
inline constexpr Duration kKeepOn = Duration::millis(100);  // between two questions to keep_on
inline constexpr Duration kMostPoll = Duration::seconds(1);

// The file, or part of a file, that is sent as the body.
class BodyFile {
 public:
  BodyFile() = default;
  ~BodyFile();
  BodyFile(const BodyFile&) = delete;
  BodyFile& operator=(const BodyFile&) = delete;
  Result<void> open(const ClientRequest& request);
  int64_t length() const { return length_; }
  // Bytes read; -1: the file cannot be read or has become shorter.
  ssize_t read(char* into, size_t most);
  bool seek(int64_t to);

 private:
  int file_ = -1;
  int64_t offset_ = 0, length_ = 0, done_ = 0;
};

// One send().
struct Transfer {
  const ClientRequest& request;
  Answer answer;
  BodyFile file;
  bool succeeds = true;          // the status is 2xx
  std::optional<Error> refused;  // why the transfer was ended from this side
  int64_t sent = -1;             // as last told to progress

  // Where it goes, for errors.
  std::string where() const;
  // These return false and set `refused` where the transfer is to end.
  bool take_body(std::string_view piece);
  bool tell_progress(int64_t sent_now, int64_t total);
  void file_cut_short();
  void head_too_large();
};

// invalid: a control character in the URL, the method or a header.
Result<void> check(const ClientRequest& request);

// What ends a request from this side, looked at between its pieces: `cancelled`, which is taken
// back, and keep_on, which is asked every kKeepOn.
class Ends {
 public:
  Ends(const ClientRequest& request, std::atomic<bool>& cancelled)
      : request_(request), cancelled_(cancelled), ask_at_(system_clock().steady()) {}
  Result<void> look();  // gone

 private:
  const ClientRequest& request_;
  std::atomic<bool>& cancelled_;
  Time ask_at_;
};

// "http://[::1]:8470/x" -> "::1"
std::string_view host_of(std::string_view url);
bool loopback(std::string_view host);

// With the mend that all share.
Error not_reached(const Transfer& transfer, std::string_view why);
Error not_answered(const Transfer& transfer, std::string_view why, bool connected);

}  // namespace hearth::net
