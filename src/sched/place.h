// Where a gang would go, on what is free in `Cells`. Inside sched alone.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "sched/worth.h"

namespace hearth::sched {

// What a job needs, against the models that are known.
struct Group {
  Need need;
  std::vector<size_t> tasks;  // indices in the job
};
struct Ask {
  std::vector<Group> groups;  // the largest first
  size_t tasks = 0;
  Level within = Level::any;
  bool spread = false, balanced = false;
  std::string pool;                  // empty: any but these
  std::set<std::string> not_in;      // pools that run only jobs that name them
  int64_t cpus = 0, memory = 0;      // of all tasks
  int64_t gpus = 0, milli_gpus = 0;  // whole ones; all, shares too
  ModelMask models = ~ModelMask{0};  // what all that need a GPU may use; 0: they differ
  bool any_gpu() const { return milli_gpus > 0; }
  bool takes(const std::string& name) const {
    return pool.empty() ? !not_in.contains(name) : pool == name;
  }
};
Ask ask_of(const QueuedJob& job, const std::vector<std::string>& models);

struct Placed {
  std::vector<Grant> grants;  // by task, in the job's order
  int tier = 0;               // 0: one node, 1: one rack, 2: one spine, 3: one pool
  size_t nodes = 0;
};

// What was worked out for a class of tasks on a node stays true until the node changes.
class FitCache {
 public:
  struct Entry {
    uint64_t version = 0;
    bool fits = false;
    Fit fit;
    Leftover left;
  };
  static constexpr size_t kMostClasses = 512, kMostEntries = size_t{1} << 20;  // about 60 MB
  std::vector<Entry>& of(const Need& need, size_t nodes);

 private:
  std::map<Need, std::vector<Entry>> classes_;
};

struct Choice {
  FitCache* cache = nullptr;
  Worth* worth = nullptr;
  const std::unordered_set<std::string>* equalized = nullptr;  // pools
  const std::vector<char>* only = nullptr;                     // by node: may be used; null: all
  bool allowed(int32_t node) const {
    return only == nullptr || (*only)[static_cast<size_t>(node)] != 0;
  }
  bool spreads(const Node& node) const {
    return equalized != nullptr && equalized->contains(node.key.first);
  }
};

// All of the job's tasks or nothing, in one pool, of one GPU model if one will do. In this order:
// the tightest level that holds them all (node, rack, spine, pool), the fewest nodes, the fewest
// cells inside nodes, no clean cell broken, the value, the least left over (or, in an equalized
// pool, the most). The same input gives the same answer; the cells are left as they were.
std::optional<Placed> place(Cells& cells, const Ask& ask, const Choice& choice);
// How many of the tasks can be placed at once; for reasons.
size_t place_some(Cells& cells, const Ask& ask, const Choice& choice);

}  // namespace hearth::sched
