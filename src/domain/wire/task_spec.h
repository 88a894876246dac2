// What an executor hands to the shim of one task: everything it needs to know, in one file of mode
// 0600 (DIR/task.json). Written by control, read by src/shim.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "domain/job_spec.h"
#include "domain/wire/protocol.h"

namespace hearth {

struct TaskDataset {
  std::string variable;         // HEARTH_DATA_<variable>
  std::string at;               // inside the working directory
  std::string path;             // directory of this node: linked, read-only
  std::string manifest_digest;  // or fetched by manifest
  std::string in_place;         // with a manifest: the files lie here
  bool operator==(const TaskDataset&) const = default;
};
template <>
struct Describe<TaskDataset> {
  static constexpr std::string_view name = "TaskDataset", doc = "Data a task reads.";
  static void fields(Fields<TaskDataset>& f) {
    f("variable", &TaskDataset::variable, "HEARTH_DATA_<variable> names its directory");
    f("at", &TaskDataset::at, "place inside the working directory");
    f("path", &TaskDataset::path, "directory of the node");
    f("manifest_digest", &TaskDataset::manifest_digest, "object with the list of files");
    f("in_place", &TaskDataset::in_place, "where the manifest's files lie on the node");
  }
};

// One task of an attempt, as the others see it.
struct Peer {
  std::string role;
  int64_t rank = 0;
  std::string node;
  std::string address;     // where it listens
  int64_t first_port = 0;  // of kPortsOfTask in a row; 0: none was allotted
  int64_t gpus = 0;
  bool operator==(const Peer&) const = default;
};
template <>
struct Describe<Peer> {
  static constexpr std::string_view name = "Peer", doc = "One task of an attempt.";
  static void fields(Fields<Peer>& f) {
    f("role", &Peer::role, "role");
    f("rank", &Peer::rank, "from 0, over all roles");
    f("node", &Peer::node, "node it was placed on");
    f("address", &Peer::address, "where it listens");
    f("first_port", &Peer::first_port, "of its ports; 0: none was allotted");
    f("gpus", &Peer::gpus, "how many it was granted");
  }
};
// Ports that each task of a gang has to itself: the first is the one that launch contracts use, the
// others are the user's.
constexpr int64_t kPortsOfTask = 8;

struct TaskSpec {
  int64_t protocol = kShimProtocol;
  std::string task_id, attempt_id, job_id, job_name, run_id, project, experiment;
  int64_t attempt_number = 1;
  int64_t epoch = 1;
  std::string role = "worker";
  int64_t rank = 0, world_size = 1;
  std::string node;  // it was placed on; a lent one need not be this machine's name
  Launch launch = Launch::plain;
  std::vector<Peer> peers;  // by rank; addresses and ports are the executor's to fill in
  std::string interface;    // network interface of these addresses; "": any
  std::string gang_secret;  // the same for all tasks of the attempt, nobody else's
  Environment environment;
  Command command;
  std::map<std::string, Param> params;
  std::map<std::string, std::string> env;
  std::map<std::string, std::string> secrets;  // name -> value; blacked out in logs
  Resources resources;
  std::vector<std::string> gpus;  // UUIDs
  std::string code_digest;
  std::vector<TaskDataset> datasets;
  Outputs outputs;
  MetricSources metrics;
  std::string resume_manifest_digest;
  int64_t resume_step = 0;
  double time_limit_seconds = 0;  // of this attempt; 0: none
  double grace_seconds = 10;      // between SIGTERM and SIGKILL
  std::string server_socket;      // the server's Unix socket, tried first
  std::string server_url;         // else this; also HEARTH_URL of the job
  std::string objects_directory;  // of the server, when it is on this node and readable; else ""
  std::string shim_token, job_token;
  int64_t uid = -1, gid = -1;  // run the process as; -1: as the shim
  int64_t spool_bytes = 1LL << 30;
  double clock_ahead_seconds = 0;  // of the server, which leaves out jumps of the wall clock
  bool operator==(const TaskSpec&) const = default;
};
template <>
struct Describe<TaskSpec> {
  static constexpr std::string_view name = "TaskSpec", doc = "What the shim of one task is told.";
  static void fields(Fields<TaskSpec>& f) {
    f("protocol", &TaskSpec::protocol, "version of the shim protocol it is written in");
    f("task_id", &TaskSpec::task_id, "ULID");
    f("attempt_id", &TaskSpec::attempt_id, "ULID");
    f("job_id", &TaskSpec::job_id, "ULID");
    f("job_name", &TaskSpec::job_name, "name with its counter");
    f("run_id", &TaskSpec::run_id, "ULID");
    f("project", &TaskSpec::project, "project name");
    f("experiment", &TaskSpec::experiment, "experiment name");
    f("attempt_number", &TaskSpec::attempt_number, "from 1");
    f("epoch", &TaskSpec::epoch, "fence");
    f("role", &TaskSpec::role, "role");
    f("rank", &TaskSpec::rank, "from 0");
    f("world_size", &TaskSpec::world_size, "tasks of the attempt");
    f("node", &TaskSpec::node, "where it was placed");
    f("launch", &TaskSpec::launch, "how the tasks of the attempt find each other");
    f("peers", &TaskSpec::peers, "the tasks of the attempt");
    f("interface", &TaskSpec::interface, "network interface of their addresses");
    f("gang_secret", &TaskSpec::gang_secret, "known to the tasks of the attempt alone");
    f("environment", &TaskSpec::environment, "runtime");
    f("command", &TaskSpec::command, "what to run");
    f("params", &TaskSpec::params, "parameters");
    f("env", &TaskSpec::env, "variables");
    f("secrets", &TaskSpec::secrets, "variables that are blacked out in logs");
    f("resources", &TaskSpec::resources, "limits");
    f("gpus", &TaskSpec::gpus, "UUIDs granted");
    f("code_digest", &TaskSpec::code_digest, "object with the code bundle");
    f("datasets", &TaskSpec::datasets, "data");
    f("outputs", &TaskSpec::outputs, "what to save");
    f("metrics", &TaskSpec::metrics, "where metrics come from");
    f("resume_manifest_digest", &TaskSpec::resume_manifest_digest, "checkpoint to start from");
    f("resume_step", &TaskSpec::resume_step, "its step");
    f("time_limit_seconds", &TaskSpec::time_limit_seconds, "0: none");
    f("grace_seconds", &TaskSpec::grace_seconds, "between SIGTERM and SIGKILL");
    f("server_socket", &TaskSpec::server_socket, "the server's Unix socket");
    f("server_url", &TaskSpec::server_url, "the server's address");
    f("objects_directory", &TaskSpec::objects_directory, "readable object store on this node");
    f("shim_token", &TaskSpec::shim_token, "for state and logs");
    f("job_token", &TaskSpec::job_token, "for the user's process");
    f("uid", &TaskSpec::uid, "run as");
    f("gid", &TaskSpec::gid, "run as");
    f("spool_bytes", &TaskSpec::spool_bytes, "bound of the spool");
    f("clock_ahead_seconds", &TaskSpec::clock_ahead_seconds, "the server's clock less the wall");
  }
};

}  // namespace hearth
