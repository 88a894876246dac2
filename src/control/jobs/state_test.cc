#include "control/jobs/state.h"

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

namespace hearth::control {
namespace {

TEST(StateChart, TheDocumentShowsTheTable) {
  std::ifstream file(HEARTH_SOURCE_DIR "/docs/job-lifecycle.md");
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_NE(text.str().find("```mermaid\n" + job_state_chart() + "```"), std::string::npos)
      << "put this into docs/job-lifecycle.md:\n"
      << job_state_chart();
}

}  // namespace
}  // namespace hearth::control
