// JSON from and to described structs (describe.h), and the neutral tree in between.
//
// Encoding writes every field, secrets never. Left out are absent optionals, zero times and, where
// they equal the default (so that decoding brings them back), empty texts, lists, maps and nested
// objects. Sizes and spans are written with their unit, numbers that JSON lacks as "NaN",
// "Infinity" and "-Infinity", an object that has a shorthand and fits it as that shorthand.
//
// Decoding collects all errors (kMostErrors at most), each with path, line, what was found, what is
// allowed and the mend. In YAML a number may also be written as text, and a text field takes any
// scalar as written; in JSON the types are the writer's own and are kept strictly. null is never a
// value: what is not given is left out.
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
  bool quoted = false;  // written in quotes (or as a block), so a text for whoever takes any value
  bool typed = false;   // from JSON: "3" is no number and 3 is no text
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
// Of a value of any type (AnyJson): what holds it must stay within kMostDepth when it is written.
constexpr int kMostDepthOfAny = 32;
constexpr size_t kMostErrors = 100;  // told of one document; the last one counts the rest

// YAML 1.2 core types. Errors: syntax (with line), duplicate keys, aliases, anchors, tags, several
// documents, depth over kMostDepth, all in Error::errors; too_large over `most_bytes`.
Result<Node> parse_yaml(std::string_view text, size_t most_bytes = kMostDocumentBytes);
// Errors as for YAML.
Result<Node> parse_json(std::string_view text, size_t most_bytes = kMostDocumentBytes);
std::string to_json(const Node& node);

// Who wrote the document. What a client sends is checked in full: bounds, patterns, required
// fields, no output-only and no unknown field. What a server wrote (its answers, its rows) is
// trusted, and may come from a newer one: only types are checked, unknown fields are passed over.
// So whoever reads a request says Origin::client.
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
