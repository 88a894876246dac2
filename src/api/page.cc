#include "api/page.h"

#include <map>
#include <string>

#include "api/embedded.h"
#include "base/bytes.h"

namespace hearth::api {
namespace {

struct PageFile {
  std::string type, etag;
  std::shared_ptr<const std::string> bytes;
};

std::string media_type(std::string_view path) {
  if (path.ends_with(".html")) return "text/html; charset=utf-8";
  if (path.ends_with(".js")) return "text/javascript; charset=utf-8";
  if (path.ends_with(".css")) return "text/css; charset=utf-8";
  return "image/svg+xml";
}

const std::map<std::string, PageFile, std::less<>>& files() {
  static const auto all = [] {
    std::map<std::string, PageFile, std::less<>> by_name;
    for (const EmbeddedFile& file : page_files())
      by_name[std::string(file.path)] = {media_type(file.path),
                                         "\"" + sha256(file.bytes).substr(7, 16) + "\"",
                                         std::make_shared<const std::string>(file.bytes)};
    return by_name;
  }();
  return all;
}

std::string_view file_of(std::string_view path) {
  constexpr std::string_view kAssets = "/assets/";
  if (path == "/") return "index.html";
  if (path == "/sign-in") return "sign-in.html";
  if (path == "/favicon.ico") return "icon.svg";
  return path.starts_with(kAssets) ? path.substr(kAssets.size()) : "";
}

}  // namespace

bool is_page_path(std::string_view path) {
  return !file_of(path).empty();
}

std::optional<net::Response> page_answer(const net::RequestHead& head) {
  if (head.method != "GET" && head.method != "HEAD") return std::nullopt;
  const auto found = files().find(file_of(head.path));
  if (found == files().end()) return std::nullopt;
  net::Response response;
  response.headers.set("ETag", found->second.etag);
  response.headers.set("Cache-Control", "no-cache");  // asked for each time, sent when it changed
  const auto known = head.headers.get("If-None-Match");
  if (known && *known == found->second.etag) {
    response.status = 304;
    return response;
  }
  response.headers.set("Content-Type", found->second.type);
  response.body = found->second.bytes;
  return response;
}

}  // namespace hearth::api
