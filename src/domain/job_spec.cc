#include "domain/job_spec.h"

#include "base/format.h"
#include "domain/job_rules.h"
#include "domain/tree_builder.h"

namespace hearth {

Result<JobSpec> parse_job_yaml(std::string_view text) {
  const Node root = TRY(parse_yaml(text));
  return parse_job_node(root);
}

Result<JobSpec> parse_job_node(const Node& node) {
  JobSpec spec;
  Result<void> decoded = decode(node, type_of<JobSpec>(), &spec, Origin::client);
  if (node.kind != Node::Kind::map) return std::move(decoded).error();
  std::vector<FieldError> errors;
  if (!decoded.ok()) errors = std::move(decoded.error().errors);
  check_job_rules(node, spec, errors);
  if (!errors.empty()) return mistakes_error(std::move(errors));
  return spec;
}

Result<void> check_runnable(const JobSpec& spec) {
  std::vector<FieldError> errors;
  const auto not_yet = [&](std::string path, std::string found, std::string allowed,
                           std::string mend) {
    errors.push_back({std::move(path), 0, std::move(found), std::move(allowed), std::move(mend)});
  };
  if (spec.kind != JobKind::job)
    not_yet("kind", format("'{}', which this version does not run", word(spec.kind)), "job",
            "write kind: job, or leave it out");
  const Environment& environment = spec.environment;
  const std::string here = "system or {prefix: DIR} in this version";
  if (!environment.venv.empty())
    not_yet("environment.venv", "a venv to be made", here,
            "make the venv on the node and name it as prefix");
  else if (!environment.image.empty())
    not_yet("environment.image", "an OCI image", here,
            "install what it holds on the node and use system, or name a prefix");
  else if (environment.prefix.empty() && environment.name != "system")
    not_yet("environment", format("the named environment '{}'", environment.name), here,
            "write environment: system, or name a prefix");
  if (!spec.code.git.empty())
    not_yet("code.git", "a git repository", "a directory in this version",
            "clone it and write code: DIRECTORY");
  const Launch launch = spec.launch;
  if (launch != Launch::plain && launch != Launch::torchrun && launch != Launch::mpi)
    not_yet("launch", format("'{}', which this version does not run", word(launch)),
            "plain, torchrun or mpi in this version",
            "write launch: plain; HEARTH_PEERS, HEARTH_COORDINATOR and HEARTH_PORTS say where the "
            "others are");
  if (errors.empty()) return {};
  Error error = mistakes_error(std::move(errors));
  error.detail = "the job file is right, but this version cannot run it yet";
  return error;
}

std::map<std::string, Role> roles_of(const JobSpec& spec) {
  if (!spec.roles.empty()) return spec.roles;
  return {{"worker", Role{.replicas = 1, .command = spec.command, .resources = spec.resources}}};
}

int64_t tasks_of(const JobSpec& spec) {
  int64_t count = 0;
  for (const auto& [name, role] : roles_of(spec)) count += role.replicas;
  return count;
}

const std::vector<std::string_view>& launch_variables(Launch launch) {
  static const std::vector<std::string_view> none;
  static const std::vector<std::string_view> torchrun{
      "RANK",          "WORLD_SIZE",       "LOCAL_RANK",       "LOCAL_WORLD_SIZE",
      "GROUP_RANK",    "GROUP_WORLD_SIZE", "ROLE_RANK",        "ROLE_WORLD_SIZE",
      "ROLE_NAME",     "MASTER_ADDR",      "MASTER_PORT",      "PET_NNODES",
      "PET_NODE_RANK", "PET_MASTER_ADDR",  "PET_MASTER_PORT",  "PET_RDZV_BACKEND",
      "PET_RDZV_ID",   "PET_RDZV_CONF",    "PET_RDZV_ENDPOINT"};
  static const std::vector<std::string_view> mpi{
      "OMPI_MCA_orte_default_hostfile", "OMPI_MCA_plm_rsh_agent", "OMPI_MCA_plm_rsh_no_tree_spawn",
      "OMPI_MCA_orte_leave_session_attached"};
  if (launch == Launch::torchrun) return torchrun;
  return launch == Launch::mpi ? mpi : none;
}

std::string place_of(const DatasetUse& use) {
  if (!use.at.empty()) return use.at;
  if (!use.name.empty()) return use.name.substr(0, use.name.find('@'));
  const size_t last = use.path.find_last_not_of('/');
  if (last == std::string::npos) return "";
  const std::string path = use.path.substr(0, last + 1);
  return path.substr(path.rfind('/') + 1);
}

}  // namespace hearth
