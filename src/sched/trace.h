// Recorded work to replay: nodes and jobs from the files of several formats. Pure: texts come in.
//
// Errors are Code::invalid and name the file, the lines and the columns.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sched/scheduler.h"

namespace hearth::sched {

struct TraceJob {
  QueuedJob job;  // queued_at: when it comes
  Duration runs;  // undisturbed; {0}: it never ends
};
struct Trace {
  std::vector<NodeInfo> nodes;
  std::vector<TraceJob> jobs;  // in the order of the file
};
// When the first job comes, and the last.
std::pair<Time, Time> coming(const Trace& trace);

// Alibaba's openb: node list `sn,cpu_milli,memory_mib,gpu,model`, pod list
// `name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,...,creation_time,deletion_time,...`.
Result<std::vector<NodeInfo>> read_openb_nodes(const std::string& file, std::string_view text);
Result<std::vector<TraceJob>> read_openb_pods(const std::string& file, std::string_view text);
// Microsoft's Philly: `submit_time,duration_s,num_gpus,vc`; jobs of one virtual cluster ("": all),
// at most `limit` (0: all). Times count from the first job's.
Result<std::vector<TraceJob>> read_philly(const std::string& file, std::string_view text,
                                          const std::string& vc, size_t limit);
// NVIDIA Knavigator's gangs: `count,replicas,ttl`; each replica takes a whole node.
Result<std::vector<TraceJob>> read_gangs(const std::string& file, std::string_view text,
                                         int64_t gpus_per_node);
// Slurm: `sacct -P -o JobID,User,JobName,Account,Submit,Elapsed,NNodes,ReqCPUS,ReqMem,AllocTRES`
// with its header line, fields parted by |. Steps (JobID with a dot) and jobs that never began are
// passed over.
Result<std::vector<TraceJob>> read_sacct(const std::string& file, std::string_view text);
// Hearth's own: `submit_seconds,duration_seconds,project,user,name,priority,tasks,cpus,
// memory_bytes,gpus,gpu_share,gpu_model,pool,within,spread,balanced` (within: node, rack or spine;
// the last two: 0 or 1); columns by their names, all but the first two optional.
Result<std::vector<TraceJob>> read_hearth_jobs(const std::string& file, std::string_view text);
// The tree of projects:
// `project,parent,weight,guaranteed_gpus,limit_gpus,guaranteed_cpus,limit_cpus`; columns by their
// names, all but the first optional; an empty field promises or bounds nothing.
Result<std::vector<ProjectQuota>> read_projects(const std::string& file, std::string_view text);
// "3x8": nodes of so many GPUs, with CPUs and memory that are never short; "3x8/2": of two switches
// each; "100x0,racks=10,cpus=4,memory=32GiB": evenly in racks, so much a node.
Result<std::vector<NodeInfo>> cluster_of(std::string_view shape);
// Lets the jobs come quicker or slower, until the GPU-seconds that they ask for are `load` times
// those there are while they come.
void scale_to_load(Trace& trace, double load);

}  // namespace hearth::sched
