#include "api/page.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "api/embedded.h"
#include "base/bytes.h"
#include "base/units.h"

namespace hearth::api {
namespace {

// The first parts of the addresses that the page draws (web/src/app/router.tsx). Each is answered
// with the same file, so that a view can be opened by its address; whatever else is not there.
constexpr std::array kViews{"",        "sign-in", "jobs",     "submit", "runs",
                            "cluster", "quotas",  "datasets", "models", "admin"};

// Nothing inline, nothing from elsewhere; pictures and sound of a run's files are shown from blobs.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
    "media-src blob:; font-src 'self'; connect-src 'self'; worker-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types hearth-events";

struct PageFile {
  std::string type, etag;
  std::shared_ptr<const std::string> bytes, gzip;
};

std::string media_type(std::string_view path) {
  if (path.ends_with(".html")) return "text/html; charset=utf-8";
  if (path.ends_with(".js")) return "text/javascript; charset=utf-8";
  if (path.ends_with(".css")) return "text/css; charset=utf-8";
  return "image/svg+xml";
}

PageFile page_file(std::string_view path, std::string_view bytes) {
  return {.type = media_type(path),
          .etag = "\"" + sha256(bytes).substr(7, 16) + "\"",
          .bytes = std::make_shared<const std::string>(bytes),
          .gzip = nullptr};
}

const std::map<std::string, PageFile, std::less<>>& files() {
  static const auto all = [] {
    constexpr std::string_view kCompressed = ".gz";
    std::map<std::string, PageFile, std::less<>> by_name;
    for (const EmbeddedFile& file : page_files()) {
      std::string_view path = file.path;
      if (path.ends_with(kCompressed)) {
        path.remove_suffix(kCompressed.size());
        by_name[std::string(path)].gzip = std::make_shared<const std::string>(file.bytes);
        continue;
      }
      PageFile& made = by_name[std::string(path)];
      auto gzip = std::move(made.gzip);
      made = page_file(path, file.bytes);
      made.gzip = std::move(gzip);
    }
    return by_name;
  }();
  return all;
}

std::string_view file_of(std::string_view path) {
  if (!path.starts_with('/')) return "";
  path.remove_prefix(1);
  if (path == "favicon.ico" || path == "icon.svg") return "icon.svg";
  if (path.starts_with("assets/")) return path;
  const std::string_view first = path.substr(0, path.find('/'));
  const bool view = std::find(kViews.begin(), kViews.end(), first) != kViews.end();
  return view ? "index.html" : "";
}

std::optional<PageFile> find_file(std::string_view name, const std::string& directory) {
  if (directory.empty()) {
    const auto found = files().find(name);
    if (found == files().end() || !found->second.bytes) return std::nullopt;
    return found->second;
  }
  if (name.empty() || name.find("..") != std::string_view::npos) return std::nullopt;
  std::ifstream file(directory + "/" + std::string(name), std::ios::binary);
  if (!file) return std::nullopt;
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return page_file(name, bytes);
}

bool takes_gzip(const net::RequestHead& head) {
  const auto accepted = head.headers.get("Accept-Encoding");
  if (!accepted) return false;
  for (const std::string_view one : split(*accepted, ',')) {
    const std::string_view coding = trim(one);
    if (coding.substr(0, coding.find(';')) == "gzip") return !coding.ends_with("q=0");
  }
  return false;
}

std::optional<net::Response> file_answer(const net::RequestHead& head, std::string_view name,
                                         const std::string& directory) {
  const auto named = find_file(name, directory);
  if (!named) return std::nullopt;
  const PageFile& file = *named;
  net::Response response;
  response.headers.set("ETag", file.etag);
  response.headers.set("Vary", "Accept-Encoding");
  // Names below assets/ carry a digest of what is in them; the others are asked for each time, and
  // sent when they changed.
  response.headers.set("Cache-Control", name.starts_with("assets/")
                                            ? "public, max-age=31536000, immutable"
                                            : "no-cache");
  const auto known = head.headers.get("If-None-Match");
  if (known && *known == file.etag) {
    response.status = 304;
    return response;
  }
  response.headers.set("Content-Type", file.type);
  response.headers.set("Content-Security-Policy", kPolicy);
  const bool gzip = file.gzip && takes_gzip(head);
  if (gzip) response.headers.set("Content-Encoding", "gzip");
  response.body = gzip ? file.gzip : file.bytes;
  return response;
}

}  // namespace

bool is_page_path(std::string_view path) {
  return !file_of(path).empty();
}

std::optional<net::Response> page_answer(const net::RequestHead& head,
                                         const std::string& directory) {
  if (head.method != "GET" && head.method != "HEAD") return std::nullopt;
  return file_answer(head, file_of(head.path), directory);
}

std::optional<net::Response> no_such_view(const net::RequestHead& head,
                                          const std::string& directory) {
  const std::string_view path = head.path;
  const bool html = head.headers.get("Accept").value_or("").find("text/html") != std::string::npos;
  if (head.method != "GET" || !html || path.starts_with("/api/") || path.starts_with("/assets/"))
    return std::nullopt;
  net::RequestHead whole = head;
  whole.headers.remove("If-None-Match");
  auto answer = file_answer(whole, "index.html", directory);
  if (answer) answer->status = 404;
  return answer;
}

}  // namespace hearth::api
