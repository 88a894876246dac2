// job_docs write|check ROOT: docs/job-file.md, docs/topology-file.md and their schemas in api/, out
// of the field lists.
// `check` (a ctest) fails when the files differ from what the field lists say.
#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>

#include "base/format.h"
#include "domain/codec.h"
#include "domain/job_spec.h"
#include "domain/schema.h"
#include "domain/topology.h"

namespace hearth {
namespace {

constexpr std::string_view kIntroduction = R"(# The job file

<!-- Made from src/domain/job_fields.cc by `job_docs write`; not edited by hand. -->

A job file says what runs and what it needs. It is YAML 1.2 with the core types: `no`, `on` and
`yes` are texts. A key given twice, an alias, a tag, and nesting deeper than 64 levels are
errors. Numbers may also be written as text, and sizes and durations carry a unit: `4GiB`,
`500MB`, `90s`, `10m`, `2h`.

```yaml
# yaml-language-server: $schema=job.schema.json
hearth: 1
name: fashion-cnn
environment: system
code: .
command: python3 train.py --epochs ${params.epochs}
params:
  epochs: 3
  lr: {value: 0.01, live: true, min: 1.0e-6, max: 1}
resources: {cpus: 2, memory: 4GiB}
datasets:
  - {name: fashion-mnist@v1, at: data}
outputs:
  checkpoints: {path: ckpt, keep: 3}
  models: [{path: out/model.pt, name: fashion-cnn}]
  artifacts: [plots/**]
retries: {limit: 2, for: [node, preemption, lost, oom]}
time_limit: 1h
```

The first line lets editors with a YAML language server complete and check while you type; the
schema is `api/job.schema.json`. `hearth job check FILE` checks as the server does, and explains
what would run.

**Errors** come all at once, each with its place, line, what was found, what is allowed and the
mend:

```
  line 4: priority: found 101 (a whole number), allowed: a whole number from 0 to 100; ...
  line 7: resources.gpu: found the unknown field 'gpu', allowed: ...; did you mean 'gpus'?
```

**Parameters in commands.** In a text command (`sh -c`), `${params.lr}` becomes a reference to a
variable, quoted so that the value stays one word whatever it holds; it is never pasted into the
shell's text. It works in plain text, in both kinds of quotes, in `$(...)` and in
here-documents. In a command that is a list it becomes the value. `$${params.lr}` stays as the
text `${params.lr}`.

**Changing values on the command line.** `hearth job submit job.yaml --set params.lr=0.1 --set
resources.gpus=2 --set datasets[0].at=data`: a path and a value as in the file.
A param that the file does not have is given to the script, unless its name is nearly that of one
that it has: then it is refused.

**More than one process.** `roles` in place of `command` and `resources`:

```yaml
launch: torchrun
roles:
  worker: {replicas: 4, command: python3 train.py, resources: {gpus: 1, cpus: 2, memory: 8GiB}}
```

All processes of an attempt start together or not at all, and end together: when one fails, the
others get SIGTERM, ten seconds, then SIGKILL. How they find each other is the contract that
`launch` names; see [Gangs](gangs.md).

)";

constexpr std::string_view kRules = R"(## Rules between fields

- One of `command` and `roles`. With `roles`, `resources` stands inside each role, and `launch`
  names how the processes find each other.
- A dataset has one of `name` and `path`. Its place (`at`) and all output paths lie inside the
  working directory: relative, without `..`. No dataset lies inside another.
- A live parameter is a number, `true` or `false`; `min` and `max` bound numbers, and the value
  lies between.
- A variable comes from `env` or from `secrets`. Names that begin with `HEARTH_` are Hearth's
  own.
- `ref` stands beside `git`; `directory` and `git` exclude each other.
- `launch: torchrun` and `launch: mpi` take one role; `env` sets none of the contract's variables.

)";

constexpr std::string_view kTopologyIntroduction = R"(# The topology file

<!-- Made from src/domain/topology.cc by `job_docs write`; not edited by hand. -->

`hearth up --topology FILE` lends the local executor nodes and GPUs that are not there. Jobs
then run as real processes of this one machine, placed, bound and told as if the nodes were
real: to try gangs, fractions, racks and pools without the hardware, and to test with. Without
the file the executor says what this machine has.

**What is lent is not real.** A task that is granted a lent GPU finds its UUID in
`CUDA_VISIBLE_DEVICES`, and CUDA finds no such device. CPUs and memory are counted as the file
says, while all tasks share this machine's own; a task's memory limit holds as ever. `hearth
status`, `hearth node list` and `hearth doctor` say that nodes are lent. GPUs that this machine
really has are not given out while a file is in use.

```yaml
# yaml-language-server: $schema=topology.schema.json
hearth: 1
nodes:
  - name: node-0
    pool: train
    rack: rack-a
    cpus: 16
    memory: 64GiB
    numa:
      - {name: numa0, cpus: 8, memory: 32GiB}
      - {name: numa1, cpus: 8, memory: 32GiB}
    gpus:
      - {uuid: GPU-lent-0, model: H100, memory: 80GiB, numa: numa0, link: nvlink0}
      - {uuid: GPU-lent-1, model: H100, memory: 80GiB, numa: numa1, link: nvlink0}
    gpu_bandwidth: [[0, 300], [300, 0]]
    network_bandwidth: 25
  - {name: node-1, pool: train, rack: rack-a, cpus: 16, memory: 64GiB}
```

The schema for editors is `api/topology.schema.json`; JSON is taken as well as YAML. Mistakes
come all at once, each with its place, line, what was found, what is allowed and the mend, and
the server does not start with one. **Bandwidths** are what somebody measured or was told; none
is made up from a model's name, and one that is left out is unknown. A job that runs on a node
which a later file no longer has goes on; new tasks are not placed there.

)";

constexpr std::string_view kTopologyRules = R"(## Rules between fields

- A node's name and a GPU's UUID stand once in the file.
- A GPU's `numa` is one of its node's cells; cells have no more CPUs and memory than the node.
- `gpu_bandwidth` has a row and a column for each GPU, and says the same both ways.

)";

// JSON with a member or item a line, for reviews.
void pretty(const Node& node, size_t indent, std::string& out) {
  const bool is_map = node.kind == Node::Kind::map, is_list = node.kind == Node::Kind::list;
  const std::string flat = to_json(node);
  constexpr size_t most_columns = 100;
  if ((!is_map && !is_list) || indent + flat.size() < most_columns) {
    out += flat;
    return;
  }
  const std::string margin(indent + 2, ' ');
  out += is_map ? "{" : "[";
  std::string_view before = "\n";
  const auto next = [&] {
    out.append(before).append(margin);
    before = ",\n";
  };
  for (const Node::Member& member : node.members) {
    next();
    out += json_quote(member.key) + ": ";
    pretty(member.value, indent + 2, out);
  }
  for (const Node& item : node.items) {
    next();
    pretty(item, indent + 2, out);
  }
  out += "\n" + std::string(indent, ' ') + (is_map ? "}" : "]");
}

std::string short_form(const Type& type) {
  const auto name = [&](int i) { return type.fields[static_cast<size_t>(i)].name; };
  if (type.scalar_field < 0) return "";
  std::string words =
      format(" A plain value in its place stands for `{}`", name(type.scalar_field));
  if (type.list_field == type.scalar_field)
    words += ", and so does a list";
  else if (type.list_field >= 0)
    words += format(", a list for `{}`", name(type.list_field));
  return words + ".";
}

void add_tables(const Type& type, std::set<std::string_view>& seen, std::string& out) {
  const Type* at = &type;
  while (at->item != nullptr) at = at->item;
  if (at->kind != Kind::object || !seen.insert(at->name).second) return;
  out += format("## {}\n\n{}{}\n\n{}\n", at->name, at->doc, short_form(*at), markdown_table(*at));
  for (const Field& field : at->fields) add_tables(*field.type, seen, out);
}

std::string page(std::string_view introduction, const Type& type, std::string_view rules) {
  std::string out(introduction);
  std::set<std::string_view> seen;
  add_tables(type, seen, out);
  return out.append(rules.substr(0, rules.size() - 1));
}

Result<std::string> pretty_schema(const std::string& json) {
  const Node node = TRY(parse_json(json));
  std::string out;
  pretty(node, 0, out);
  return out + "\n";
}

bool same(const std::string& path, const std::string& wanted) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  if (in && text.str() == wanted) return true;
  fmt::print(stderr, "{} differs from the field lists; build the target write_job_docs\n", path);
  return false;
}

int run(const std::string& verb, const std::string& root) {
  const auto job = pretty_schema(job_file_schema());
  const auto topology = pretty_schema(topology_file_schema());
  CHECK(job.ok() && topology.ok());
  const std::pair<std::string, std::string> files[] = {
      {root + "/docs/job-file.md", page(kIntroduction, type_of<JobSpec>(), kRules)},
      {root + "/api/job.schema.json", *job},
      {root + "/docs/topology-file.md",
       page(kTopologyIntroduction, type_of<TopologyFile>(), kTopologyRules)},
      {root + "/api/topology.schema.json", *topology}};
  bool good = true;
  for (const auto& [path, text] : files) {  // all are told, not the first alone
    if (verb == "check") {
      good &= same(path, text);
      continue;
    }
    std::ofstream out(path);
    out << text;
    good &= out.good();
  }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace hearth

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "job_docs write|check ROOT\n");
    return 2;
  }
  return hearth::run(argv[1], argv[2]);
}
