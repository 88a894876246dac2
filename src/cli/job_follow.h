// `--follow`: a job's lines as they come, a live bar, and its end.
#pragma once

#include <string>

#include "cli/connect.h"
#include "domain/job.h"

namespace hearth::cli {

struct LogView {
  client::Query query;  // rank, attempt, since, grep
  std::string after;    // "TASK:SEQ": the line that was printed last
  bool timestamps = false;
  bool bar = false;  // progress on stderr: drawn on a terminal, else a line now and then
};

// Prints the lines until the job ends, over lost connections. Ctrl-C leaves the job alone, says how
// to come back and ends the program. Returns the ended job.
Result<Job> follow_job(const Globals& globals, const Job& job, const LogView& view);

// The words of the bar: "running  epoch 2.4/5  0:42 left  loss 0.31  acc 89.1 %  6500/s".
std::string progress_text(const Job& job, const Run& run, Time now);

// A line about how it ended, on stderr.
void say_end(const Job& job);
int exit_of(const Job& job);

}  // namespace hearth::cli
