// Who may use how much: a tree of projects with guarantees, limits and weights. Inside sched alone.
//
// A guarantee is lent while it is idle. A job that stays within its project's guarantee may have
// what other projects use beyond theirs ended; a limit is never passed. Changes between mark() and
// undo() leave no trace.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sched/fit.h"

namespace hearth::sched {

// milli-CPU, bytes, milli-GPU, then milli-GPU by model.
using Amounts = std::vector<int64_t>;
inline constexpr size_t kCpus = 0, kMemory = 1, kGpus = 2, kModels = 3;

// One promise or bound: of an amount, or of the GPU models of one name together.
struct Clause {
  std::vector<size_t> amounts;  // summed
  std::string what;             // cpus, memory, gpus or the model, as in a quota
  int64_t guaranteed = -1;      // -1: none
  int64_t limit = -1;           // -1: none
};

struct Project {
  std::string name;
  ProjectQuota quota;
  int32_t parent = -1;
  std::vector<Clause> clauses;
  Amounts used;           // by it and all below, opportunistic jobs left out
  double decayed = 0;     // share x seconds of the past, halved every kHalfLife
  bool promised = false;  // has a guarantee of anything
};

// What a project used long ago counts less: half after this time.
inline constexpr Duration kHalfLife = Duration::seconds(24 * 3600);

struct OverLimit {
  std::string project, what;
  int64_t limit = 0, used = 0, asked = 0;
};

// A limit of a project and another value for it.
struct Raise {
  int32_t project = -1;
  size_t clause = 0;
  int64_t limit = 0;
};

class Quotas {
 public:
  int32_t project(const std::string& name);  // made when it was never heard of
  void set(const ProjectQuota& quota, const std::vector<std::string>& models);
  void remove(const std::string& name);
  // The models that quotas name are looked up again.
  void learn_models(const std::vector<std::string>& models);
  const Project& at(int32_t index) const { return projects_[static_cast<size_t>(index)]; }
  size_t size() const { return projects_.size(); }
  bool any_guarantee() const { return any_guarantee_; }

  void charge(int32_t project, const Amounts& amounts, int sign);
  size_t mark() const { return log_.size(); }
  void undo(size_t mark);
  void settle() { log_.clear(); }

  // The first limit on the way up that this would pass.
  std::optional<OverLimit> over_limit(int32_t project, const Amounts& asked) const;
  // Every limit on the way up that this would pass, raised so far that it does not.
  std::vector<Raise> raises(int32_t project, const Amounts& asked) const;
  // Whether what `project` uses counts in `above`, too.
  bool counts_in(int32_t project, int32_t above) const;
  // Puts another value in a limit; answers with what was there.
  Raise set_limit(const Raise& raise);
  const Clause& clause(const Raise& raise) const { return at(raise.project).clauses[raise.clause]; }
  // Whether more is used now, there or above, than a limit allows.
  bool passed_limit(int32_t project) const;
  // over_limit() if nothing were used: it can never be.
  std::optional<OverLimit> over_limit_ever(int32_t project, const Amounts& asked) const;
  // Within what the project is promised, so that others may have to give it back.
  bool entitled(int32_t project, const Amounts& asked) const;
  // Whether a job of `project` that asks for this may end one of `other` that has `held`, as other
  // uses more than its guarantee.
  bool may_reclaim(int32_t project, const Amounts& asked, int32_t other, const Amounts& held) const;
  // Whether the project uses no more than it is promised, of what is asked and a job of it holds.
  // Who asks for GPUs of any model is after those that are held: where no number of GPUs is
  // promised, what is promised of their models counts.
  bool within_guarantee(int32_t project, const Amounts& asked, const Amounts& held) const;
  // The largest part of what there is (dominant share), over the weight; less goes first.
  double share(int32_t project, const Amounts& all) const;
  // Time goes on: what is used counts as the past from here on.
  void pass(Time now, const Amounts& all);

 private:
  struct Change {
    int32_t project;
    Amounts amounts;
    int sign;
  };
  void apply(int32_t project, const Amounts& amounts, int64_t sign);
  void compile(Project& project, const std::vector<std::string>& models) const;
  std::pair<int32_t, int32_t> below_common(int32_t a, int32_t b) const;

  std::vector<Project> projects_;
  std::map<std::string, int32_t> by_name_;
  std::vector<Change> log_;
  Time passed_;
  bool any_guarantee_ = false;
};

inline int64_t amount(const Amounts& amounts, size_t index) {
  return index < amounts.size() ? amounts[index] : 0;
}
void add(Amounts& sum, const Amounts& other, int64_t sign);

}  // namespace hearth::sched
