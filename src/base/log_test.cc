#include "base/log.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace hearth {
namespace {

class Log : public testing::Test {
 protected:
  void SetUp() override {
    set_log_sink([this](Level level, std::string_view text) {
      lines_.emplace_back(level, std::string(text));
    });
  }
  void TearDown() override {
    set_log_sink(nullptr);
    set_log_level(Level::info);
  }
  std::vector<std::pair<Level, std::string>> lines_;
};

TEST_F(Log, GoesToTheSinkWithItsLevel) {
  log_info("listening on {}:{}", "localhost", 8470);
  log_error("no");
  ASSERT_EQ(lines_.size(), 2u);
  EXPECT_EQ(lines_[0].first, Level::info);
  EXPECT_EQ(lines_[0].second, "listening on localhost:8470");
  EXPECT_EQ(lines_[1].first, Level::error);
}

TEST_F(Log, BelowTheLevelNothingIsEvenFormatted) {
  log_debug("{}", 1);
  EXPECT_TRUE(lines_.empty());
  set_log_level(Level::debug);
  log_debug("{}", 1);
  EXPECT_EQ(lines_.size(), 1u);
  set_log_level(Level::error);
  log_warning("quiet");
  EXPECT_EQ(lines_.size(), 1u);
  EXPECT_FALSE(log_enabled(Level::warning));
  EXPECT_TRUE(log_enabled(Level::error));
}

TEST(LogWithoutSink, WarningsReachStderrAndTheRestDoesNot) {
  testing::internal::CaptureStderr();
  log_info("unheard");
  log_warning("heard {}", 1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "hearth: heard 1\n");
}

}  // namespace
}  // namespace hearth
