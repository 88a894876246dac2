// Makes a task's working directory whole: code, data, parameters, the checkpoint to go on from.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "domain/wire/task_spec.h"
#include "shim/layout.h"
#include "shim/link.h"
#include "shim/shim.h"

namespace hearth::shim {

struct PreparedTask {
  std::vector<std::string> argv;
  std::vector<std::string> environment;
  std::string checkpoint_directory;
  std::vector<std::string> fingerprints;       // of `path` datasets, in the spec's order
  std::map<std::string, std::string> machine;  // what it runs on
};

// keep_on: asked while the server is away and while something large is copied or fetched, with the
// time that it may take to answer; false ends that (the task was stopped).
// Errors are the user's to read: they become the text of a failure of class `start` (disk: code
// unavailable).
Result<PreparedTask> prepare(const TaskSpec& spec, const Layout& layout, const ShimOptions& options,
                             const std::function<bool(Duration pause)>& keep_on);

// SHA-256 over names, sizes and times of the files below `path`, at most kMostFingerprinted.
constexpr size_t kMostFingerprinted = 200'000;
Result<std::string> fingerprint(const std::string& path);

}  // namespace hearth::shim
