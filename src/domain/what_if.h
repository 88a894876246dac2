// "With these machines, or these quotas, how long would our jobs have waited?"
#pragma once

#include <map>
#include <string>
#include <vector>

#include "domain/capacity.h"

namespace hearth {

struct WhatIfNodes {
  std::string like;
  int64_t count = 1;
  bool operator==(const WhatIfNodes&) const = default;
};
template <>
struct Describe<WhatIfNodes> {
  static constexpr std::string_view name = "WhatIfNodes", doc = "More nodes of a kind.";
  static void fields(Fields<WhatIfNodes>& f) {
    f("like", &WhatIfNodes::like, "name of a node that they are like").required();
    f("count", &WhatIfNodes::count, "how many more").min(1).max(1000);
  }
};

struct WhatIfQuota {
  Amounts guaranteed, limit;
  double weight = 1;
  bool operator==(const WhatIfQuota&) const = default;
};
template <>
struct Describe<WhatIfQuota> {
  static constexpr std::string_view name = "WhatIfQuota", doc = "Another quota of a project.";
  static void fields(Fields<WhatIfQuota>& f) {
    f("guaranteed", &WhatIfQuota::guaranteed, "in place of what is promised");
    f("limit", &WhatIfQuota::limit, "in place of the limit");
    f("weight", &WhatIfQuota::weight, "in place of the weight").min(0.001).max(1e6);
  }
};

struct WhatIf {
  double days = 14;
  std::vector<WhatIfNodes> add;
  std::vector<std::string> without;
  std::map<std::string, WhatIfQuota> quotas;
  bool operator==(const WhatIf&) const = default;
};
template <>
struct Describe<WhatIf> {
  static constexpr std::string_view name = "WhatIf", doc = "A change to try on past work.";
  static void fields(Fields<WhatIf>& f) {
    f("days", &WhatIf::days, "jobs that came within so many days are replayed").min(0.001).max(366);
    f("add", &WhatIf::add, "more nodes").max(100);
    f("without", &WhatIf::without, "nodes that are not there").max(10'000);
    f("quotas", &WhatIf::quotas, "by project")
        .matches("[a-z0-9][a-z0-9._-]{0,62}", "a project's name")
        .max(1000);
  }
};

// Seconds over jobs.
struct WaitSpread {
  int64_t jobs = 0;
  double mean = 0, p50 = 0, p99 = 0;
  bool operator==(const WaitSpread&) const = default;
};
template <>
struct Describe<WaitSpread> {
  static constexpr std::string_view name = "WaitSpread", doc = "Seconds over jobs.";
  static void fields(Fields<WaitSpread>& f) {
    f("jobs", &WaitSpread::jobs, "how many");
    f("mean", &WaitSpread::mean, "seconds");
    f("p50", &WaitSpread::p50, "seconds; half took no longer");
    f("p99", &WaitSpread::p99, "seconds; 99 % took no longer");
  }
};

struct WhatIfOutcome {
  WaitSpread waits, completion;
  std::map<std::string, WaitSpread> by_project, by_gpus;
  int64_t evictions = 0, never_started = 0, gpus = 0;
  double gpus_used = 0;
  bool operator==(const WhatIfOutcome&) const = default;
};
template <>
struct Describe<WhatIfOutcome> {
  static constexpr std::string_view name = "WhatIfOutcome", doc = "How the work would have gone.";
  static void fields(Fields<WhatIfOutcome>& f) {
    f("waits", &WhatIfOutcome::waits,
      "from coming to the first start, as all times of those that ran both ways");
    f("completion", &WhatIfOutcome::completion, "from coming to the end");
    f("by_project", &WhatIfOutcome::by_project, "waits of each project's jobs");
    f("by_gpus", &WhatIfOutcome::by_gpus, "waits by how many GPUs a job asks");
    f("evictions", &WhatIfOutcome::evictions, "jobs stopped for others");
    f("never_started", &WhatIfOutcome::never_started, "jobs that fit nowhere");
    f("gpus", &WhatIfOutcome::gpus, "that there are");
    f("gpus_used", &WhatIfOutcome::gpus_used, "part of the GPU time that was used, 0 to 1");
  }
};

struct WhatIfAnswer {
  int64_t jobs = 0, left_out = 0;
  Time first, last;
  WhatIfOutcome now, then;
  double seconds = 0;
  bool operator==(const WhatIfAnswer&) const = default;
};
template <>
struct Describe<WhatIfAnswer> {
  static constexpr std::string_view name = "WhatIfAnswer", doc = "Both ways beside each other.";
  static void fields(Fields<WhatIfAnswer>& f) {
    f("jobs", &WhatIfAnswer::jobs, "that were replayed");
    f("left_out", &WhatIfAnswer::left_out, "older ones, beyond what one question replays");
    f("first", &WhatIfAnswer::first, "when the first of them came");
    f("last", &WhatIfAnswer::last, "when the last of them came");
    f("now", &WhatIfAnswer::now, "with the machines and quotas as they are");
    f("then", &WhatIfAnswer::then, "with the change");
    f("seconds", &WhatIfAnswer::seconds, "that the answer took");
  }
};

}  // namespace hearth
