// JSON from and to described structs (describe.h), and the neutral tree in between.
//
// Encoding writes every field (absent optionals, empty lists, maps and objects that equal their
// default are left out), secrets never; sizes and spans with their unit. Decoding collects all
// errors, each with path, line, what was found, what is allowed and the mend.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "domain/describe.h"

namespace hearth {

// A value of YAML or JSON with the line it stands on (0: unknown).
struct Node {
  enum class Kind { null, boolean, integer, real, text, list, map };
  struct Member;
  Kind kind = Kind::null;
  int line = 0;
  bool quoted = false;  // YAML: written in quotes, so never a number
  std::string text;     // the scalar as written
  std::vector<Node> items;
  std::vector<Member> members;  // in order, no key twice

  const Node* find(std::string_view key) const;
};
struct Node::Member {
  std::string key;
  int line = 0;
  Node value;
};

constexpr size_t kMostDocumentBytes = 1 << 20;  // of a job file or an API body
constexpr int kMostDepth = 64;

// YAML 1.2 core types. Errors: syntax (with line), duplicate keys, aliases, anchors, tags, several
// documents, depth over kMostDepth, size over kMostDocumentBytes; all in Error::errors.
Result<Node> parse_yaml(std::string_view text);
// Errors as for YAML.
Result<Node> parse_json(std::string_view text, size_t most_bytes = kMostDocumentBytes);
std::string to_json(const Node& node);

// What clients may send differs from what the server tells: output-only fields.
enum class Origin { client, server };

Result<void> decode(const Node& node, const Type& type, void* object, Origin origin);
void encode(const Type& type, const void* object, std::string& out);

template <typename T>
Result<T> from_node(const Node& node, Origin origin = Origin::server) {
  T value{};
  TRY(decode(node, type_of<T>(), &value, origin));
  return value;
}
template <typename T>
Result<T> from_json(std::string_view text, Origin origin = Origin::server,
                    size_t most_bytes = kMostDocumentBytes) {
  const Node node = TRY(parse_json(text, most_bytes));
  return from_node<T>(node, origin);
}
template <typename T>
std::string to_json(const T& value) {
  std::string out;
  encode(type_of<T>(), &value, out);
  return out;
}

// A JSON string literal with its quotes; ill-formed UTF-8 becomes U+FFFD.
void write_json_text(std::string_view text, std::string& out);
std::string json_quote(std::string_view text);

}  // namespace hearth
