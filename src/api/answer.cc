#include "api/answer.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include <sys/stat.h>

#include "base/format.h"
#include "domain/filter.h"

namespace hearth::api {

net::Response json_text(std::string text, int status) {
  return net::Response::text(status, "application/json", std::move(text));
}

net::Response no_content() {
  net::Response response;
  response.status = 204;
  return response;
}

namespace {
net::Response problem_of(Problem body) {
  const int status = static_cast<int>(body.status);
  body.title = net::reason_phrase(status);
  net::Response response = net::Response::text(status, "application/problem+json", to_json(body));
  if (status == 401) response.headers.set("WWW-Authenticate", "Bearer");
  if (status == 429 || status == 503) response.headers.set("Retry-After", "1");
  return response;
}
}  // namespace

net::Response problem(const Error& error, const std::string& request_id) {
  Problem body;
  body.status = info(error.code).http_status;
  body.code = info(error.code).name;
  body.detail = to_utf8_lossy(error.detail);
  body.mend = error.mend;
  body.errors = error.errors;
  body.request_id = request_id;
  return problem_of(std::move(body));
}

net::Response problem_status(int status, std::string code, std::string detail, std::string mend,
                             const std::string& request_id) {
  Problem body;
  body.status = status;
  body.code = std::move(code);
  body.detail = to_utf8_lossy(detail);
  body.mend = std::move(mend);
  body.request_id = request_id;
  return problem_of(std::move(body));
}

namespace {

struct Range {
  int64_t first = 0, length = 0;
};

bool to_integer(std::string_view text, int64_t& value) {
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failure == std::errc() && end == text.data() + text.size() && value >= 0;
}

// One range of "bytes=a-b", "bytes=a-" or "bytes=-n"; anything else is answered whole.
std::optional<Range> parse_range(std::string_view header, int64_t size, bool& unsatisfiable) {
  if (!header.starts_with("bytes=") || header.find(',') != std::string_view::npos)
    return std::nullopt;
  header.remove_prefix(6);
  const size_t dash = header.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  int64_t first = 0, last = size - 1;
  if (dash == 0) {
    int64_t tail = 0;
    if (!to_integer(header.substr(1), tail)) return std::nullopt;
    first = std::max<int64_t>(0, size - tail);
  } else {
    if (!to_integer(header.substr(0, dash), first)) return std::nullopt;
    const bool open = dash + 1 == header.size();
    if (!open && (!to_integer(header.substr(dash + 1), last) || last < first)) return std::nullopt;
  }
  last = std::min(last, size - 1);
  unsatisfiable = first >= size;
  return Range{first, last - first + 1};
}

}  // namespace

Result<net::Response> file_answer(const net::RequestHead& head, const std::string& path,
                                  const std::string& etag, const std::string& type,
                                  const std::string& name) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) return Error::from_errno(path, errno);
  net::Response response;
  response.headers.set("Content-Type", type);
  response.headers.set("ETag", "\"" + etag + "\"");
  response.headers.set("Accept-Ranges", "bytes");
  // What a job wrote is never run as a page of ours.
  response.headers.set("Content-Security-Policy", "sandbox; default-src 'none'");
  if (!name.empty())
    response.headers.set("Content-Disposition",
                         "attachment; filename*=UTF-8''" + net::percent_encode(name));
  net::FileBody body{path, 0, status.st_size};
  if (const auto header = head.headers.get("Range"); header && head.method == "GET") {
    bool unsatisfiable = false;
    if (const auto range = parse_range(*header, status.st_size, unsatisfiable)) {
      if (unsatisfiable) {
        response = problem_status(416, "invalid", "the range lies behind the end",
                                  format("the object has {} bytes", status.st_size), head.id);
        response.headers.set("Content-Range", format("bytes */{}", status.st_size));
        return response;
      }
      response.status = 206;
      response.headers.set(
          "Content-Range",
          format("bytes {}-{}/{}", range->first, range->first + range->length - 1, status.st_size));
      body.offset = range->first;
      body.length = range->length;
    }
  }
  response.body = body;
  return response;
}

Result<ChosenFields> ChosenFields::parse(std::string_view text) {
  ChosenFields fields;
  for (const ListedField& field : TRY(parse_field_list(text, "fields"))) {
    const size_t dot = field.text.find('.');
    if (dot != std::string::npos)
      fields.keys_[field.text.substr(0, dot)].insert(field.text.substr(dot + 1));
    else if (!field.text.empty())
      fields.whole_.insert(field.text);
  }
  return fields;
}

const std::set<std::string>& ChosenFields::keys_of(const std::string& member) const {
  static const std::set<std::string> none;
  const auto at = keys_.find(member);
  return at == keys_.end() ? none : at->second;
}

Result<std::string> project_fields(const std::string& json, const ChosenFields& fields) {
  const auto keep = [&](const Node& object) {
    Node kept;
    kept.kind = Node::Kind::map;
    for (const Node::Member& member : object.members) {
      const auto& keys = fields.keys_of(member.key);
      if (fields.has(member.key)) {
        kept.members.push_back(member);
      } else if (!keys.empty() && member.value.kind == Node::Kind::map) {
        Node& part = kept.members.emplace_back(Node::Member{.key = member.key}).value;
        part.kind = Node::Kind::map;
        std::ranges::copy_if(member.value.members, std::back_inserter(part.members),
                             [&](const Node::Member& inner) { return keys.contains(inner.key); });
      }
    }
    return kept;
  };
  Node root = TRY(parse_json(json, 64 << 20));
  for (Node::Member& member : root.members) {
    if (member.key != "items") continue;
    for (Node& item : member.value.items) item = keep(item);
    return to_json(root);
  }
  return to_json(keep(root));
}

}  // namespace hearth::api
