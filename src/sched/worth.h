// What places are worth (groups.h), pool by pool, kept in step with the cells. Inside sched alone.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "sched/fit.h"
#include "sched/groups.h"

namespace hearth::sched {

class Worth {
 public:
  // A task came for this pool ("": for any), whether it finds a place or not.
  void arrived(const std::string& pool, const Need& need);
  // Of the nodes of a pool that `allowed` takes (none: all) the one where the task is worth most,
  // and which GPUs it gets there. Nothing also when the pool has nodes without a shape.
  struct Best {
    int32_t node = -1;
    Fit fit;
    double score = 0;
  };
  std::optional<Best> pick(Cells& cells, int32_t pool, const Need& need,
                           const std::function<bool(uint32_t)>* allowed);
  // GPUs that typical tasks cannot use (FGD's expected fragmentation), of those free now, 0..1.
  double fragmented(const Cells& cells, const std::string& pool);
  // Other weights from now on, in every pool.
  void reweigh(const Weights& weights);
  // Whether nodes of this pool are valued at all.
  bool knows(Cells& cells, int32_t pool);

 private:
  struct Pool {
    explicit Pool(const Weights& weights) : groups(weights) {}
    Groups groups;
    size_t not_shaped = 0;  // nodes were seen with more GPUs, or models, than a shape holds
  };
  void follow(Cells& cells);
  Pool& of(const std::string& name);
  Weights weights_;
  std::map<std::string, std::unique_ptr<Pool>> pools_;
  std::vector<TaskShape> before_any_pool_;  // what came when no pool was known
};

}  // namespace hearth::sched
