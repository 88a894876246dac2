// What this machine and this process are.
#pragma once

#include <cstdint>
#include <string>

#include <sys/types.h>

#include "base/result.h"

namespace hearth::os {

std::string hostname();
// Processors that this process may use: affinity and the quota of its control groups; e.g. 1.5.
double allowed_cpus();
int online_cpus();
int64_t total_memory_bytes();    // of the machine
int64_t allowed_memory_bytes();  // the least of the machine's and the limits of our control groups
int64_t page_size();
// Differs after every boot: "5e5c0f0e-...".
Result<std::string> boot_id();
// The other end of a Unix socket.
struct Peer {
  pid_t pid = 0;
  uid_t uid = 0;
  gid_t gid = 0;
};
Result<Peer> peer_of(int socket);
// The running program, for starting ourselves again.
Result<std::string> own_executable();
std::string user_name(uid_t uid);  // or the number as text
std::string home_directory();      // $HOME, else the account's

}  // namespace hearth::os
