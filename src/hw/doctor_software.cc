// Facts about programs, containers, network and limits.
#include <unistd.h>

#include "base/format.h"
#include "base/units.h"
#include "hw/doctor_facts.h"
#include "os/process.h"

namespace hearth::hw {
namespace {

constexpr int64_t kFewFiles = 8192;

// Standard output of a program that ended well, else why not.
Probe<std::string> output_of(const std::string& path, std::vector<std::string> argv) {
  os::SpawnOptions options;
  options.argv = std::move(argv);
  options.environment = {"PATH=" + path, "LANG=C.UTF-8", "HOME=/nonexistent"};
  const auto ran = os::run(std::move(options), Duration::seconds(kProgramSeconds), 64 << 10);
  if (!ran) return Absent{ran.error().detail};
  if (ran->timed_out) return Absent{format("no answer within {} s", kProgramSeconds)};
  if (!ran->exit.success()) return Absent{ran->exit.text()};
  return ran->output;
}

// Three lines: Python's version, PyTorch's or nothing, the CUDA it was built for or nothing. The
// version is read from its file, as an import takes seconds.
constexpr std::string_view kAskPython = R"py(
import importlib.util, os, re, sys
print(sys.version.split()[0])
spec = importlib.util.find_spec("torch")
version = cuda = ""
if spec is not None and spec.origin:
    text = open(os.path.join(os.path.dirname(spec.origin), "version.py")).read()
    def find(name):
        found = re.search(r"^" + name + r"\b[^=\n]*=\s*['\"]([^'\"]+)", text, re.M)
        return found.group(1) if found else ""
    version, cuda = find("__version__") or "unknown version", find("cuda")
print(version)
print(cuda)
)py";

Fact torch_fact(const std::string& version, const std::string& cuda, bool has_gpus) {
  Fact fact{.name = "torch"};
  if (version.empty())
    return lacking("torch", "this python3 has no torch",
                   "Jobs that import torch fail in the environment `system`; other jobs run.",
                   "apt install python3-torch, or name a venv that has it (environment: {prefix: "
                   "DIR}).");
  fact.found = format("{}, {}", version, cuda.empty() ? "for CPUs only" : "for CUDA " + cuda);
  fact.means = "Jobs can train with PyTorch in the environment `system`.";
  if (has_gpus && cuda.empty()) {
    fact.state = FactState::warning;
    fact.means += " It does not use the GPUs of this machine.";
    fact.mend = "For GPUs name a venv with a CUDA build of torch (environment: {prefix: DIR}).";
  }
  return fact;
}

}  // namespace

std::vector<Fact> python_facts(const std::string& path, bool has_gpus) {
  Fact fact{.name = "python3"};
  const auto program = find_program(Root(), "python3", path);
  if (!program)
    return {lacking("python3", program.why(),
                    "Jobs in the environment `system` cannot be Python programs.",
                    "apt install python3")};
  // -I: neither the user's packages nor the working directory, as in a task.
  const auto answer = output_of(path, {*program, "-I", "-c", std::string(kAskPython)});
  if (!answer)
    return {unsure("python3", format("{}: {}", *program, answer.why()),
                   "This python3 does not work; jobs that use it will fail.",
                   "Run it by hand and see what it says.")};
  auto lines = split(*answer, '\n');
  lines.resize(3);
  fact.found = format("{} {}", *program, trim(lines[0]));
  fact.means = "Jobs in the environment `system` run with it.";
  return {fact, torch_fact(std::string(trim(lines[1])), std::string(trim(lines[2])), has_gpus)};
}

Fact git_fact(const std::string& path) {
  Fact fact{.name = "git"};
  const auto program = find_program(Root(), "git", path);
  if (!program)
    return lacking("git", program.why(),
                   "A run cannot record the commit and the changes of its code.",
                   "apt install git");
  const auto answer = output_of(path, {*program, "--version"});
  fact.found = answer ? format("{} ({})", *program, trim(*answer)) : *program + ": " + answer.why();
  fact.state = answer ? FactState::ok : FactState::warning;
  fact.means = "Runs record the commit and the uncommitted changes of their code.";
  return fact;
}

Fact container_fact(const Root& root) {
  Fact fact{.name = "containers"};
  const auto found = container_programs(root);
  if (!found)
    return lacking("containers", found.why(),
                   "Nothing is missing yet: this version runs jobs as plain processes.");
  std::vector<std::string> paths;
  for (const auto& program : *found) paths.push_back(program.path);
  fact.found = format("{}", join(paths, ", "));
  fact.means = "Not used yet: this version runs jobs as plain processes.";
  return fact;
}

Fact fuse_fact(const Root& root) {
  Fact fact{.name = "fuse"};
  const auto found = fuse(root);
  if (!found)
    return lacking("fuse", found.why(),
                   "Nothing is missing yet: this version copies or links datasets.");
  fact.found =
      found->helper.empty() ? found->device + ", root alone" : found->device + ", " + found->helper;
  fact.means = "Not used yet: this version copies or links datasets.";
  return fact;
}

Fact user_namespace_fact(const Root& root) {
  Fact fact{.name = "user namespaces"};
  const auto found = user_namespaces(root);
  if (!found)
    return lacking("user namespaces", found.why(),
                   "Containers need root here; plain jobs do not mind.",
                   "sysctl -w user.max_user_namespaces=10000 kernel.unprivileged_userns_clone=1");
  fact.found = format("up to {}{}", found->most,
                      found->mapped_ranges ? ", with a range of user ids for this user" : "");
  fact.means = "Containers can run without root.";
  if (!found->mapped_ranges && ::geteuid() != 0) {
    fact.state = FactState::warning;
    fact.means = "Containers without root can hold one user id only.";
    fact.mend = "apt install uidmap, and give this user a range in /etc/subuid and /etc/subgid.";
  }
  return fact;
}

Fact port_fact(const DoctorOptions& options) {
  Fact fact{.name = "port"};
  const auto found = port_free(options.address, options.port);
  if (found || options.serving) {
    fact.found = format("{}:{} {}", options.address, options.port,
                        options.serving ? "is served by Hearth" : "is free");
    fact.means = "The server can listen there.";
    return fact;
  }
  fact.state = FactState::warning;
  fact.found = found.why();
  fact.means = "The server cannot listen there.";
  fact.mend = "Give another with --listen ADDRESS:PORT, or see who holds it: ss -ltnp";
  return fact;
}

Fact ipv6_fact(const Root& root) {
  Fact fact{.name = "ipv6"};
  const auto found = ipv6(root);
  if (!found) return lacking("ipv6", found.why(), "Hearth uses IPv4, which is enough.");
  fact.found = format("{}{}", found->loopback ? "loopback" : "no loopback",
                      found->global ? " and addresses beyond the link" : "");
  fact.means = "Servers and jobs may use IPv6 addresses too.";
  return fact;
}

Fact limit_fact(const Root& root) {
  Fact fact{.name = "open files"};
  const auto found = limits(root);
  if (!found)
    return unsure("open files", found.why(),
                  "Hearth cannot tell how many connections it may hold.");
  const auto text = [](int64_t bound) { return bound < 0 ? "unlimited" : format("{}", bound); };
  fact.found =
      format("{}, can be raised to {}", text(found->open_files), text(found->open_files_most));
  fact.means = "Enough for thousands of connections; the server raises it by itself.";
  if (found->open_files_most >= 0 && found->open_files_most < kFewFiles) {
    fact.state = FactState::warning;
    fact.means = format("The server can hold about {} connections.",
                        std::max<int64_t>(0, found->open_files_most - 256));
    fact.mend = "ulimit -Hn 65536 (or LimitNOFILE=65536 in the unit)";
  }
  return fact;
}

Fact pidfd_fact() {
  Fact fact{.name = "pidfd"};
  const auto found = pidfd();
  if (!found)
    return lacking("pidfd", found.why(),
                   "Hearth cannot hold on to processes safely and will not run tasks here.",
                   "Use a kernel of 5.4 or later, and a container that allows pidfd_open.");
  fact.found = "pidfd_open works";
  fact.means = "Hearth never signals a process by a number that may mean another by then.";
  return fact;
}

}  // namespace hearth::hw
