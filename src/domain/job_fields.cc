// The field lists of the job file: the one place for names, bounds and words.
#include "domain/job_spec.h"

namespace hearth {
namespace {

constexpr std::string_view kName = "[a-z0-9][a-z0-9._-]{0,62}";
constexpr std::string_view kNameWords =
    "a name of a-z, 0-9, '.', '_', '-', at most 63 characters, the first a letter or digit";
constexpr std::string_view kVersioned =
    "[A-Za-z0-9][A-Za-z0-9._-]{0,62}(@[A-Za-z0-9][A-Za-z0-9._-]{0,62})?";
constexpr std::string_view kVariable = "[A-Za-z_][A-Za-z0-9_]{0,127}";
constexpr std::string_view kVariableWords =
    "a name of A-Z, a-z, 0-9, '_', at most 128 characters, the first no digit";
constexpr std::string_view kLabel = "[A-Za-z0-9][A-Za-z0-9._/-]{0,62}";
constexpr std::string_view kLabelWords =
    "a name of A-Z, a-z, 0-9, '.', '_', '/', '-', at most 63 characters";
constexpr double kLongestPath = 4096;
constexpr double kLongestText = 100'000;

}  // namespace

void Describe<Environment>::fields(Fields<Environment>& f) {
  f("name", &Environment::name, "`system` (what the node has), or an environment's NAME[@VERSION]")
      .matches(kVersioned, "`system`, or an environment's NAME[@VERSION]")
      .example("system");
  f.scalar_stands_for_last();
  f("prefix", &Environment::prefix, "directory of a venv or conda prefix that is there")
      .min(1)
      .max(kLongestPath)
      .example("/opt/venvs/torch");
  f("venv", &Environment::venv, "requirements file of a venv to be made")
      .min(1)
      .max(kLongestPath)
      .example("requirements.txt");
  f("image", &Environment::image, "OCI image").min(1).max(1024).example("ghcr.io/team/train:1");
  f.one_of();
}

void Describe<CodeSource>::fields(Fields<CodeSource>& f) {
  f("directory", &CodeSource::directory, "directory that is sent; starts at the job file")
      .min(1)
      .max(kLongestPath)
      .example(".");
  f.scalar_stands_for_last();
  f("git", &CodeSource::git, "address of a git repository")
      .min(1)
      .max(1024)
      .example("https://git.example.org/team/train.git");
  f("ref", &CodeSource::ref, "branch, tag or commit of it").min(1).max(256).example("main");
}

void Describe<Command>::fields(Fields<Command>& f) {
  f("text", &Command::text, "for `sh -c`; ${params.x} stands for a parameter")
      .min(1)
      .max(kLongestText)
      .example("python3 train.py --lr ${params.lr}");
  f.scalar_stands_for_last();
  f("words", &Command::words, "program and arguments, run without a shell")
      .min(1)
      .max(1024)
      .example("[python3, train.py]");
  f.list_stands_for_last();
  f.one_of();
}

void Describe<Param>::fields(Fields<Param>& f) {
  f("value", &Param::value, "what the run starts with").required().example("0.01");
  f.scalar_stands_for_last();
  f.list_stands_for_last();
  f("live", &Param::live, "it can be changed while the job runs (a number, or true or false)");
  f("min", &Param::min, "smallest value it can be changed to");
  f("max", &Param::max, "largest value it can be changed to");
}

void Describe<Resources>::fields(Fields<Resources>& f) {
  f("cpus", &Resources::cpus, "CPU cores; a weight, unless cpu_limit says otherwise")
      .min(0.01)
      .max(4096)
      .example("2");
  f("cpu_limit", &Resources::cpu_limit, "`hard` makes cpus a quota that cannot be exceeded");
  f("memory", &Resources::memory, "memory; a process that takes more ends as `oom`")
      .min(4 << 20)
      .max(0x1.0p50)
      .example("4GiB");
  f("gpus", &Resources::gpus, "GPUs").min(0).max(4096).example("1");
  f("gpu_model", &Resources::gpu_model, "models that will do")
      .matches("[A-Za-z0-9][A-Za-z0-9 ._/-]{0,127}", "a GPU's name")
      .max(16)
      .example("[H100, A100]");
  f("gpu_share", &Resources::gpu_share, "part of each GPU, where less than a whole one will do")
      .min(0.01)
      .max(1)
      .example("0.5");
  f("gpu_memory", &Resources::gpu_memory, "memory that each GPU has at least")
      .min(1 << 20)
      .max(0x1.0p50)
      .example("10GiB");
}

void Describe<Placement>::fields(Fields<Placement>& f) {
  f("within", &Placement::within,
    "all tasks lie within one node, rack or spine, or the job waits; `any`: as near as there is "
    "room");
  f("inside", &Placement::inside,
    "the GPUs of a task lie on one NUMA node, or on one switch or NVLink clique (`link`)");
  f("spread", &Placement::spread, "no two tasks on one node");
  f("balanced", &Placement::balanced, "as many tasks on each node as on the others");
}

void Describe<Role>::fields(Fields<Role>& f) {
  f("replicas", &Role::replicas, "processes of this role").min(1).max(4096).example("4");
  f("command", &Role::command, "what each of them runs").required().example("python3 train.py");
  f("resources", &Role::resources, "what each of them needs");
}

void Describe<DatasetUse>::fields(Fields<DatasetUse>& f) {
  f("name", &DatasetUse::name, "dataset as NAME[@VERSION]; without a version the newest")
      .matches(kVersioned, "a dataset as NAME[@VERSION]")
      .example("fashion-mnist@v1");
  f("path", &DatasetUse::path, "or a directory of the node: read-only, not copied")
      .min(1)
      .max(kLongestPath)
      .example("/data/imagenet");
  f("at", &DatasetUse::at,
    "place inside the working directory; default: the name, or the last part of the path")
      .min(1)
      .max(kLongestPath)
      .example("data");
}

void Describe<CheckpointOutput>::fields(Fields<CheckpointOutput>& f) {
  f("path", &CheckpointOutput::path, "directory inside the working directory")
      .required()
      .min(1)
      .max(kLongestPath)
      .example("ckpt");
  f("keep", &CheckpointOutput::keep, "how many of the newest are kept").min(1).max(1000);
}

void Describe<ModelOutput>::fields(Fields<ModelOutput>& f) {
  f("path", &ModelOutput::path, "file or directory inside the working directory")
      .required()
      .min(1)
      .max(kLongestPath)
      .example("out/model.pt");
  f("name", &ModelOutput::name, "the model it becomes a version of")
      .required()
      .matches(kName, kNameWords)
      .example("fashion-cnn");
}

void Describe<Outputs>::fields(Fields<Outputs>& f) {
  f("checkpoints", &Outputs::checkpoints, "where checkpoints are written");
  f("models", &Outputs::models, "what becomes model versions").max(64);
  f("artifacts", &Outputs::artifacts, "files to keep; * and ** as in .gitignore")
      .max(64)
      .example("[plots/**]");
}

void Describe<MetricSources>::fields(Fields<MetricSources>& f) {
  f("from_logs", &MetricSources::from_logs,
    "metrics out of log lines; `auto`: until the job logs metrics by itself");
  f("patterns", &MetricSources::patterns,
    "own patterns (RE2) before the built-in ones: named groups are metrics, `step` their step")
      .max(32)
      .example("['at (?P<step>[0-9]+): loss (?P<loss>[0-9.]+)']");
  f("event_files", &MetricSources::event_files, "TensorBoard event files are read as they grow");
  f("event_directories", &MetricSources::event_directories,
    "where they lie inside the working directory; default: anywhere in it")
      .max(32)
      .example("[runs]");
}

void Describe<Retries>::fields(Fields<Retries>& f) {
  f("limit", &Retries::limit, "how often at most").min(0).max(100).example("2");
  f("for", &Retries::on, "classes of failure that are tried again")
      .max(10)
      .example("[node, preemption, lost]");
}

void Describe<Notify>::fields(Fields<Notify>& f) {
  f("when", &Notify::when, "states to tell of").required().min(1).max(7).example("[failed]");
  f("webhook", &Notify::webhook, "address that is posted to")
      .required()
      .matches("https?://[!-~]{1,2000}", "an address that begins with http:// or https://")
      .example("https://chat.example.org/hook");
  f("secret", &Notify::secret, "name of the secret that signs it")
      .matches(kVariable, kVariableWords)
      .example("HOOK_KEY");
}

void Describe<JobSpec>::fields(Fields<JobSpec>& f) {
  f("hearth", &JobSpec::hearth, "version of the format").required().min(1).example("1");
  f("kind", &JobSpec::kind, "what the file describes");
  f("name", &JobSpec::name, "jobs bear it with a counter: fashion-cnn-7")
      .required()
      .matches(kName, kNameWords)
      .example("fashion-cnn");
  f("project", &JobSpec::project, "the project that owns it")
      .matches(kName, kNameWords)
      .example("vision");
  f("experiment", &JobSpec::experiment, "groups runs; default: the name")
      .max(256)
      .example("fashion");
  f("labels", &JobSpec::labels, "words to find it by")
      .matches(kLabel, kLabelWords)
      .max(64)
      .example("{team: vision}");
  f("environment", &JobSpec::environment, "the runtime of the code");
  f("env", &JobSpec::env, "variables for the command")
      .matches(kVariable, kVariableWords)
      .max(512)
      .example("{TOKENIZERS_PARALLELISM: \"false\"}");
  f("secrets", &JobSpec::secrets, "secrets given as variables, blacked out in logs")
      .matches(kVariable, kVariableWords)
      .max(64)
      .example("[WANDB_KEY]");
  f("code", &JobSpec::code, "what stands in the working directory; default: nothing");
  f("command", &JobSpec::command, "what runs; one of command and roles is needed")
      .example("python3 train.py");
  f("launch", &JobSpec::launch, "how the processes of the roles find each other");
  f("roles", &JobSpec::roles, "in place of command and resources: processes of several kinds")
      .matches("[a-z][a-z0-9_-]{0,62}", "a name of a-z, 0-9, '_', '-', the first a letter")
      .max(32);
  f("params", &JobSpec::params, "parameters: recorded with the run, for the command and the script")
      .matches(kVariable, kVariableWords)
      .max(1000)
      .example("{lr: 0.01}");
  f("resources", &JobSpec::resources, "what the process needs");
  f("datasets", &JobSpec::datasets, "data it reads").max(64);
  f("outputs", &JobSpec::outputs, "what is kept");
  f("metrics", &JobSpec::metrics, "where charts come from beside what the script logs");
  f("retries", &JobSpec::retries, "when it is tried again");
  f("time_limit", &JobSpec::time_limit, "longest time it may run; default: none")
      .min(1)
      .max(366.0 * 86400)
      .example("1h");
  f("priority", &JobSpec::priority, "higher starts earlier").min(0).max(100).example("50");
  f("opportunistic", &JobSpec::opportunistic,
    "runs on what is idle, outside of quotas, and is the first to make room");
  f("pool", &JobSpec::pool, "nodes it may use; default: any pool that does not want to be named")
      .matches(kName, kNameWords)
      .example("training");
  f("placement", &JobSpec::placement, "how near its tasks lie to each other");
  f("notify", &JobSpec::notify, "whom to tell").max(16);
}

}  // namespace hearth
