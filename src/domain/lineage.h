// What a thing came from and what became of it: datasets -> runs -> models, and the code between.
#pragma once

#include <string>
#include <vector>

#include "domain/describe.h"

namespace hearth {

struct LineageNode {
  std::string key;   // "run:01J...", unique in the answer
  std::string kind;  // dataset, path, run, model, code, commit
  std::string id;    // ULID, digest or commit
  std::string name;  // NAME@VERSION, name of the run, directory
  std::string project;
  std::string state;  // of a run
  std::string digest;
  Time created_at;
  bool operator==(const LineageNode&) const = default;
};
template <>
struct Describe<LineageNode> {
  static constexpr std::string_view name = "LineageNode", doc = "A thing with a history.";
  static void fields(Fields<LineageNode>& f) {
    f("key", &LineageNode::key, "unique in the answer");
    f("kind", &LineageNode::kind, "dataset, path, run, model, code or commit");
    f("id", &LineageNode::id, "ULID, digest or commit");
    f("name", &LineageNode::name, "for people");
    f("project", &LineageNode::project, "project name");
    f("state", &LineageNode::state, "of a run");
    f("digest", &LineageNode::digest, "of its content");
    f("created_at", &LineageNode::created_at, "when");
  }
};

// `from` went into `to`.
struct LineageEdge {
  std::string from, to;
  std::string how;  // read, made, ran
  bool operator==(const LineageEdge&) const = default;
};
template <>
struct Describe<LineageEdge> {
  static constexpr std::string_view name = "LineageEdge", doc = "One thing went into another.";
  static void fields(Fields<LineageEdge>& f) {
    f("from", &LineageEdge::from, "key of the earlier thing");
    f("to", &LineageEdge::to, "key of the later thing");
    f("how", &LineageEdge::how, "read, made or ran");
  }
};

struct Lineage {
  std::string root;  // key of what was asked for
  std::vector<LineageNode> nodes;
  std::vector<LineageEdge> edges;
  bool cut = false;  // there is more than is told
  bool operator==(const Lineage&) const = default;
};
template <>
struct Describe<Lineage> {
  static constexpr std::string_view name = "Lineage",
                                    doc = "What a thing came from and what became of it.";
  static void fields(Fields<Lineage>& f) {
    f("root", &Lineage::root, "key of what was asked for");
    f("nodes", &Lineage::nodes, "things");
    f("edges", &Lineage::edges, "what went into what");
    f("cut", &Lineage::cut, "there is more than is told");
  }
};

}  // namespace hearth
