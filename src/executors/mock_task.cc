#include "executors/mock_task.h"

#include <algorithm>
#include <charconv>

#include "base/format.h"
#include "base/units.h"

namespace hearth::executors {
namespace {

Result<FailureClass> failure_class(std::string_view word) {
  const auto& words = Words<FailureClass>::words;
  const auto at = std::find(words.begin(), words.end(), word);
  if (at == words.end()) return Error::invalid(format("{} is no failure class", word));
  return static_cast<FailureClass>(at - words.begin());
}

Result<void> set(MockTask& task, std::string_view key, std::string_view value) {
  if (key == "run") {
    task.run = TRY(parse_duration(value));
  } else if (key == "prepare") {
    task.prepare = TRY(parse_duration(value));
  } else if (key == "class") {
    task.failure_class = TRY(failure_class(value));
    if (task.exit_code == 0) task.exit_code = 1;
  } else if (key == "exit") {
    std::from_chars(value.data(), value.data() + value.size(), task.exit_code);
  } else if (key == "ignores_stop") {
    task.ignores_stop = value != "0";
  } else if (key == "start_error") {
    task.start_error = value;
  } else if (key == "end" && (value == "ends" || value == "vanishes" || value == "hangs")) {
    task.end = value == "ends"       ? MockTask::End::ends
               : value == "vanishes" ? MockTask::End::vanishes
                                     : MockTask::End::hangs;
  } else {
    return Error::invalid(format("MOCK_TASK: {}={} means nothing", key, value),
                          "run, prepare, exit, class, end, ignores_stop, start_error");
  }
  return {};
}

}  // namespace

Result<MockTask> parse_mock_task(std::string_view text) {
  MockTask task;
  for (const auto word : split(text, ' ')) {
    if (word.empty()) continue;
    const size_t equals = word.find('=');
    if (equals == word.npos) return Error::invalid(format("MOCK_TASK: {} has no value", word));
    TRY(set(task, word.substr(0, equals), word.substr(equals + 1)));
  }
  return task;
}

}  // namespace hearth::executors
