#include <array>

#include "base/bytes.h"
#include "base/format.h"
#include "domain/codec.h"
#include "domain/scalar.h"

namespace hearth {
namespace {

// Bytes that a JSON string must not hold as they are, and those that need a look (not ASCII).
enum class Care : unsigned char { none, escape, wide };
constexpr std::array<Care, 256> make_cares() {
  std::array<Care, 256> cares{};
  for (size_t i = 0; i < 256; ++i)
    cares[i] = i < 0x20 || i == '"' || i == '\\' || i == 0x7f ? Care::escape
               : i >= 0x80                                    ? Care::wide
                                                              : Care::none;
  return cares;
}
constexpr std::array<Care, 256> kCares = make_cares();

void write_escape(char c, std::string& out) {
  switch (c) {
    case '"':
      out += "\\\"";
      break;
    case '\\':
      out += "\\\\";
      break;
    case '\n':
      out += "\\n";
      break;
    case '\r':
      out += "\\r";
      break;
    case '\t':
      out += "\\t";
      break;
    default:
      constexpr std::string_view digits = "0123456789abcdef";
      out += "\\u00";
      out += digits[static_cast<unsigned char>(c) >> 4];
      out += digits[static_cast<unsigned char>(c) & 15];
  }
}

void write_node(const Node& node, std::string& out) {
  switch (node.kind) {
    case Node::Kind::null:
      out += "null";
      break;
    case Node::Kind::boolean:
      out += node.text[0] == 't' || node.text[0] == 'T' ? "true" : "false";
      break;
    case Node::Kind::integer:
    case Node::Kind::real:
      write_json_number(node.text, out);
      break;
    case Node::Kind::text:
      write_json_text(node.text, out);
      break;
    case Node::Kind::list: {
      char before = '[';
      for (const Node& item : node.items) {
        out += before;
        before = ',';
        write_node(item, out);
      }
      out += node.items.empty() ? "[]" : "]";
      break;
    }
    case Node::Kind::map: {
      char before = '{';
      for (const Node::Member& member : node.members) {
        out += before;
        before = ',';
        write_json_text(member.key, out);
        out += ':';
        write_node(member.value, out);
      }
      out += node.members.empty() ? "{}" : "}";
      break;
    }
  }
}

}  // namespace

const Node* Node::find(std::string_view key) const {
  for (const Member& member : members)
    if (member.key == key) return &member.value;
  return nullptr;
}

std::string to_json(const Node& node) {
  std::string out;
  write_node(node, out);
  return out;
}

void write_json_text(std::string_view text, std::string& out) {
  bool wide = false;
  for (const char c : text) wide |= kCares[static_cast<unsigned char>(c)] == Care::wide;
  if (wide && !is_utf8(text)) return write_json_text(to_utf8_lossy(text), out);
  out += '"';
  size_t begin = 0;  // of the run that is copied as it stands
  for (size_t i = 0; i < text.size(); ++i) {
    if (kCares[static_cast<unsigned char>(text[i])] != Care::escape) continue;
    out.append(text, begin, i - begin);
    write_escape(text[i], out);
    begin = i + 1;
  }
  out.append(text, begin);
  out += '"';
}

std::string json_quote(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 2);
  write_json_text(text, out);
  return out;
}

}  // namespace hearth
