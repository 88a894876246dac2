#include "net/request_decoder.h"

#include <gtest/gtest.h>

#include "base/format.h"

namespace hearth::net {
namespace {

using State = RequestDecoder::State;

struct Decoded {
  State state = State::head;
  int status = 0;
  std::string detail, method, path, query, body;
  Headers headers;
  bool keep_alive = false;
  size_t used = 0;
};

Decoded decode(std::string_view text, size_t piece = 0, int64_t most_body = 1000,
               DecoderLimits limits = {}) {
  RequestDecoder decoder(limits);
  Decoded out;
  bool limited = false;
  while (out.used < text.size()) {
    out.used += decoder.feed(text.substr(out.used, piece == 0 ? text.size() : piece));
    if (decoder.state() == State::body && !limited) {
      limited = true;
      decoder.limit_body(most_body);
    }
    if (decoder.state() == State::done || decoder.state() == State::failed) break;
  }
  out.state = decoder.state();
  out.status = decoder.failure().status;
  out.detail = decoder.failure().detail;
  out.method = decoder.head().method;
  out.path = decoder.head().path;
  out.query = decoder.head().query;
  out.headers = decoder.head().headers;
  out.body = decoder.take_body();
  out.keep_alive = decoder.keep_alive();
  return out;
}

TEST(RequestDecoder, ReadsAGetHoweverItIsCut) {
  const std::string text = "GET /a%20b?x=1&y=2 HTTP/1.1\r\nHost: h\r\nX-A:  b c \r\n\r\n";
  for (size_t piece = 0; piece < text.size(); ++piece) {
    const Decoded got = decode(text + "GET /next", piece);
    ASSERT_EQ(got.state, State::done) << piece << got.detail;
    EXPECT_EQ(got.used, text.size());
    EXPECT_EQ(got.method, "GET");
    EXPECT_EQ(got.path, "/a%20b");
    EXPECT_EQ(got.query, "x=1&y=2");
    EXPECT_EQ(got.headers.get("x-a"), "b c");
    EXPECT_TRUE(got.keep_alive);
  }
}

TEST(RequestDecoder, ReadsASizedBodyHoweverItIsCut) {
  const std::string text =
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\nhello\r\n\r\nxy";
  for (size_t piece = 0; piece < text.size(); ++piece) {
    const Decoded got = decode(text + "GET", piece);
    ASSERT_EQ(got.state, State::done) << piece << got.detail;
    EXPECT_EQ(got.used, text.size());
    EXPECT_EQ(got.body, "hello\r\n\r\nxy");
  }
}

TEST(RequestDecoder, ReadsAChunkedBodyHoweverItIsCut) {
  const std::string text =
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n"
      "5;a=b\r\nhello\r\n1;q=\"x\"\r\n!\r\n0\r\nTrailer: gone\r\nX: y\r\n\r\n";
  for (size_t piece = 0; piece < text.size(); ++piece) {
    const Decoded got = decode(text + "GET / HTTP", piece);
    ASSERT_EQ(got.state, State::done) << piece << got.detail;
    EXPECT_EQ(got.used, text.size());
    EXPECT_EQ(got.body, "hello!");
    EXPECT_FALSE(got.headers.get("trailer"));
  }
}

TEST(RequestDecoder, KnowsWhenTheConnectionStays) {
  EXPECT_TRUE(decode("GET / HTTP/1.1\r\nHost: h\r\n\r\n").keep_alive);
  EXPECT_FALSE(decode("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").keep_alive);
  EXPECT_FALSE(decode("GET / HTTP/1.0\r\n\r\n").keep_alive);
  EXPECT_TRUE(decode("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").keep_alive);
}

TEST(RequestDecoder, TakesAnAbsoluteTarget) {
  const Decoded got = decode("GET http://other:80/p?q HTTP/1.1\r\nHost: h\r\n\r\n");
  ASSERT_EQ(got.state, State::done);
  EXPECT_EQ(got.path, "/p");
  EXPECT_EQ(got.query, "q");
  EXPECT_EQ(got.headers.get("host"), "other:80");
  const Decoded bare = decode("GET http://other?q HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(bare.path, "/");
  EXPECT_EQ(bare.query, "q");
  EXPECT_EQ(decode("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n").path, "*");
}

TEST(RequestDecoder, ReadsOverEmptyLinesBeforeARequest) {
  EXPECT_EQ(decode("\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n").state, State::done);
  EXPECT_EQ(decode("\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", 1).state, State::done);
  EXPECT_EQ(decode("\r\n\r\n\r\n\r\n\r\n").status, 400);
}

struct Wrong {
  const char* name;
  std::string text;
  int status;
};

std::string with(std::string_view headers) {
  return format("POST / HTTP/1.1\r\nHost: h\r\n{}\r\n", headers);
}

std::vector<Wrong> wrong_requests() {
  using namespace std::string_literals;
  return {
      {"length and coding", with("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n"), 400},
      {"coding and length", with("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n"), 400},
      {"two lengths", with("Content-Length: 3\r\nContent-Length: 4\r\n"), 400},
      {"the same length twice", with("Content-Length: 3\r\nContent-Length: 3\r\n"), 400},
      {"a list of lengths", with("Content-Length: 3, 3\r\n"), 400},
      {"a signed length", with("Content-Length: +3\r\n"), 400},
      {"a negative length", with("Content-Length: -3\r\n"), 400},
      {"a hex length", with("Content-Length: 0x3\r\n"), 400},
      {"no length", with("Content-Length: \r\n"), 400},
      {"an endless length", with("Content-Length: 99999999999999999999\r\n"), 413},
      {"two codings", with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), 400},
      {"chunked twice", with("Transfer-Encoding: chunked, chunked\r\n"), 400},
      {"chunked first", with("Transfer-Encoding: chunked, gzip\r\n"), 400},
      {"gzip", with("Transfer-Encoding: gzip, chunked\r\n"), 501},
      {"identity", with("Transfer-Encoding: identity\r\n"), 501},
      {"a strange coding", with("Transfer-Encoding: xchunked\r\n"), 501},
      {"no coding", with("Transfer-Encoding:\r\n"), 501},
      {"a space before the colon", with("Content-Length : 3\r\n"), 400},
      {"a folded header", with("A: b\r\n c\r\n"), 400},
      {"a folded first header", "GET / HTTP/1.1\r\n Host: h\r\n\r\n", 400},
      {"a header without colon", with("nonsense\r\n"), 400},
      {"a header without name", with(": x\r\n"), 400},
      {"NUL in a value", with("A: b\0c\r\n"s), 400},
      {"NUL in a name", with("A\0B: c\r\n"s), 400},
      {"CR in a value", with("A: b\rc\r\n"), 400},
      {"a control character", with("A: b\x01\r\n"), 400},
      {"bare LF in the head", "GET / HTTP/1.1\nHost: h\n\n", 400},
      {"bare LF at the end", "GET / HTTP/1.1\r\nHost: h\r\n\n", 400},
      {"CR CR LF", "GET / HTTP/1.1\r\r\nHost: h\r\n\r\n", 400},
      {"no Host", "GET / HTTP/1.1\r\n\r\n", 400},
      {"two Hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400},
      {"a list of Hosts", "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", 400},
      {"a path as Host", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400},
      {"HTTP/0.9", "GET /\r\n\r\n", 400},
      {"HTTP/2.0", "GET / HTTP/2.0\r\nHost: h\r\n\r\n", 400},
      {"HTTP/1.2", "GET / HTTP/1.2\r\nHost: h\r\n\r\n", 400},
      {"the HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400},
      {"coding in HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
      {"two spaces", "GET  / HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"a tab", "GET\t/ HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"a space in the path", "GET /a b HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"a fragment", "GET /a#b HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"a relative path", "GET a HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"a star", "GET * HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"CONNECT", "CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n", 400},
      {"a user in the target", "GET http://u@h/ HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"another scheme", "GET ftp://h/ HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"TLS", "\x16\x03\x01\x02", 400},
      {"a lower-case method", "get / HTTP/1.1\r\nHost: h\r\n\r\n", 400},
  };
}

std::vector<Wrong> wrong_bodies() {
  using namespace std::string_literals;
  return {
      {"a chunk size of letters", with("Transfer-Encoding: chunked\r\n") + "g\r\n", 400},
      {"an empty chunk size", with("Transfer-Encoding: chunked\r\n") + "\r\n\r\n", 400},
      {"a negative chunk size", with("Transfer-Encoding: chunked\r\n") + "-1\r\nx\r\n", 400},
      {"a 0x chunk size", with("Transfer-Encoding: chunked\r\n") + "0x1\r\nx\r\n", 400},
      {"an endless chunk size",
       with("Transfer-Encoding: chunked\r\n") + "fffffffffffffffff\r\nx\r\n", 400},
      {"a huge chunk", with("Transfer-Encoding: chunked\r\n") + "7fffffffffffffff\r\nx\r\n", 413},
      {"bare LF behind a chunk size", with("Transfer-Encoding: chunked\r\n") + "1\nx\r\n0\r\n\r\n",
       400},
      {"no CRLF behind a chunk", with("Transfer-Encoding: chunked\r\n") + "1\r\nxyz0\r\n\r\n", 400},
      {"a length as trailer",
       with("Transfer-Encoding: chunked\r\n") + "0\r\nContent-Length: 3\r\n\r\n", 400},
      {"a folded trailer", with("Transfer-Encoding: chunked\r\n") + "0\r\nA: b\r\n c\r\n\r\n", 400},
      {"bare LF in the trailers", with("Transfer-Encoding: chunked\r\n") + "0\r\nA: b\n\r\n", 400},
      {"bare LF behind a chunk", with("Transfer-Encoding: chunked\r\n") + "1\r\nx\n0\r\n\r\n", 400},
      {"a blank chunk extension", with("Transfer-Encoding: chunked\r\n") + "1 \r\nx\r\n0\r\n\r\n",
       400},
      {"NUL in a chunk header", with("Transfer-Encoding: chunked\r\n") + "1;\0\r\nx\r\n0\r\n\r\n"s,
       400},
      {"a body over the limit", with("Content-Length: 1001\r\n"), 413},
      {"chunks over the limit",
       with("Transfer-Encoding: chunked\r\n") + "3e8\r\n" + std::string(1000, 'x') + "\r\n1\r\n",
       413},
  };
}

TEST(RequestDecoder, RefusesWhatCouldBeReadTwoWays) {
  std::vector<Wrong> all = wrong_requests();
  for (Wrong& wrong : wrong_bodies()) all.push_back(std::move(wrong));
  for (const Wrong& wrong : all) {
    for (size_t piece : {0, 1, 7}) {
      const Decoded got = decode(wrong.text, piece);
      EXPECT_EQ(got.state, State::failed) << wrong.name << " in pieces of " << piece;
      EXPECT_EQ(got.status, wrong.status) << wrong.name << ": " << got.detail;
      EXPECT_FALSE(got.detail.empty()) << wrong.name;
    }
  }
}

TEST(RequestDecoder, BoundsTheHead) {
  const DecoderLimits limits{.most_head_bytes = 200, .most_headers = 3};
  const std::string start = "GET / HTTP/1.1\r\nHost: h\r\n";
  EXPECT_EQ(decode(start + "A: b\r\nB: c\r\n\r\n", 0, 0, limits).state, State::done);
  EXPECT_EQ(decode(start + "A: b\r\nB: c\r\nC: d\r\n\r\n", 0, 0, limits).status, 431);
  for (size_t piece : {0, 1, 50}) {
    EXPECT_EQ(decode(start + "A: " + std::string(300, 'x'), piece, 0, limits).status, 431);
    EXPECT_EQ(decode(start + "A: " + std::string(300, 'x') + "\r\n\r\n", piece, 0, limits).status,
              431);
    EXPECT_EQ(decode("GET /" + std::string(300, 'x'), piece, 0, limits).status, 431);
  }
}

TEST(RequestDecoder, BoundsWhatItHoldsOfAChunkHeader) {
  const DecoderLimits limits{.most_head_bytes = 200, .most_headers = 3};
  const std::string start = with("Transfer-Encoding: chunked\r\n") + "1;";
  EXPECT_EQ(decode(start + std::string(300, 'x'), 10, 100, limits).status, 400);
  EXPECT_EQ(decode(with("Transfer-Encoding: chunked\r\n") + "0\r\nA: " + std::string(300, 'x'), 10,
                   100, limits)
                .status,
            400);
}

TEST(RequestDecoder, HandsTheBodyOverInPieces) {
  RequestDecoder decoder({});
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\n\r\n";
  EXPECT_EQ(decoder.feed(head + "abc"), head.size());
  ASSERT_EQ(decoder.state(), State::body);
  EXPECT_EQ(decoder.content_length(), 6);
  decoder.limit_body(6);
  EXPECT_EQ(decoder.feed("abc"), 3u);
  EXPECT_EQ(decoder.take_body(), "abc");
  EXPECT_EQ(decoder.feed("defGET"), 3u);
  EXPECT_EQ(decoder.take_body(), "def");
  EXPECT_EQ(decoder.state(), State::done);
  EXPECT_EQ(decoder.body_bytes(), 6);
  EXPECT_EQ(decoder.feed("GET"), 0u);
}

TEST(RequestDecoder, SaysWhenTheClientWaitsForContinue) {
  RequestDecoder decoder({});
  decoder.feed(with("Expect: 100-Continue\r\nContent-Length: 1\r\n"));
  EXPECT_TRUE(decoder.expects_continue());
  RequestDecoder old({});
  old.feed("POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n");
  EXPECT_FALSE(old.expects_continue());
}

}  // namespace
}  // namespace hearth::net
