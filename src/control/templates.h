// The code of the job templates, among the objects: whoever may submit can submit a template by the
// digest of its code, with nothing to upload.
#pragma once

#include <string>
#include <vector>

#include "control/context.h"
#include "domain/job_template.h"

namespace hearth::control {

// Puts what is not there yet, pinned for as long as this program's templates are these, and gives
// those templates that can run as they are. The bundle is the one that `job submit` makes of what
// `job new` writes. `temporary`: a directory for files that go again. A template whose code cannot
// be put is left out, with a word in the log: nothing else hangs on it.
std::vector<JobTemplate> put_templates(Context context, const std::string& temporary);

}  // namespace hearth::control
