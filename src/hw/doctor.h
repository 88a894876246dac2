// The facts behind `hearth doctor`: what this machine can do, and what that means for its user.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "hw/root.h"

namespace hearth::hw {

enum class FactState { ok, warning, missing };
std::string_view name(FactState state);  // "ok", "warning", "missing"

struct Fact {
  std::string name;  // "cgroups"
  FactState state = FactState::ok;
  std::string found;  // what is there, with numbers
  std::string means;  // what that means for the user
  std::string mend;   // what to do about it; "" where nothing need be done
};

struct DoctorOptions {
  Root root;                          // of the texts; programs and the disk are the machine's own
  std::string data_directory;         // of the server; need not exist yet
  std::string address = "127.0.0.1";  // where the server would listen
  uint16_t port = 8470;
  bool serving = false;    // that server runs already, so its port is rightly taken
  int64_t server_pid = 0;  // that server: what is delegated to it counts, not to this process
  std::string path;        // PATH of programs; "" = that of the environment `system`
  std::string nvml;        // as Gpus::open
  int syncs = 20;          // how often the disk is asked; 0 = not measured
};

// Every fact, in the order in which they are shown. Runs python3 and git for a moment (at most
// kProgramSeconds each) and syncs one small file in the data directory or the folder above it.
inline constexpr int kProgramSeconds = 10;
std::vector<Fact> doctor(const DoctorOptions& options, Clock& clock);

}  // namespace hearth::hw
