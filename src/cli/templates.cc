#include "cli/templates.h"

#include <array>

namespace hearth::cli {
namespace {

constexpr std::string_view kTrain = R"(hearth: 1
kind: job
name: my-training
environment: system            # or {prefix: /path/to/venv}
code: .
command: python3 train.py --epochs ${params.epochs}
params:
  epochs: 3
  lr: {value: 0.01, live: true, min: 1.0e-6, max: 1}   # hearth run set RUN lr=0.001
resources: {cpus: 1, memory: 2GiB, gpus: 0}
outputs:
  checkpoints: {path: ckpt, keep: 3}
  models: [{path: out/model.pt, name: my-model}]
  artifacts: [plots/**]
)";

constexpr std::string_view kCommand = R"(hearth: 1
kind: job
name: my-command
command: [echo, hello]
resources: {cpus: 1, memory: 512MiB}
)";

constexpr std::string_view kData = R"(hearth: 1
kind: job
name: my-preparation
code: .
command: python3 prepare.py data out
datasets:
  - {path: /data/raw, at: data}      # lies on the node: read-only, not copied
resources: {cpus: 2, memory: 8GiB}
outputs:
  artifacts: [out/**]
time_limit: 2h
retries: {limit: 1, for: [node, lost]}
)";

constexpr std::array kTemplates{
    Template{"train", "training with parameters, checkpoints and a model", kTrain},
    Template{"command", "one command", kCommand},
    Template{"data", "preparing data that lies on the node", kData},
};

}  // namespace

std::span<const Template> templates() {
  return kTemplates;
}

}  // namespace hearth::cli
