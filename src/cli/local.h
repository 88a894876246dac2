// Commands that act on this machine alone. They stand in the same command tree as the others (one
// help, one completion), but src/app carries them out: it gives `run` a table of functions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace hearth::cli {

struct UpArgs {
  std::string data;  // --data DIR; "": $XDG_DATA_HOME/hearth, as root /var/lib/hearth
  std::string listen = "127.0.0.1:8470";
  std::string tls_cert, tls_key;
  bool insecure = false;
  std::vector<std::string> public_urls, trusted_proxies;
  std::string task_uids;  // "A-B"
  std::string key_file, topology;
  std::string keep_deleted = "30d";     // --keep-deleted DURATION: of deleted runs
  std::string keep_events = "90d";      // --keep-events DURATION
  std::string keep_logs;                // --keep-logs DURATION; "": for ever
  std::string mlflow_artifact_root;     // --mlflow-artifact-root URI
  std::vector<std::string> path_roots;  // --data-root DIR: where `datasets: path` may point
  std::string page;                     // --page DIR: the page from there, not the program's own
  bool detach = false;
  bool json = false;            // --detach: where it is, for programs
  bool mock_executor = false;   // --executor mock: for tests of the API
  bool webhooks = true;         // --no-webhooks
  bool webhooks_local = false;  // --webhooks-local: loopback targets are allowed
};
struct DownArgs {
  std::string data;
  bool drain = false;   // wait for running jobs, start none
  bool resume = false;  // end a draining
  bool cancel = false;  // cancel them
  bool json = false;    // what was done, for programs
};
struct ShimArgs {
  std::string directory;
  bool drain = false;
};
struct BackupArgs {  // `backup --salvage FILE --data DIR`
  std::string file, data;
};
struct RestoreArgs {
  std::string file, data, key_file;
};
struct TokenAddArgs {  // `token add NAME --data DIR`
  std::string name, data, role, project, expires;
  bool quiet = false, json = false;
};
struct DoctorArgs {
  std::string data;
};
struct ImportArgs {  // `import mlflow SOURCE`
  std::string source;
  std::vector<std::string> experiments;  // --experiment NAME; none: all
  std::string artifacts;                 // --artifacts DIR
  bool dry_run = false;
};
struct SimulateArgs {  // `simulate`
  std::string format = "hearth", nodes, jobs, cluster, seeds = "42", fill, vc, start_cost, projects;
  std::string svg, eviction_cost, load, score;
  bool check_waits = false, fragments = false;
  std::optional<int64_t> limit, tell;
  std::vector<std::string> levels;  // --level HOURS
  bool predict = false, forecast = false, run_to_end = false;
  // --what-if: on a server's own past work.
  bool what_if = false;
  std::string days;
  std::vector<std::string> add, without, guarantees, limits;
};
struct Globals;

struct LocalCommands {
  std::function<int(const UpArgs&)> up;
  std::function<int(const DownArgs&)> down;
  std::function<int(const ShimArgs&)> shim;  // hidden in the help
  std::function<int(const RestoreArgs&)> restore;
  std::function<int(const BackupArgs&)> salvage;
  std::function<int(const TokenAddArgs&)> token_add_data;
  std::function<int(const DoctorArgs&, bool json)> doctor;
  std::function<int()> openapi;  // prints the document
  std::function<Result<int>(const ImportArgs&, const Globals&)> import_mlflow;
  std::function<Result<int>(const SimulateArgs&, bool json)> simulate;
};

// The whole program: parses, runs, returns the exit code of face.md's table.
int run(int argc, char** argv, const LocalCommands& local);

}  // namespace hearth::cli
