// What must not stand on a command line: asked for on the terminal without echo, or read from
// stdin.
#pragma once

#include <string>

#include "base/result.h"

namespace hearth::cli {

constexpr size_t kMostSecretBytes = 65'536;

// One value: from stdin when it is no terminal (a last line feed is taken off), else by a question.
Result<std::string> ask_secret(const std::string& question);
Result<std::string> read_secret_file(const std::string& path);
// "yes" on the terminal; where nobody can be asked the answer is no.
bool confirm(const std::string& question);

}  // namespace hearth::cli
