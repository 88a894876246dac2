// The page (web/): static files, embedded. It uses the public API alone and asks for nothing
// outside this server.
#pragma once

#include <memory>
#include <optional>

#include "net/http.h"

namespace hearth::api {

// True for the addresses of its views ("/", "/jobs/...") and of its files ("/assets/..."): open to
// everybody, as nothing of anybody is in them.
bool is_page_path(std::string_view path);
// The file for GET and HEAD of such a path, by ETag only when it changed; nothing when there is
// none.
// With `directory` it is read from there, as it is now: for who works on the page.
std::optional<net::Response> page_answer(const net::RequestHead& head,
                                         const std::string& directory);

// What a browser is shown at an address that is none: the page, which says so, with 404; nothing
// for who asks for something else than HTML, and below /api/ and /assets/.
std::optional<net::Response> no_such_view(const net::RequestHead& head,
                                          const std::string& directory);

}  // namespace hearth::api
