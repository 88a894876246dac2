// The rules between the fields of a job file; those of single fields stand in the field lists.
#pragma once

#include <vector>

#include "domain/job_spec.h"

namespace hearth {

// Appends what is wrong. `root` gives the lines; a path that `errors` names already is passed over.
void check_job_rules(const Node& root, const JobSpec& spec, std::vector<FieldError>& errors);

}  // namespace hearth
