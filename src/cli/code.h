// The code of a job: bundled, uploaded, and where it came from.
#pragma once

#include <string>

#include "cli/connect.h"
#include "domain/job.h"

namespace hearth::cli {

struct SentCode {
  std::string digest;
  GitState git;
};

// More than code commonly is: whoever packs so much is told how to leave things out.
constexpr int64_t kMuchCodeFiles = 10'000;
constexpr int64_t kMuchCodeBytes = 100 << 20;

enum class TellPacked { always, when_much };  // on stderr, before a byte is packed

// Bundles `directory` (honouring .gitignore and .hearthignore) and uploads it unless it is there.
Result<SentCode> send_code(Server& server, const std::string& directory, TellPacked tell);

// Commit, branch and remote of the working tree that `directory` lies in; nothing where there is no
// git or no repository. `diff` takes the uncommitted changes below the directory.
GitState git_state(const std::string& directory, std::string& diff);

// A remote's address without a user's name and password.
std::string without_credentials(const std::string& remote);

}  // namespace hearth::cli
