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

// Bundles `directory` (honouring .gitignore and .hearthignore) and uploads it unless it is there.
Result<SentCode> send_code(Server& server, const std::string& directory);

// Commit, branch and remote of the working tree that `directory` lies in; nothing where there is no
// git or no repository. `diff` takes the uncommitted changes below the directory.
GitState git_state(const std::string& directory, std::string& diff);

// A remote's address without a user's name and password.
std::string without_credentials(const std::string& remote);

}  // namespace hearth::cli
