// Every reader of recorded work takes every text: it answers jobs that can be asked for, or an
// error.
#include "base/result.h"
#include "sched/trace.h"

namespace {

using hearth::sched::TraceJob;

void check(const hearth::Result<std::vector<TraceJob>>& read) {
  if (!read.ok()) return;
  for (const TraceJob& one : *read) {
    CHECK(!one.job.tasks.empty() && one.runs.micros >= 0);
    for (const auto& task : one.job.tasks) {
      CHECK(task.milli_cpus >= 0 && task.memory_bytes >= 0 && task.milli_gpus >= 0);
      CHECK(task.gpu_share_milli >= 1 && task.gpu_share_milli <= 1000);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hearth;
  using namespace hearth::sched;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ignore(read_openb_nodes("nodes", text));
  ignore(read_projects("projects", text));
  check(read_openb_pods("pods", text));
  check(read_philly("philly", text, "", 0));
  check(read_gangs("gangs", text, 8));
  check(read_sacct("sacct", text));
  check(read_hearth_jobs("jobs", text));
  return 0;
}
