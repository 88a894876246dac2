#include "shim/gang.h"

#include <algorithm>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/format.h"
#include "hw/machine.h"
#include "os/files.h"

namespace hearth::shim {
namespace {

using Map = std::map<std::string, std::string>;

constexpr const char* kEveryAddress = "0.0.0.0";
constexpr const char* kAgentName = "hearth-mpi-agent";
constexpr const char* kHostPrefix = "hearth-rank-";

// As ssh: HOST COMMAND... It is done when the task has the order; mpirun sees by its daemon's call
// whether it runs.
constexpr std::string_view kAgent = R"(#!/bin/sh
rank=${1#hearth-rank-}
shift
order="$HEARTH_GANG_DIR/order-$rank-$$"
printf '%s\n' "$*" >"$order.new" && mv "$order.new" "$order" &&
  printf '%s\n' "$order" >"$HEARTH_GANG_DIR/rank-$rank"
)";

// Open for reading and writing: so the pipe has no end, and a writer never waits for another turn.
constexpr const char* kWait = R"(exec 3<>"$HEARTH_GANG_DIR/rank-$HEARTH_RANK"
while [ ! -e "$HEARTH_GANG_DIR/ended" ] && read -r order <&3 && [ -n "$order" ]; do
  sh "$order" 3>&- || exit $?
done)";

const Peer* own(const TaskSpec& spec) {
  for (const Peer& peer : spec.peers)
    if (peer.rank == spec.rank) return &peer;
  return nullptr;
}

std::string gang_folder(const Layout& layout) {
  return layout.root.substr(0, layout.root.rfind('/')) + "/gang";
}

std::string place_of(const Peer& peer) {
  return format("{}:{}", peer.address, peer.first_port);
}

void count_kin(const TaskSpec& spec, Map& out) {
  int64_t role_rank = 0, role_size = 0, local_rank = 0, local_size = 0;
  for (const Peer& peer : spec.peers) {
    role_size += peer.role == spec.role;
    role_rank += peer.role == spec.role && peer.rank < spec.rank;
    local_size += peer.node == spec.node;
    local_rank += peer.node == spec.node && peer.rank < spec.rank;
  }
  out["HEARTH_ROLE_RANK"] = format("{}", role_rank);
  out["HEARTH_ROLE_WORLD_SIZE"] = format("{}", role_size);
  out["HEARTH_LOCAL_RANK"] = format("{}", local_rank);
  out["HEARTH_LOCAL_WORLD_SIZE"] = format("{}", local_size);
}

// What torch's launcher would set, and (PET_) what it takes for its own options. Each task is a
// machine of its own to torch: it sees its own GPUs alone, counted from 0, in a directory of its
// own, so that cuda:$LOCAL_RANK is right.
void add_torchrun(const TaskSpec& spec, const Peer& first, Map& out) {
  const std::string rank = format("{}", spec.rank), size = format("{}", spec.world_size);
  const std::string port = format("{}", first.first_port);
  for (const char* const name : {"RANK", "GROUP_RANK", "ROLE_RANK", "PET_NODE_RANK"})
    out[name] = rank;
  for (const char* const name : {"WORLD_SIZE", "GROUP_WORLD_SIZE", "ROLE_WORLD_SIZE", "PET_NNODES"})
    out[name] = size;
  out["LOCAL_RANK"] = "0";
  out["LOCAL_WORLD_SIZE"] = "1";
  out["ROLE_NAME"] = spec.role;
  out["MASTER_ADDR"] = out["PET_MASTER_ADDR"] = first.address;
  out["MASTER_PORT"] = out["PET_MASTER_PORT"] = port;
  out["PET_RDZV_BACKEND"] = "static";
  out["PET_RDZV_ID"] = spec.attempt_id;
}

void add_mpi(const TaskSpec& spec, const std::string& folder, Map& out) {
  out["HEARTH_GANG_DIR"] = folder;
  if (spec.rank != 0) return;
  out["OMPI_MCA_orte_default_hostfile"] = folder + "/hosts";
  out["OMPI_MCA_plm_rsh_agent"] = kAgentName;  // by PATH: mpirun takes a path apart at spaces
  out["OMPI_MCA_plm_rsh_no_tree_spawn"] = "1";
  out["OMPI_MCA_orte_leave_session_attached"] = "1";  // so that the task lives as long as its ranks
}

}  // namespace

std::map<std::string, std::string> gang_variables(const TaskSpec& spec, const Layout& layout) {
  Map out;
  if (!spec.node.empty()) out["HEARTH_NODE"] = spec.node;
  const Peer* const self = own(spec);
  if (self == nullptr) return out;
  const Peer& first = spec.peers.front();
  std::vector<std::string> places;
  for (const Peer& peer : spec.peers) places.push_back(place_of(peer));
  out["HEARTH_LAUNCH"] = word(spec.launch);
  out["HEARTH_PEERS"] = format("{}", join(places, ","));
  out["HEARTH_COORDINATOR"] = place_of(first);
  out["HEARTH_ADDRESS"] = self->address;
  out["HEARTH_PORTS"] = format("{}-{}", self->first_port, self->first_port + kPortsOfTask - 1);
  out["HEARTH_GANG_SECRET"] = spec.gang_secret;
  count_kin(spec, out);
  if (spec.launch == Launch::torchrun) add_torchrun(spec, first, out);
  if (spec.launch == Launch::mpi) add_mpi(spec, gang_folder(layout), out);
  return out;
}

std::map<std::string, std::string> gang_defaults(const TaskSpec& spec) {
  Map out;
  const Peer* const self = own(spec);
  if (self == nullptr) return out;
  if (!spec.interface.empty())  // else they would ask the host's name for an address
    for (const char* const name : {"GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME", "TP_SOCKET_IFNAME"})
      out[name] = spec.interface;
  const std::string processes = format("{}", std::max<int64_t>(1, self->gpus));
  if (spec.launch == Launch::torchrun) out["PET_NPROC_PER_NODE"] = processes;
  if (spec.launch != Launch::mpi) return out;
  // Each task would bind its ranks to the machine's first cores.
  out["OMPI_MCA_hwloc_base_binding_policy"] = "none";
  if (!spec.interface.empty())
    out["OMPI_MCA_btl_tcp_if_include"] = out["OMPI_MCA_oob_tcp_if_include"] = spec.interface;
  if (spec.uid == 0 || (spec.uid < 0 && ::geteuid() == 0))
    out["OMPI_ALLOW_RUN_AS_ROOT"] = out["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1";
  return out;
}

std::optional<int64_t> taken_port(const TaskSpec& spec) {
  const Peer* const self = own(spec);
  if (self == nullptr || self->first_port == 0) return std::nullopt;
  for (int64_t port = self->first_port; port < self->first_port + kPortsOfTask; ++port)
    if (!hw::port_free(kEveryAddress, static_cast<uint16_t>(port))) return port;
  return std::nullopt;
}

bool is_mpi(const TaskSpec& spec) {
  return spec.launch == Launch::mpi && own(spec) != nullptr;
}

std::vector<std::string> mpi_command() {
  return {"/bin/sh", "-c", kWait};
}

Result<void> prepare_mpi(const TaskSpec& spec, const Layout& layout) {
  const std::string folder = gang_folder(layout);
  std::string hosts;
  for (const Peer& peer : spec.peers)
    hosts += format("{} slots={}\n",
                    peer.rank == 0 ? "localhost" : format("{}{}", kHostPrefix, peer.rank),
                    std::max<int64_t>(1, peer.gpus));
  TRY(os::write_file_atomic(folder + "/hosts", hosts, 0644, os::Sync::no));
  return os::write_file_atomic(format("{}/{}", folder, kAgentName), kAgent, 0755, os::Sync::no);
}

void end_mpi(const TaskSpec& spec, const Layout& layout) {
  const std::string folder = gang_folder(layout);
  ignore(os::write_file_atomic(folder + "/ended", "", 0644, os::Sync::no));
  for (const Peer& peer : spec.peers) {
    const std::string pipe = format("{}/rank-{}", folder, peer.rank);
    // Nobody there yet: it will see the file.
    const os::Fd fd(::open(pipe.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
    struct stat status{};
    if (fd && ::fstat(fd.get(), &status) == 0 && S_ISFIFO(status.st_mode))
      (void)!::write(fd.get(), "\n", 1);
  }
}

}  // namespace hearth::shim
