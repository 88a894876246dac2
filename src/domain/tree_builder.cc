#include "domain/tree_builder.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/format.h"

namespace hearth {
namespace {

constexpr size_t kMostShown = 60;

std::string count_of(size_t n, std::string_view one) {
  return n == 1 ? format("1 {}", one) : format("{} {}s", n, one);
}

}  // namespace

bool TreeBuilder::open(Node::Kind kind, int line) {
  if (open_.size() >= static_cast<size_t>(kMostDepth)) return false;
  Frame& frame = open_.emplace_back();
  frame.node.kind = kind;
  frame.node.line = line;
  return true;
}

void TreeBuilder::close() {
  Node node = std::move(open_.back().node);
  open_.pop_back();
  if (node.kind == Node::Kind::map) note_twins(node);
  add(std::move(node));
}

void TreeBuilder::key(std::string text, int line) {
  Frame& frame = open_.back();
  frame.key = std::move(text);
  frame.key_line = line;
  frame.has_key = true;
}

void TreeBuilder::scalar(Node node) {
  add(std::move(node));
}

bool TreeBuilder::wants_key() const {
  return !open_.empty() && open_.back().node.kind == Node::Kind::map && !open_.back().has_key;
}

int TreeBuilder::pending_key_line() const {
  return !open_.empty() && open_.back().has_key ? open_.back().key_line : 0;
}

void TreeBuilder::add(Node node) {
  if (open_.empty()) {
    root_ = std::move(node);
    return;
  }
  Frame& frame = open_.back();
  if (frame.node.kind == Node::Kind::list) {
    frame.node.items.push_back(std::move(node));
    return;
  }
  frame.node.members.push_back({std::move(frame.key), frame.key_line, std::move(node)});
  frame.key.clear();
  frame.has_key = false;
}

void TreeBuilder::note_twins(const Node& map) {
  std::vector<const Node::Member*> sorted;
  sorted.reserve(map.members.size());
  for (const Node::Member& member : map.members) sorted.push_back(&member);
  std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) {
    const int order = a->key.compare(b->key);
    return order != 0 ? order < 0 : a < b;  // twins in the order of the file
  });
  for (size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i]->key != sorted[i - 1]->key) continue;
    const std::string at = path();
    mistake({.path = at == "document" ? shortened(sorted[i]->key)
                                      : format("{}.{}", at, shortened(sorted[i]->key)),
             .line = sorted[i]->line,
             .found = format("'{}' a second time", shortened(sorted[i]->key)),
             .allowed = "each field once",
             .mend = format("keep this one or the one on line {}", sorted[i - 1]->line)});
  }
}

std::string TreeBuilder::path() const {
  std::string path;
  for (const Frame& frame : open_) {
    if (frame.node.kind == Node::Kind::list) {
      path += format("[{}]", frame.node.items.size());
    } else if (frame.has_key) {
      if (!path.empty()) path += '.';
      path += shortened(frame.key);
    }
  }
  return path.empty() ? "document" : path;
}

void TreeBuilder::mistake(FieldError error) {
  if (mistakes_.size() < kMostErrors)
    mistakes_.push_back(std::move(error));
  else
    ++more_;
}

Result<Node> TreeBuilder::finish() {
  if (!mistakes_.empty()) return mistakes_error(std::move(mistakes_), more_);
  return std::move(root_);
}

Error mistakes_error(std::vector<FieldError> errors, size_t more) {
  Error error =
      Error::invalid(format("the input has {}", count_of(errors.size() + more, "mistake")),
                     errors.size() == 1 ? errors.front().mend : "mend each of the places named");
  if (more > 0) error.detail += format(" (the first {} are named)", errors.size());
  error.errors = std::move(errors);
  return error;
}

std::string shortened(std::string_view text) {
  std::string out = to_utf8_lossy(text.substr(0, kMostShown + 4));
  const bool cut = out.size() > kMostShown || out.size() < text.size();
  if (out.size() > kMostShown) {
    size_t end = kMostShown - 3;
    while (end > 0 && (static_cast<unsigned char>(out[end]) & 0xC0) == 0x80) --end;
    out.resize(end);
  }
  if (cut) out += "...";
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  return out;
}

std::string found_of(const Node& node) {
  switch (node.kind) {
    case Node::Kind::null:
      return node.text.empty() ? "nothing" : format("{} (no value)", node.text);
    case Node::Kind::boolean:
      return format("{} (true or false)", node.text);
    case Node::Kind::integer:
      return format("{} (a whole number)", shortened(node.text));
    case Node::Kind::real:
      return format("{} (a number)", shortened(node.text));
    case Node::Kind::text:
      return node.text.empty() ? "'' (empty text)" : format("'{}' (text)", shortened(node.text));
    case Node::Kind::list:
      return node.items.empty() ? "an empty list"
                                : "a list of " + count_of(node.items.size(), "item");
    case Node::Kind::map:
      return node.members.empty() ? "an empty map"
                                  : "a map of " + count_of(node.members.size(), "field");
  }
  return "";
}

}  // namespace hearth
