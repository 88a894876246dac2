#include "base/units.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

TEST(Sizes, KnowTheirUnits) {
  EXPECT_EQ(parse_size("0B").value(), 0);
  EXPECT_EQ(parse_size("100B").value(), 100);
  EXPECT_EQ(parse_size("1KB").value(), 1000);
  EXPECT_EQ(parse_size("1KiB").value(), 1024);
  EXPECT_EQ(parse_size("4GiB").value(), int64_t{4} << 30);
  EXPECT_EQ(parse_size("10GB").value(), 10'000'000'000);
  EXPECT_EQ(parse_size("0.5 TiB").value(), int64_t{1} << 39);
}

TEST(Sizes, RefuseTheRest) {
  for (const char* text : {"", "GiB", "4", "4 gib", "4G", "-1GiB", "nanB", "infB", "1e30PiB",
                           "4GiB x", "4,5GiB", "0x4B"})
    EXPECT_FALSE(parse_size(text).ok()) << text;
  EXPECT_EQ(parse_size("4").error().code, Code::invalid);
  EXPECT_NE(parse_size("4").error().mend.find("unit"), std::string::npos);
}

TEST(Sizes, ReadLikeText) {
  EXPECT_EQ(format_size(0), "0 B");
  EXPECT_EQ(format_size(1023), "1023 B");
  EXPECT_EQ(format_size(1536), "1.5 KiB");
  EXPECT_EQ(format_size(int64_t{4} << 30), "4 GiB");
  EXPECT_EQ(format_size(-2048), "-2 KiB");
}

TEST(Durations, KnowTheirUnits) {
  EXPECT_EQ(parse_duration("250ms").value().micros, 250'000);
  EXPECT_EQ(parse_duration("90s").value(), Duration::seconds(90));
  EXPECT_EQ(parse_duration("10m").value(), Duration::seconds(600));
  EXPECT_EQ(parse_duration("1.5h").value(), Duration::seconds(5400));
  EXPECT_EQ(parse_duration("2d").value(), Duration::seconds(172'800));
}

TEST(Durations, RefuseTheRest) {
  for (const char* text : {"", "s", "10", "10min", "-5s", "1e300d", "1h30m"})
    EXPECT_FALSE(parse_duration(text).ok()) << text;
}

TEST(Durations, ReadLikeText) {
  EXPECT_EQ(format_duration(Duration::millis(250)), "250 ms");
  EXPECT_EQ(format_duration(Duration::seconds(12.34)), "12.3 s");
  EXPECT_EQ(format_duration(Duration::seconds(245)), "4 m 05 s");
  EXPECT_EQ(format_duration(Duration::seconds(7380)), "2 h 03 m");
  EXPECT_EQ(format_duration(Duration::seconds(90'000)), "1 d 01 h");
}

TEST(Plural, CountsThings) {
  EXPECT_EQ(plural(1, "job"), "1 job");
  EXPECT_EQ(plural(0, "job"), "0 jobs");
  EXPECT_EQ(plural(2'000'000, "job"), "2000000 jobs");
  EXPECT_EQ(plural(0.5, "GPU"), "0.5 GPUs");
}

TEST(Nearest, FindsTheWordThatWasMeant) {
  const std::vector<std::string> fields = {"resources", "retries", "command", "name"};
  EXPECT_EQ(nearest("resorces", fields), "resources");
  EXPECT_EQ(nearest("comand", fields), "command");
  EXPECT_EQ(nearest("nam", fields), "name");
  EXPECT_EQ(nearest("zebra", fields), "");
  EXPECT_EQ(nearest("", {}), "");
}

TEST(Split, KeepsEmptyPieces) {
  EXPECT_EQ(split("a,b,,c", ','), (std::vector<std::string_view>{"a", "b", "", "c"}));
  EXPECT_EQ(split("", ','), std::vector<std::string_view>{""});
  EXPECT_EQ(split(",", ','), (std::vector<std::string_view>{"", ""}));
}

TEST(Trim, TakesSpaceFromBothEnds) {
  EXPECT_EQ(trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
  EXPECT_EQ(trim(""), "");
}

}  // namespace
}  // namespace hearth
