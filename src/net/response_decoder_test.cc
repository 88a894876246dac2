#include "net/response_decoder.h"

#include <gtest/gtest.h>

#include "base/format.h"

namespace hearth::net {
namespace {

using State = ResponseDecoder::State;

struct Read {
  State state = State::head;
  int status = 0;
  std::string body, failure;
  bool keep_alive = false;
  size_t left = 0;  // bytes behind the answer
};

// All of `text` in pieces of so many bytes, then the end of the connection where `ends`.
Read read(std::string_view text, size_t piece, bool ends = false, bool to_head = false) {
  Read out;
  ResponseDecoder decoder({.to_head = to_head,
                           .most_head_bytes = 200,
                           .on_status = {},
                           .on_body = [&](std::string_view bytes) {
                             out.body += bytes;
                             return out.body.size() < 1000;
                           }});
  while (!text.empty()) {
    const size_t used = decoder.feed(text.substr(0, piece));
    text.remove_prefix(used);
    if (used == 0) break;
  }
  if (ends) decoder.end();
  out.state = decoder.state();
  out.status = decoder.status();
  out.failure = decoder.failure();
  out.keep_alive = decoder.keep_alive();
  out.left = text.size();
  return out;
}

void expect(std::string_view text, const std::string& body, bool keep_alive, bool ends = false) {
  for (const size_t piece : {1, 2, 3, 7, 1000}) {
    const Read got = read(text, piece, ends);
    EXPECT_EQ(got.state, State::done) << got.failure << "\n" << text;
    EXPECT_EQ(got.body, body) << text;
    EXPECT_EQ(got.keep_alive, keep_alive) << text;
    EXPECT_EQ(got.left, 0u) << text;
  }
}

TEST(ResponseDecoder, KnowsWhereABodyEnds) {
  expect("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello", true);
  expect("HTTP/1.1 200\r\ncontent-length:0\r\n\r\n", "", true);
  expect("HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", "hi", true);
  expect(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n1\r\n!\r\n0\r\n"
      "X: y\r\n\r\n",
      "hello!", true);
  expect("HTTP/1.1 200 OK\r\n\r\nto the end", "to the end", false, true);
  expect("HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 1\r\n\r\nx", "x", false);
  expect("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", "x", false);
  expect("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx", "x", true);
  expect("HTTP/1.1 204 No Content\r\n\r\n", "", true);
  expect("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", "", true);
  expect(
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Wait\r\nX: y\r\n\r\n"
      "HTTP/1.1 201 Created\r\nContent-Length: 1\r\n\r\nx",
      "x", true);
}

TEST(ResponseDecoder, AnAnswerToHeadHasNoBody) {
  const Read got = read("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", 1000, false, true);
  EXPECT_EQ(got.state, State::done);
  EXPECT_TRUE(got.keep_alive);
}

TEST(ResponseDecoder, TakesNothingBehindTheAnswer) {
  const Read got = read("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxHTTP", 1000);
  EXPECT_EQ(got.state, State::done);
  EXPECT_EQ(got.body, "x");
  EXPECT_EQ(got.left, 4u);
}

TEST(ResponseDecoder, RefusesWhatIsNoAnswer) {
  const std::string head = "HTTP/1.1 200 OK\r\n";
  for (const std::string& text :
       {std::string("SSH-2.0-x\r\n"), std::string("HTTP/2 200\r\n"),
        std::string("HTTP/1.1 2x0 OK\r\n"), std::string("HTTP/1.1 099 x\r\n"), std::string("\r\n"),
        head + "no colon\r\n", head + ": x\r\n", head + "Content-Length: -1\r\n\r\n",
        head + "Content-Length: 1x\r\n\r\n", head + "Content-Length: 99999999999999999999\r\n\r\n",
        head + "Transfer-Encoding: gzip\r\n\r\n", head + "Transfer-Encoding: chunked\r\n\r\nx\r\n",
        head + "Transfer-Encoding: chunked\r\n\r\n-1\r\n",
        head + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
        head + "Transfer-Encoding: chunked\r\n\r\n1\r\nxy\r\n",
        head + "X: " + std::string(300, 'x') + "\r\n",
        head + "Content-Length: 2000\r\n\r\n" + std::string(2000, 'x')}) {
    for (const size_t piece : {1, 1000}) {
      const Read got = read(text, piece);
      EXPECT_EQ(got.state, State::failed) << text;
      EXPECT_FALSE(got.failure.empty());
      EXPECT_FALSE(got.keep_alive);
    }
  }
}

TEST(ResponseDecoder, SeesAnEndThatComesTooSoon) {
  EXPECT_EQ(read("", 1, true).failure, "it was closed without an answer");
  for (const char* text : {"HTTP/1.1", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
                           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"})
    EXPECT_EQ(read(text, 1000, true).failure, "the connection ended within the answer") << text;
}

}  // namespace
}  // namespace hearth::net
