#include "control/filter_regex.h"

#include <gtest/gtest.h>

#include "domain/filter.h"

namespace hearth::control {
namespace {

TEST(FilterRegex, SearchesWithExpressions) {
  use_regex_in_filters();
  const auto finds = [](const std::string& filter, const std::string& name) {
    const auto parsed = parse_filter(filter);
    EXPECT_TRUE(parsed.ok()) << parsed.error().text();
    return matches(*parsed, [&](const std::string&) { return std::optional(name); });
  };
  EXPECT_TRUE(finds("name ~ cnn-[0-9]+$", "fashion-cnn-12"));
  EXPECT_FALSE(finds("name ~ '^cnn'", "fashion-cnn-12"));
  const auto wrong = parse_filter("name ~ 'a('");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().code, Code::invalid);
  set_filter_regex(nullptr);
}

}  // namespace
}  // namespace hearth::control
