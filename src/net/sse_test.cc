#include "net/sse.h"

#include <gtest/gtest.h>

namespace hearth::net {
namespace {

std::vector<SseEvent> parse(std::string_view text, size_t piece = 0) {
  std::vector<SseEvent> events;
  SseParser parser;
  const size_t size = piece == 0 ? text.size() : piece;
  for (size_t at = 0; at < text.size(); at += size) {
    const auto fed =
        parser.feed(text.substr(at, size), [&](const SseEvent& event) { events.push_back(event); });
    EXPECT_TRUE(fed.ok());
  }
  return events;
}

TEST(Sse, WhatIsEncodedIsParsed) {
  const std::string text = encode_sse({"job", "one\ntwo\n", "7"}) + encode_sse_comment("beat") +
                           encode_sse({"", "", ""});
  EXPECT_EQ(text, "event: job\nid: 7\ndata: one\ndata: two\ndata: \n\n: beat\n\ndata: \n\n");
  for (size_t piece : {0, 1, 2, 3, 5}) {
    const auto events = parse(text, piece);
    ASSERT_EQ(events.size(), 2u);
    EXPECT_EQ(events[0].event, "job");
    EXPECT_EQ(events[0].data, "one\ntwo\n");
    EXPECT_EQ(events[0].id, "7");
    EXPECT_EQ(events[1].event, "");
    EXPECT_EQ(events[1].data, "");
    EXPECT_EQ(events[1].id, "7");
  }
}

TEST(Sse, AllLineEndsAreKnown) {
  for (const char* text : {"data: a\r\ndata: b\r\n\r\n", "data: a\rdata: b\r\r",
                           "\xef\xbb\xbf"
                           "data:a\ndata:b\n\n"})
    for (size_t piece : {0, 1, 2, 3}) {
      const auto events = parse(text, piece);
      ASSERT_EQ(events.size(), 1u) << text << piece;
      EXPECT_EQ(events[0].data, "a\nb");
    }
}

TEST(Sse, AnEventWithoutDataOrEndIsNone) {
  EXPECT_TRUE(parse("event: x\nid: 1\n\n").empty());
  EXPECT_TRUE(parse("data: x\n").empty());
  EXPECT_TRUE(parse("nonsense\n: comment\nother: 1\n\n").empty());
}

TEST(Sse, LineBreaksCannotForgeFields) {
  EXPECT_EQ(encode_sse({"a\nid: 9", "b\r\nc\rd", "1\r2"}),
            "event: a id: 9\nid: 1 2\ndata: b\ndata: c\ndata: d\n\n");
}

TEST(Sse, RetryIsKept) {
  SseParser parser;
  const auto nothing = [](const SseEvent&) {};
  ASSERT_TRUE(parser.feed("retry: x\nretry: -1\n\n", nothing).ok());
  EXPECT_FALSE(parser.retry());
  ASSERT_TRUE(parser.feed(encode_sse_retry(Duration::seconds(2)), nothing).ok());
  EXPECT_EQ(parser.retry(), Duration::seconds(2));
}

TEST(Sse, AnEndlessEventIsRefused) {
  SseParser parser(100);
  const auto nothing = [](const SseEvent&) {};
  EXPECT_TRUE(parser.feed("data: " + std::string(80, 'x') + "\n", nothing).ok());
  const auto refused = parser.feed("data: " + std::string(80, 'x') + "\n", nothing);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::too_large);
}

}  // namespace
}  // namespace hearth::net
