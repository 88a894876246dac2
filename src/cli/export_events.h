// `hearth run export --tensorboard DIR`: a run as an event file that TensorBoard opens.
#pragma once

#include <string>

#include "cli/connect.h"
#include "domain/run.h"

namespace hearth::cli {

// Writes DIR/<run's name>/events.out.tfevents...: every point of its metrics (of `metric` alone, if
// that is not ""), its images, texts and histograms, its parameters as a text. Returns the file.
// An export of the same run takes the place of the one before it.
Result<std::string> export_events(Server& server, const Run& run, const std::string& metric,
                                  const std::string& directory);

}  // namespace hearth::cli
