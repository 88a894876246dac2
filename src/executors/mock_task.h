// The script of a task that only pretends: read by the mock executor and by the test shim of the
// local one, so that one contract suite drives both.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "domain/job_spec.h"

namespace hearth::executors {

// What becomes of one task.
struct MockTask {
  enum class End {
    ends,      // its shim reports the end and is drained
    vanishes,  // `lost`, without a last word
    hangs,     // never ends by itself
  };
  Duration prepare = Duration::millis(5);  // until it runs
  Duration run = Duration::millis(20);     // from then to its end
  End end = End::ends;
  FailureClass failure_class = FailureClass::exit;  // when it fails
  int64_t exit_code = 0;                            // 0 with class `exit`: it succeeds
  bool ignores_stop = false;                        // ends only when the grace is over
  std::string start_error;                          // start() fails (unavailable) with this
};
// From "run=2s prepare=10ms exit=1 class=oom end=vanishes ignores_stop=1"; unknown words are
// errors.
Result<MockTask> parse_mock_task(std::string_view text);

}  // namespace hearth::executors
