#include "cli/prompt.h"

#include <cstdio>

#include <termios.h>
#include <unistd.h>

#include "os/files.h"

namespace hearth::cli {
namespace {

Result<std::string> read_line_or_all(bool to_end) {
  std::string text;
  char piece[4096];
  for (;;) {
    const ssize_t n = read(STDIN_FILENO, piece, sizeof piece);
    if (n < 0) return Error::from_errno("standard input", errno);
    text.append(piece, static_cast<size_t>(n));
    if (text.size() > kMostSecretBytes)
      return Error::of(Code::too_large, "the value is longer than 64 KiB");
    if (n == 0 || (!to_end && text.ends_with('\n'))) break;
  }
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

}  // namespace

Result<std::string> ask_secret(const std::string& question) {
  if (isatty(STDIN_FILENO) != 1) return read_line_or_all(true);
  std::fprintf(stderr, "%s: ", question.c_str());
  std::fflush(stderr);
  termios before{};
  const bool known = tcgetattr(STDIN_FILENO, &before) == 0;
  termios silent = before;
  silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
  if (known) tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent);
  auto value = read_line_or_all(false);
  if (known) tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
  std::fputc('\n', stderr);
  return value;
}

Result<std::string> read_secret_file(const std::string& path) {
  std::string text = TRY(os::read_file(path, kMostSecretBytes));
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  return text;
}

bool confirm(const std::string& question) {
  if (isatty(STDIN_FILENO) != 1 || isatty(STDERR_FILENO) != 1) return false;
  std::fprintf(stderr, "%s [y/N] ", question.c_str());
  std::fflush(stderr);
  const auto answer = read_line_or_all(false);
  return answer.ok() && (*answer == "y" || *answer == "yes");
}

}  // namespace hearth::cli
