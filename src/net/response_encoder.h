// The head of an answer as bytes. Pure: the date comes in.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "net/http.h"

namespace hearth::net {

// How an answer is framed; decided by the connection, whatever the handler's headers say.
struct Framing {
  bool http11 = true;
  bool keep_alive = true;
  bool chunked = false;
  std::optional<int64_t> content_length;  // neither this nor chunked: the end of the connection
  std::string_view date;
  std::string_view request_id;
};

// Content-Length, Transfer-Encoding, Connection, Date and X-Request-Id of the handler are replaced;
// a header whose name is no token is left out, control characters in values become spaces.
std::string encode_head(const Response& response, const Framing& framing);

// True for 1xx, 204 and 304: no body follows, whatever the handler gave.
bool status_without_body(int status);

// The header of a chunk; its bytes and CRLF follow.
std::string chunk_header(size_t size);
inline constexpr std::string_view kChunkEnd = "\r\n";
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

}  // namespace hearth::net
