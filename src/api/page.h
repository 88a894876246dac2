// The small page that shows the state of things: static files, embedded. It uses the public API
// alone and asks for nothing outside this server.
#pragma once

#include <memory>
#include <optional>

#include "net/http.h"

namespace hearth::api {

// True for "/", "/sign-in", "/assets/..." and "/favicon.ico": open to everybody.
bool is_page_path(std::string_view path);
// The file for GET and HEAD of such a path, by ETag only when it changed; nothing when there is
// none.
std::optional<net::Response> page_answer(const net::RequestHead& head);

}  // namespace hearth::api
