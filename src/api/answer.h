// Answers made from values and errors.
#pragma once

#include <string>

#include "api/route.h"
#include "domain/wire/api.h"

namespace hearth::api {

net::Response json_text(std::string text, int status = 200);
template <typename T>
net::Response json(const T& value, int status = 200) {
  return json_text(to_json(value), status);
}
// With an ETag from its version.
template <typename T>
net::Response versioned(const T& value, int status = 200) {
  net::Response response = json(value, status);
  response.headers.set("ETag", "\"" + std::to_string(value.version) + "\"");
  return response;
}
constexpr size_t kMostReservedText = 32 << 20;
template <typename T>
net::Response json_list(const std::vector<T>& items, const std::string& next_cursor = "") {
  std::string text = "{\"items\":[";
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) text += ',';
    encode(type_of<T>(), &items[i], text);
    // The others are mostly as long as the first: a long list is not moved as it grows.
    if (i == 0) text.reserve(std::min(text.size() * (items.size() + 1), kMostReservedText));
  }
  text += "]";
  if (!next_cursor.empty()) text += ",\"next_cursor\":" + json_quote(next_cursor);
  text += "}";
  return json_text(std::move(text));
}
net::Response no_content();
net::Response problem(const Error& error, const std::string& request_id);
net::Response problem_status(int status, std::string code, std::string detail, std::string mend,
                             const std::string& request_id);

// A stored file with Range and a strong ETag; `name`: offered as a download under this name.
Result<net::Response> file_answer(const net::RequestHead& head, const std::string& path,
                                  const std::string& etag, const std::string& type,
                                  const std::string& name);

// Only the top-level members named in `fields` ("id,name"), of an object or of each item of a list.
Result<std::string> project_fields(const std::string& json, std::string_view fields);

}  // namespace hearth::api
