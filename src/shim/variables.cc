#include "shim/variables.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <unistd.h>

#include "base/format.h"
#include "os/system.h"
#include "shim/gang.h"

namespace hearth::shim {
namespace {

constexpr std::string_view kSystemPath =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

using Map = std::map<std::string, std::string>;

// Of the server's own environment only what no program can do without.
void take_over(Map& out) {
  for (const char* const name : {"TZ", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
                                 "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"})
    if (const char* const value = std::getenv(name); value != nullptr) out[name] = value;
}

void add_base(const TaskSpec& spec, const Layout& layout, Map& out) {
  take_over(out);
  const char* const lang = std::getenv("LANG");
  out["LANG"] = lang != nullptr && *lang != '\0' ? lang : "C.UTF-8";
  out["PATH"] = kSystemPath;
  out["TMPDIR"] = layout.temporary();
  out["HOME"] = spec.uid < 0 ? os::home_directory() : layout.work();
  out["USER"] = os::user_name(spec.uid < 0 ? ::getuid() : static_cast<uid_t>(spec.uid));
  out["LOGNAME"] = out["USER"];
  if (!spec.environment.prefix.empty()) {
    out["PATH"] = spec.environment.prefix + "/bin:" + out["PATH"];
    out["VIRTUAL_ENV"] = spec.environment.prefix;
  }
  out["PYTHONUNBUFFERED"] = "1";
  const std::string threads =
      format("{}", std::max<int64_t>(1, std::llround(std::floor(spec.resources.cpus))));
  for (const char* const name : {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS",
                                 "NUMEXPR_NUM_THREADS", "BLIS_NUM_THREADS"})
    out[name] = threads;
  out.merge(gang_defaults(spec));
  // Found by running them: Paddle's default wants NCCL, JAX would take SIGTERM for its own.
  if (spec.gpus.empty()) out["PADDLE_DISTRI_BACKEND"] = "gloo";
  out["JAX_ENABLE_PREEMPTION_SERVICE"] = "false";
}

// A part of a GPU: what the driver can hold a process to, where its MPS daemon runs. Memory is a
// limit of each device, counted from 0 among those granted.
void add_share(const TaskSpec& spec, Map& out) {
  const Resources& wanted = spec.resources;
  if (spec.gpus.empty() || wanted.gpu_share >= 1) return;
  out["HEARTH_GPU_SHARE"] = format("{}", wanted.gpu_share);
  out["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] =
      format("{}", std::max<int64_t>(1, std::llround(wanted.gpu_share * 100)));
  if (!wanted.gpu_memory) return;
  std::vector<std::string> limits;
  for (size_t i = 0; i < spec.gpus.size(); ++i)
    limits.push_back(format("{}={}M", i, wanted.gpu_memory->bytes >> 20));
  out["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"] = format("{}", join(limits, ","));
}

void add_hearth(const TaskSpec& spec, const Layout& layout, const VariableParts& parts, Map& out) {
  out["HEARTH_TASK"] = spec.task_id;
  out["HEARTH_SOCKET"] = layout.socket();
  out["HEARTH_URL"] = spec.server_url;
  out["HEARTH_TOKEN"] = spec.job_token;
  out["HEARTH_JOB"] = spec.job_id;
  out["HEARTH_RUN"] = spec.run_id;
  out["HEARTH_ATTEMPT"] = spec.attempt_id;
  out["HEARTH_ROLE"] = spec.role;
  out["HEARTH_RANK"] = format("{}", spec.rank);
  out["HEARTH_WORLD_SIZE"] = format("{}", spec.world_size);
  out["HEARTH_PARAMS"] = layout.params();
  out["HEARTH_LIVE"] = layout.live();
  out["HEARTH_CHECKPOINT_DIR"] = parts.checkpoint_directory;
  if (!parts.resume_from.empty()) out["HEARTH_RESUME_FROM"] = parts.resume_from;
  out["HEARTH_OUTPUT_DIR"] = layout.work();
  for (const auto& [name, path] : parts.data) out["HEARTH_DATA_" + name] = path;
  for (const auto& [name, value] : parts.command) out[name] = value;
  for (const auto& [name, value] : gang_variables(spec, layout)) out[name] = value;
  // For the agent. mpirun's daemons in the other tasks look for it, too, though they call nobody.
  if (is_mpi(spec)) out["PATH"] = out["HEARTH_GANG_DIR"] + ":" + out["PATH"];
  add_share(spec, out);
  // Empty hides every GPU: none was granted.
  out["CUDA_VISIBLE_DEVICES"] = format("{}", join(spec.gpus, ","));
  out["NVIDIA_VISIBLE_DEVICES"] = spec.gpus.empty() ? "void" : out["CUDA_VISIBLE_DEVICES"];
  out["MLFLOW_TRACKING_URI"] = spec.server_url;
  out["MLFLOW_TRACKING_TOKEN"] = spec.job_token;
  out["MLFLOW_EXPERIMENT_NAME"] = spec.experiment;
}

}  // namespace

std::string marker_of(const TaskSpec& spec) {
  return "HEARTH_TASK=" + spec.task_id;
}

std::vector<std::string> variables(const TaskSpec& spec, const Layout& layout,
                                   const VariableParts& parts) {
  Map map;
  add_base(spec, layout, map);
  for (const auto& [name, value] : spec.env) map[name] = value;
  for (const auto& [name, value] : spec.secrets) map[name] = value;
  // What Hearth says about the task is not the job file's to change.
  add_hearth(spec, layout, parts, map);
  if (!parts.sdk_directory.empty()) {
    std::string& path = map["PYTHONPATH"];
    path = path.empty() ? parts.sdk_directory : path + ":" + parts.sdk_directory;
  }
  std::vector<std::string> out;
  for (const auto& [name, value] : map) out.push_back(format("{}={}", name, value));
  return out;
}

}  // namespace hearth::shim
