// What things are called towards clients.
#include "control/tracking/tracking.h"

namespace hearth::control {

std::string default_experiment_id(const std::string& project) {
  return project == "default" ? "0" : "0-" + project;
}

std::string artifact_uri(const Experiment& experiment, const std::string& run_id) {
  std::string at = experiment.artifact_location.empty() ? "mlflow-artifacts:/" + experiment.id
                                                        : experiment.artifact_location;
  while (at.ends_with('/')) at.pop_back();
  return at + "/" + run_id + "/artifacts";
}

}  // namespace hearth::control
