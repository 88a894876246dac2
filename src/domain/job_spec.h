// The job file (version 1): what a user wants to run. The public surface; it changes only by
// adding.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "domain/codec.h"
#include "domain/describe.h"

namespace hearth {

enum class JobKind { job, service, search, pipeline };
enum class CpuLimit { weight, hard };
enum class Launch { plain, torchrun, tf, dmlc, mpi, jax, paddle };
// Where all tasks of a job lie together; where the GPUs of one task do.
enum class Within { any, spine, rack, node };
enum class InsideNode { any, numa, link };
enum class FailureClass {
  exit,
  signal,
  oom,
  time_limit,
  start,
  node,
  preemption,
  disk,
  lost,
  cancelled,
};
// Whether metrics are read out of log lines: `automatic` until the job logs metrics by itself.
enum class LineReading { automatic, always, never };
enum class JobState { queued, preparing, running, saving, succeeded, failed, cancelled };

struct Environment {
  std::string name = "system";  // system, or NAME[@VERSION]; counts where the others are empty
  std::string prefix, venv, image;
  bool operator==(const Environment&) const = default;
};
struct CodeSource {
  std::string directory;  // as written; the client resolves it against the job file
  std::string git, ref;
  bool operator==(const CodeSource&) const = default;
};
struct Command {
  std::string text;                // for sh -c
  std::vector<std::string> words;  // exec without a shell
  bool empty() const { return text.empty() && words.empty(); }
  bool operator==(const Command&) const = default;
};
struct Param {
  AnyJson value;
  bool live = false;
  std::optional<double> min, max;
  bool operator==(const Param&) const = default;
};
struct Resources {
  double cpus = 1;
  CpuLimit cpu_limit = CpuLimit::weight;
  Size memory{2LL << 30};
  int64_t gpus = 0;
  std::vector<std::string> gpu_model;
  double gpu_share = 1;
  std::optional<Size> gpu_memory;
  bool operator==(const Resources&) const = default;
};
struct Placement {
  Within within = Within::any;
  InsideNode inside = InsideNode::any;
  bool spread = false;
  bool balanced = false;
  bool operator==(const Placement&) const = default;
};
struct Role {
  int64_t replicas = 1;
  Command command;
  Resources resources;
  bool operator==(const Role&) const = default;
};
struct DatasetUse {
  std::string name;  // NAME[@VERSION]
  std::string path;  // or a directory of the node
  std::string at;    // inside the working directory; "": see place_of
  bool operator==(const DatasetUse&) const = default;
};
// Where the data stands: `at`, or else the dataset's name without version, or else the last part
// of its path.
std::string place_of(const DatasetUse& use);
struct CheckpointOutput {
  std::string path;
  int64_t keep = 3;
  bool operator==(const CheckpointOutput&) const = default;
};
struct ModelOutput {
  std::string path, name;
  bool operator==(const ModelOutput&) const = default;
};
struct Outputs {
  std::optional<CheckpointOutput> checkpoints;
  std::vector<ModelOutput> models;
  std::vector<std::string> artifacts;
  bool operator==(const Outputs&) const = default;
};
// Where metrics come from beside what the script logs by itself.
struct MetricSources {
  LineReading from_logs = LineReading::automatic;
  std::vector<std::string> patterns;           // RE2 with named groups (track/line_metrics.h)
  bool event_files = true;                     // TensorBoard's
  std::vector<std::string> event_directories;  // inside the working directory; none: all of it
  bool operator==(const MetricSources&) const = default;
};
struct Retries {
  int64_t limit = 3;
  std::vector<FailureClass> on{FailureClass::node, FailureClass::preemption, FailureClass::lost};
  bool operator==(const Retries&) const = default;
};
struct Notify {
  std::vector<JobState> when;
  std::string webhook, secret;
  bool operator==(const Notify&) const = default;
};

struct JobSpec {
  int64_t hearth = 1;
  JobKind kind = JobKind::job;
  std::string name;
  std::string project = "default";
  std::string experiment;  // "": the name
  std::map<std::string, std::string> labels;
  Environment environment;
  std::map<std::string, std::string> env;
  std::vector<std::string> secrets;
  CodeSource code;
  Command command;
  Launch launch = Launch::plain;
  std::map<std::string, Role> roles;
  std::map<std::string, Param> params;
  Resources resources;
  std::vector<DatasetUse> datasets;
  Outputs outputs;
  MetricSources metrics;
  Retries retries;
  std::optional<Span> time_limit;
  int64_t priority = 50;
  bool opportunistic = false;
  std::string pool;  // "": any that is not entered by name only
  Placement placement;
  std::vector<Notify> notify;
  bool operator==(const JobSpec&) const = default;
};

// Decodes and checks a job file: field errors and rules between fields, all at once.
Result<JobSpec> parse_job_yaml(std::string_view text);
Result<JobSpec> parse_job_node(const Node& node);  // the same for JSON bodies
// What is decoded but cannot run yet (venv, images, git, services, most launch contracts), refused
// in words that say so; nothing when it can run.
Result<void> check_runnable(const JobSpec& spec);
// "params.lr=0.1" applied to the tree before decoding; errors as for the file. The value follows
// the rules of a YAML scalar, or is a list or map in brackets; what the file does not have yet is
// added ("datasets[1].at" may add the item behind the last).
Result<void> apply_set(Node& root, std::string_view assignment);
// What stands at such a path of a job file's tree; null: nothing does. An error: it leads nowhere.
Result<const Node*> value_at(const Node& root, std::string_view path);
// The roles in order; a job without `roles` has one named "worker" with its command and resources.
std::map<std::string, Role> roles_of(const JobSpec& spec);
// Tasks of an attempt: the replicas of all roles.
int64_t tasks_of(const JobSpec& spec);
// Variables that a launch contract sets, which the job file must leave to it.
const std::vector<std::string_view>& launch_variables(Launch launch);
// Replaces ${params.x}: in a text command by a reference to the variable HEARTH_PARAM_x, quoted so
// that the value stays one word whatever it holds (inside single quotes, double quotes, $( ) and
// here-documents too); in words by the value itself. $${params.x} stays as the text ${params.x}.
// Errors name an unknown parameter, and places where no reference can stand: back-quotes, ${ }, $((
// )) and quoted here-documents.
struct ReadyCommand {
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;  // HEARTH_PARAM_<name> -> value as text
};
Result<ReadyCommand> make_command(const Command& command,
                                  const std::map<std::string, Param>& params);

template <>
struct Words<JobKind> {
  static constexpr std::string_view name = "JobKind";
  static constexpr std::array<std::string_view, 4> words{"job", "service", "search", "pipeline"};
};
template <>
struct Words<CpuLimit> {
  static constexpr std::string_view name = "CpuLimit";
  static constexpr std::array<std::string_view, 2> words{"weight", "hard"};
};
template <>
struct Words<Launch> {
  static constexpr std::string_view name = "Launch";
  static constexpr std::array<std::string_view, 7> words{"plain", "torchrun", "tf",    "dmlc",
                                                         "mpi",   "jax",      "paddle"};
};
template <>
struct Words<Within> {
  static constexpr std::string_view name = "Within";
  static constexpr std::array<std::string_view, 4> words{"any", "spine", "rack", "node"};
};
template <>
struct Words<InsideNode> {
  static constexpr std::string_view name = "InsideNode";
  static constexpr std::array<std::string_view, 3> words{"any", "numa", "link"};
};
template <>
struct Words<FailureClass> {
  static constexpr std::string_view name = "FailureClass";
  static constexpr std::array<std::string_view, 10> words{
      "exit", "signal",     "oom",  "time_limit", "start",
      "node", "preemption", "disk", "lost",       "cancelled"};
};
template <>
struct Words<LineReading> {
  static constexpr std::string_view name = "LineReading";
  static constexpr std::array<std::string_view, 3> words{"auto", "always", "never"};
};
template <>
struct Words<JobState> {
  static constexpr std::string_view name = "JobState";
  static constexpr std::array<std::string_view, 7> words{
      "queued", "preparing", "running", "saving", "succeeded", "failed", "cancelled"};
};

// The field lists stand in job_fields.cc.
template <>
struct Describe<Environment> {
  static constexpr std::string_view name = "Environment",
                                    doc = "The runtime of the user's code: one of its fields.";
  static void fields(Fields<Environment>& f);
};
template <>
struct Describe<CodeSource> {
  static constexpr std::string_view
      name = "Code",
      doc = "What is put into the working directory before the command runs.";
  static void fields(Fields<CodeSource>& f);
};
template <>
struct Describe<Command> {
  static constexpr std::string_view
      name = "Command",
      doc = "What runs: text for a shell, or a list of words without one.";
  static void fields(Fields<Command>& f);
};
template <>
struct Describe<Param> {
  static constexpr std::string_view
      name = "Param",
      doc = "A parameter of the run; live ones can be changed while it runs.";
  static void fields(Fields<Param>& f);
};
template <>
struct Describe<Resources> {
  static constexpr std::string_view name = "Resources", doc = "What one process needs.";
  static void fields(Fields<Resources>& f);
};
template <>
struct Describe<Placement> {
  static constexpr std::string_view name = "Placement",
                                    doc = "How near to each other tasks and their GPUs lie.";
  static void fields(Fields<Placement>& f);
};
template <>
struct Describe<Role> {
  static constexpr std::string_view name = "Role", doc = "Processes of one kind.";
  static void fields(Fields<Role>& f);
};
template <>
struct Describe<DatasetUse> {
  static constexpr std::string_view
      name = "DatasetUse",
      doc = "Data that stands in the working directory when the command starts.";
  static void fields(Fields<DatasetUse>& f);
};
template <>
struct Describe<CheckpointOutput> {
  static constexpr std::string_view name = "CheckpointOutput",
                                    doc = "Where checkpoints are written; survives retries.";
  static void fields(Fields<CheckpointOutput>& f);
};
template <>
struct Describe<ModelOutput> {
  static constexpr std::string_view
      name = "ModelOutput",
      doc = "A file that becomes a model version when the job succeeds.";
  static void fields(Fields<ModelOutput>& f);
};
template <>
struct Describe<Outputs> {
  static constexpr std::string_view name = "Outputs",
                                    doc = "What is kept of the working directory.";
  static void fields(Fields<Outputs>& f);
};
template <>
struct Describe<MetricSources> {
  static constexpr std::string_view
      name = "MetricSources",
      doc = "Where metrics come from beside what the script logs by itself.";
  static void fields(Fields<MetricSources>& f);
};
template <>
struct Describe<Retries> {
  static constexpr std::string_view
      name = "Retries",
      doc = "When a failed job is tried again, from its last checkpoint.";
  static void fields(Fields<Retries>& f);
};
template <>
struct Describe<Notify> {
  static constexpr std::string_view name = "Notify", doc = "Tells an address of the job's states.";
  static void fields(Fields<Notify>& f);
};
template <>
struct Describe<JobSpec> {
  static constexpr std::string_view name = "JobSpec", doc = "The job file.";
  static void fields(Fields<JobSpec>& f);
};

}  // namespace hearth
