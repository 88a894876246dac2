#include "net/response_encoder.h"

#include <gtest/gtest.h>

namespace hearth::net {
namespace {

constexpr std::string_view kDate = "Fri, 20 Nov 2026 07:00:00 GMT";

Framing framing() {
  Framing framing;
  framing.date = kDate;
  framing.request_id = "r1";
  return framing;
}

TEST(ResponseEncoder, WritesTheWholeHead) {
  Framing sized = framing();
  sized.content_length = 5;
  EXPECT_EQ(encode_head(Response::text(404, "text/plain", "x"), sized),
            "HTTP/1.1 404 Not Found\r\nDate: Fri, 20 Nov 2026 07:00:00 GMT\r\n"
            "Content-Type: text/plain\r\nX-Request-Id: r1\r\nContent-Length: 5\r\n\r\n");
}

TEST(ResponseEncoder, FramingIsOurs) {
  Response response;
  response.headers.add("content-length", "7");
  response.headers.add("Transfer-Encoding", "gzip");
  response.headers.add("Date", "never");
  response.headers.add("Connection", "upgrade");
  response.headers.add("X-Request-Id", "forged");
  Framing chunked = framing();
  chunked.chunked = true;
  chunked.keep_alive = false;
  EXPECT_EQ(encode_head(response, chunked),
            "HTTP/1.1 200 OK\r\nDate: Fri, 20 Nov 2026 07:00:00 GMT\r\nX-Request-Id: r1\r\n"
            "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n");
}

TEST(ResponseEncoder, AHeaderCannotEndTheHead) {
  Response response;
  response.headers.add("Location", std::string("/a\r\nSet-Cookie: x=1\0y", 21));
  response.headers.add("Bad Name", "v");
  response.headers.add("Bad:Name", "v");
  const std::string head = encode_head(response, framing());
  EXPECT_NE(head.find("Location: /a  Set-Cookie: x=1 y\r\n"), std::string::npos) << head;
  EXPECT_EQ(head.find("Bad"), std::string::npos);
}

TEST(ResponseEncoder, TellsAnOldClientThatTheConnectionStays) {
  Framing old = framing();
  old.http11 = false;
  EXPECT_NE(encode_head(Response(), old).find("Connection: keep-alive\r\n"), std::string::npos);
}

TEST(ResponseEncoder, KnowsWhichAnswersHaveNoBody) {
  EXPECT_TRUE(status_without_body(100));
  EXPECT_TRUE(status_without_body(204));
  EXPECT_TRUE(status_without_body(304));
  EXPECT_FALSE(status_without_body(200));
  EXPECT_EQ(chunk_header(255), "ff\r\n");
}

}  // namespace
}  // namespace hearth::net
