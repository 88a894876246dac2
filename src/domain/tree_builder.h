// Builds a Node tree out of a parser's events; shared by YAML and JSON. Notes keys given twice.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "domain/codec.h"

namespace hearth {

class TreeBuilder {
 public:
  // False when this would be deeper than kMostDepth.
  [[nodiscard]] bool open(Node::Kind kind, int line);
  void close();
  void key(std::string text, int line);
  void scalar(Node node);
  // The next event in a map is a key.
  bool wants_key() const;
  size_t depth() const { return open_.size(); }
  // Line of the key whose value is still to come; 0 when there is none.
  int pending_key_line() const;

  // Where the next event would stand: "roles.worker", "datasets[1]"; "document" at the root.
  std::string path() const;
  // Notes a mistake; more than kMostErrors are counted only.
  void mistake(FieldError error);
  const std::vector<FieldError>& mistakes() const { return mistakes_; }
  Result<Node> finish();

 private:
  struct Frame {
    Node node;
    std::string key;
    int key_line = 0;
    bool has_key = false;
  };
  void add(Node node);
  void note_twins(const Node& map);
  std::vector<Frame> open_;
  Node root_;
  std::vector<FieldError> mistakes_;
  size_t more_ = 0;
};

// "the input has 2 mistakes" around the list.
Error mistakes_error(std::vector<FieldError> errors, size_t more = 0);
// At most 60 characters of it, cut between characters, on one line.
std::string shortened(std::string_view text);
// What stands there, for FieldError::found: "'abc' (text)", "a map", "nothing".
std::string found_of(const Node& node);

}  // namespace hearth
