// `hearth doctor`: what this machine can do, and what that means.
#include "hw/doctor.h"

#include <cstdio>

#include <unistd.h>

#include "app/commands.h"
#include "app/paths.h"
#include "app/server.h"
#include "base/format.h"
#include "domain/codec.h"
#include "os/files.h"

namespace hearth::app {
namespace {

std::string as_json(const std::vector<hw::Fact>& facts) {
  std::string out = "{\"facts\":[";
  for (const hw::Fact& fact : facts)
    out += format(R"({}{{"name":{},"state":"{}","found":{},"means":{},"mend":{}}})",
                  &fact == facts.data() ? "" : ",", json_quote(fact.name), hw::name(fact.state),
                  json_quote(fact.found), json_quote(fact.means), json_quote(fact.mend));
  return out + "]}";
}

const char* mark(hw::FactState state, bool colour) {
  switch (state) {
    case hw::FactState::ok:
      return colour ? "\033[32mok     \033[0m" : "ok     ";
    case hw::FactState::warning:
      return colour ? "\033[33mwarning\033[0m" : "warning";
    default:
      return colour ? "\033[31mmissing\033[0m" : "missing";
  }
}

}  // namespace

int doctor(const cli::DoctorArgs& args, bool json) {
  const DataPaths paths = data_paths(args.data);
  hw::DoctorOptions options;
  options.data_directory = paths.root;
  const auto holder = os::lock_holder(paths.lock());
  options.serving = holder.ok() && holder->has_value();
  if (options.serving) options.server_pid = **holder;
  auto facts = hw::doctor(options, system_clock());
  if (const auto file = read_server_file(paths.server_file());
      options.serving && file.ok() && !file->lent.empty())
    facts.push_back(
        {.name = "topology",
         .state = hw::FactState::warning,
         .found = file->lent,
         .means = "jobs run as processes of this machine, bound to the GPUs' names alone",
         .mend = "start the server without --topology to give out what is here"});
  if (json) {
    std::printf("%s\n", as_json(facts).c_str());
    return 0;
  }
  const bool colour = isatty(STDOUT_FILENO) != 0 && getenv("NO_COLOR") == nullptr;
  for (const hw::Fact& fact : facts) {
    std::printf("%s  %-12s %s\n", mark(fact.state, colour), fact.name.c_str(), fact.found.c_str());
    if (!fact.means.empty()) std::printf("                       %s\n", fact.means.c_str());
    if (!fact.mend.empty()) std::printf("                       -> %s\n", fact.mend.c_str());
  }
  return 0;
}

}  // namespace hearth::app
