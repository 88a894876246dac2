// Commands that act on this machine alone; src/app carries them out.
#include "base/format.h"
#include "cli/tree.h"
#include "cli/what_if.h"

namespace hearth::cli {
namespace {

template <typename Args>
Action calling(const std::function<int(const Args&)>& function, std::shared_ptr<Args> args) {
  return [&function, args = std::move(args)]() -> Result<int> { return function(*args); };
}

constexpr const char* kDataDoc = "data directory; default: $XDG_DATA_HOME/hearth";

struct UpLine {
  UpArgs args;
  std::string executor, config;
  bool no_webhooks = false;
};

void add_up(Group& top, const LocalCommands& local, const Globals& globals) {
  auto line = std::make_shared<UpLine>();
  UpArgs* args = &line->args;
  top.command("up", "Starts the server on this machine")
      .option(args->data, "--data", "DIR", kDataDoc)
      .option(args->listen, "--listen", "ADDR:PORT", "where it answers; port 0: any free one")
      .option(args->tls_cert, "--tls-cert", "FILE", "certificate (PEM)")
      .option(args->tls_key, "--tls-key", "FILE", "its key (PEM)")
      .flag(args->insecure, "--insecure", "plain HTTP beyond loopback")
      .option(args->public_urls, "--public-url", "URL", "a name it is reached by; may be repeated")
      .option(args->trusted_proxies, "--trust-proxy", "CIDR", "whose X-Forwarded-For is believed")
      .option(args->task_uids, "--task-uids", "A-B", "as root: a uid of its own for each job")
      .option(args->key_file, "--key-file", "FILE", "key of the secrets, outside DIR")
      .option(args->topology, "--topology", "FILE", "lends nodes and GPUs that are not there")
      .option_file(line->config, "--config", "these options as YAML: `listen: 127.0.0.1:8470`")
      .option(args->path_roots, "--data-root", "DIR", "where `datasets: path` may point")
      .option(args->mlflow_artifact_root, "--mlflow-artifact-root", "URI",
              "where MLflow's clients put files by themselves; default: here")
      .option(args->page, "--page", "DIR",
              "serves the page from there (build/web/dist), for who works on it")
      .option(args->keep_deleted, "--keep-deleted", "DURATION",
              "a deleted run can be restored for so long; default: 30d")
      .option(args->keep_events, "--keep-events", "DURATION",
              "events and the audit trail; default: 90d")
      .option(args->keep_logs, "--keep-logs", "DURATION", "lines of tasks; default: for ever")
      .flag(args->detach, "--detach", "in the background, once it answers")
      .option(line->executor, "--executor", "local|mock", "mock runs no process: for tests")
      .flag(line->no_webhooks, "--no-webhooks", "calls nobody")
      .flag(args->webhooks_local, "--webhooks-local", "webhooks may go to this machine")
      .does([line, &local, &globals]() -> Result<int> {
        if (!line->executor.empty() && line->executor != "mock" && line->executor != "local")
          return Error::invalid(format("--executor {}: there are local and mock", line->executor));
        line->args.mock_executor = line->executor == "mock";
        line->args.webhooks = !line->no_webhooks;
        line->args.json = globals.json;
        return local.up(line->args);
      });
}

void add_import(Tree& tree, const LocalCommands& local) {
  auto args = std::make_shared<ImportArgs>();
  tree.group("import", "Brings over what another system keeps")
      .command("mlflow", "Moves an MLflow store into a project: runs, metrics, files, models")
      .needs(args->source, "SOURCE",
             "mlruns directory, SQLite file or URI, or a server's http:// address")
      .option(args->experiments, "--experiment", "NAME", "this one alone; may be repeated")
      .option(args->artifacts, "--artifacts", "DIR",
              "where EXPERIMENT/RUN/artifacts lie, if not where the store says")
      .flag(args->dry_run, "--dry-run", "counts what would come, and writes nothing")
      .does([args, &local, &globals = tree.globals()]() -> Result<int> {
        return local.import_mlflow(*args, globals);
      });
}

void add_simulate(Group& top, const LocalCommands& local, Globals& globals) {
  auto args = std::make_shared<SimulateArgs>();
  top.command("simulate", "Replays recorded work through the scheduler, on a cluster of your wish")
      .option(args->format, "--format", "FORMAT",
              "of the jobs: hearth, openb, philly, gang or sacct")
      .option(args->jobs, "--jobs", "FILE", "what came when and ran for how long")
      .option(args->nodes, "--nodes", "FILE",
              "the cluster: a topology file (.yaml), or a list as openb's")
      .option(args->cluster, "--cluster", "NODESxGPUS[/SWITCHES][,racks=N][,cpus=N][,memory=SIZE]",
              "the cluster, such as 3x8; CPUs and memory (of a node) are never short unless said")
      .option(args->projects, "--projects", "FILE", "guarantees and limits, one project a line")
      .option(args->start_cost, "--start-cost", "DURATION", "from each start until work goes on")
      .option(args->eviction_cost, "--eviction-cost", "DURATION",
              "work that each eviction costs; default: 30s")
      .flag(args->check_waits, "--check-waits",
            "counts how long jobs waited though there was room (--json: needless_wait_seconds)")
      .flag(args->fragments, "--fragments",
            "measures how much of the free GPUs typical tasks cannot use (--json: frag_percent)")
      .option(
          args->load, "--load", "TIMES",
          "jobs come quicker or slower, so that while they come so many times the GPUs there are "
          "are asked for, such as 0.9")
      .option(args->score, "--score", "SCORE",
              "--fill: what places are valued by: blend, or fragmentation (FGD's alone)")
      .option(args->fill, "--fill", "TIMES",
              "nothing leaves: until so many times the GPUs there are were asked for, such as 1.3")
      .option(args->seeds, "--seeds", "A-B", "of --fill's random order, one fill each; default: 42")
      .option(args->vc, "--vc", "NAME", "philly: this virtual cluster alone")
      .option(args->limit, "--limit", "N", "the first N jobs alone")
      .option(args->svg, "--svg", "FILE", "draws GPUs in use, the queue and completion there")
      .flag(args->predict, "--predict",
            "durations are predicted from the jobs that have ended, and order those that wait")
      .flag(args->forecast, "--forecast",
            "each job that waits is told when it will start, and how true that was; with --predict")
      .option(args->tell, "--tell", "PERCENT",
              "--forecast: so many of 100 jobs tell how far they are once they have run a minute")
      .flag(args->run_to_end, "--run-to-end", "nobody makes room for those that have had less")
      .option(args->levels, "--level", "GPU_HOURS",
              "who has had so much makes room for those that have had less; may be repeated; "
              "default: 8")
      .flag(args->what_if, "--what-if", "this server's own past jobs, as it is and changed")
      .option(args->days, "--days", "N", "--what-if: jobs that came within N days; default: 14")
      .option(args->add, "--add", "NODE=N", "--what-if: N more nodes like NODE; may be repeated")
      .option(args->without, "--without", "NODE", "--what-if: without it; may be repeated")
      .option(args->guarantees, "--guarantee-of", "PROJECT:WHAT=N,...",
              "--what-if: this in place of its guarantee, such as vision:gpus=8")
      .option(args->limits, "--limit-of", "PROJECT:WHAT=N,...", "--what-if: the same of its limit")
      .does([args, &local, &globals]() -> Result<int> {
        if (args->what_if) return ask_what_if(globals, *args);
        return local.simulate(*args, globals.json);
      });
}

}  // namespace

void add_local_commands(Tree& tree, const LocalCommands& local) {
  Group top = tree.top();
  add_up(top, local, tree.globals());

  auto down = std::make_shared<DownArgs>();
  top.command("down", "Stops the server of a data directory; its tasks go on")
      .option(down->data, "--data", "DIR", kDataDoc)
      .flag(down->drain, "--drain", "starts no job any more and stops when none runs")
      .flag(down->resume, "--resume", "ends a draining: the server stays, and jobs start again")
      .flag(down->cancel, "--cancel", "cancels the jobs that wait and those that run")
      .does([down, &local, &globals = tree.globals()]() -> Result<int> {
        down->json = globals.json;
        return local.down(*down);
      });

  auto restore = std::make_shared<RestoreArgs>();
  top.command("restore", "Restores a backup into an empty data directory")
      .needs(restore->file, "FILE", "made by `hearth backup`")
      .option(restore->data, "--data", "DIR", kDataDoc)
      .option(restore->key_file, "--key-file", "FILE", "key that opens its secrets")
      .does(calling(local.restore, restore));

  auto doctor = std::make_shared<DoctorArgs>();
  top.command("doctor", "Tells what this machine can and cannot do, and why")
      .option(doctor->data, "--data", "DIR", kDataDoc)
      .does([doctor, &local, &globals = tree.globals()]() -> Result<int> {
        return local.doctor(*doctor, globals.json);
      });

  auto shim = std::make_shared<ShimArgs>();
  top.command("shim", "Supervises one task")
      .needs(shim->directory, "DIR", "of the task")
      .flag(shim->drain, "--drain", "only sends what its spool holds")
      .hidden()
      .does(calling(local.shim, shim));

  add_import(tree, local);
  add_simulate(top, local, tree.globals());

  top.command("openapi", "Prints the OpenAPI document of the HTTP interface")
      .does([&local]() -> Result<int> { return local.openapi(); });
}

}  // namespace hearth::cli
