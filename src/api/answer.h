// Answers made from values and errors.
#pragma once

#include <map>
#include <set>
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

// What `fields` names: "id,params,metrics.loss" are two whole members and one key of a third; a key
// with commas stands in quotes ("metrics.a, b").
class ChosenFields {
 public:
  // Errors: quotes that are not closed.
  static Result<ChosenFields> parse(std::string_view text);
  bool empty() const { return whole_.empty() && keys_.empty(); }
  bool has(const std::string& member) const { return whole_.contains(member); }
  // Of a member that is not wanted whole.
  const std::set<std::string>& keys_of(const std::string& member) const;

 private:
  std::set<std::string> whole_;
  std::map<std::string, std::set<std::string>> keys_;  // by member
};
// These members alone, of an object or of each item of a list.
Result<std::string> project_fields(const std::string& json, const ChosenFields& fields);

}  // namespace hearth::api
