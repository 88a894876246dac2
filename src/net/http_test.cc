#include "net/http.h"

#include <gtest/gtest.h>

namespace hearth::net {
namespace {

TEST(Headers, NamesAreComparedWithoutCase) {
  Headers headers;
  headers.add("Content-Type", "a");
  headers.add("content-type", "b");
  EXPECT_EQ(headers.get("CONTENT-TYPE"), "a");
  headers.set("Content-type", "c");
  ASSERT_EQ(headers.all().size(), 1u);
  EXPECT_EQ(headers.get("content-type"), "c");
  headers.remove("CONTENT-type");
  EXPECT_FALSE(headers.get("content-type"));
}

TEST(Query, ValuesAreDecodedAndTheFirstIsTaken) {
  Request request;
  request.query = "a=1&b=x%20y+z&a=2&&flag&c=%zz&=v";
  EXPECT_EQ(request.query_value("a"), "1");
  EXPECT_EQ(request.query_value("b"), "x y z");
  EXPECT_EQ(request.query_value("flag"), "");
  EXPECT_EQ(request.query_value("c"), "%zz");
  EXPECT_FALSE(request.query_value("d"));
  EXPECT_EQ(request.query_values().size(), 6u);
}

TEST(Percent, DecodesWhatItEncodes) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  EXPECT_EQ(percent_decode(percent_encode(all), true), all);
  EXPECT_EQ(percent_encode("a/b c~"), "a%2Fb%20c~");
  EXPECT_EQ(percent_decode("a+b", false), "a+b");
}

TEST(Percent, RefusesBrokenEscapes) {
  for (const char* text : {"%", "%2", "a%2", "%g0", "%0g", "%-1"})
    EXPECT_FALSE(percent_decode(text, false)) << text;
}

}  // namespace
}  // namespace hearth::net
