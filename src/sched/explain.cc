// Words for reasons.h: the edge at which codes and numbers become sentences.
#include <vector>

#include "base/format.h"
#include "base/units.h"
#include "sched/scheduler.h"

namespace hearth::sched {
namespace {

double number(const Reason& reason, const std::string& name) {
  const auto at = reason.numbers.find(name);
  return at == reason.numbers.end() ? 0 : at->second;
}

std::string amount(std::string_view code, double value) {
  if (code == "memory_short") return format_size(static_cast<int64_t>(value));
  return plural(value, code == "cpus_short" ? "CPU" : "GPU");
}

std::string_view field(std::string_view code) {
  return code == "memory_short" ? "memory" : code == "cpus_short" ? "cpus" : "gpus";
}

std::string name(const Reason& reason, const std::string& key) {
  const auto at = reason.names.find(key);
  return at == reason.names.end() ? "" : at->second;
}

std::string duration(double seconds) {
  return format_duration(Duration::seconds(seconds));
}

// ", expected to start in 12 m (8 of 10 times between 5 m and 40 m)"; nothing where it is not
// known.
std::string start(const Reason& reason) {
  const double seconds = number(reason, "starts_in_seconds"),
               latest = number(reason, "starts_to_seconds");
  if (seconds <= 0 && latest <= 0) return "";
  std::string text = format(", expected to start in {}", duration(seconds));
  const std::string from = duration(number(reason, "starts_from_seconds")), to = duration(latest);
  if (latest <= 0 || from == to) return text;
  const bool rough = number(reason, "starts_learnt_from") < kFewStarts;
  text += format(" ({} between {} and {})", rough ? "roughly" : "8 of 10 times", from, to);
  return text;
}

std::string ahead(const Reason& reason) {
  const double jobs = number(reason, "ahead");
  return jobs == 0 ? "; first in the queue"
                   : format("; {} before it in the queue", plural(jobs, "job"));
}

// "; node gpu-1 has room, but is closed to it (drained by ann: a fan)"
std::string closed_words(const Reason& reason) {
  const std::string node = name(reason, "closed"), why = name(reason, "why_closed");
  if (node.empty()) return "";
  return format("; node {} has room, but is closed to it{}", node,
                why.empty() ? "" : format(" ({})", why));
}

std::string wait_until(const Reason& reason, std::string_view ends) {
  const std::string node = name(reason, "closed");
  return node.empty() ? format("wait until {}", ends)
                      : format("wait until {}, or until node {} is open again", ends, node);
}

// "8 GPUs", "4 GPUs of A100", "64 GiB of memory".
std::string quota_amount(const Reason& reason, double value) {
  const std::string what = name(reason, "what");
  if (what == "memory") return format("{} of memory", format_size(static_cast<int64_t>(value)));
  if (what == "cpus") return plural(value, "CPU");
  return what == "gpus" ? plural(value, "GPU") : format("{} of {}", plural(value, "GPU"), what);
}

// "with gpus: 2 it would start now", "with limit.gpus: 12 of project vision ..."
std::string with(const Change& change) {
  if (change.field == "placement.inside")
    return change.value == "any" ? "if its GPUs may lie anywhere in a node"
                                 : "if its GPUs may lie apart inside a NUMA node";
  if (change.field == "placement.within")
    return change.value == "any" ? "if its tasks may lie anywhere"
                                 : format("within one {}", change.value);
  if (change.field == "placement.spread") return "if several of its tasks may lie on one node";
  if (!change.project.empty()) {
    const std::string what = change.field.substr(change.field.find('.') + 1);
    const std::string of = what == "cpus"     ? " CPUs"
                           : what == "gpus"   ? " GPUs"
                           : what == "memory" ? " of memory"
                                              : " GPUs of " + what;
    return format("with the limit of project {} raised to {}{}", change.project, change.value, of);
  }
  const size_t last = change.field.rfind('.');
  const std::string named = change.field.substr(last == std::string::npos ? 0 : last + 1);
  std::string text = format("with {}: {}", named, change.value);
  if (change.field.starts_with("roles.")) {
    const std::string role = change.field.substr(6);
    text += " in role " + role.substr(0, role.find('.'));
  }
  return text;
}

// The smallest change, and the raise of a limit if that is another; else what is left to do.
std::string mend_or(const Reason& reason, std::string_view otherwise) {
  if (reason.changes.empty()) return std::string(otherwise);
  std::string text = with(reason.changes.front()) + " it would start now";
  const Change& last = reason.changes.back();
  if (reason.changes.size() > 1 && !last.project.empty()) text += ", or " + with(last);
  return format("{}; else {}", text, otherwise);
}

void explain_quota(Reason& reason) {
  const std::string project = name(reason, "project");
  const double limit = number(reason, "limit"), needed = number(reason, "needed");
  if (reason.code == "never_quota") {
    reason.text = format("needs {}, more than the limit of project {}: {}",
                         quota_amount(reason, needed), project, quota_amount(reason, limit));
    reason.mend = format("ask for less, or have the limit raised to {} (`hearth quota set {}`)",
                         quota_amount(reason, needed), project);
    return;
  }
  const double used = number(reason, "used");
  reason.text =
      format("needs {}, but project {} uses {} of its limit of {}{}", quota_amount(reason, needed),
             project, quota_amount(reason, used), quota_amount(reason, limit), ahead(reason));
  reason.mend = mend_or(reason, "wait until a job of the project ends");
}

void explain_short(Reason& reason) {
  const double needed = number(reason, "needed"), free = number(reason, "free");
  reason.text =
      format("needs {}, {} free", amount(reason.code, needed),
             free == 0 ? "none is" : amount(reason.code, free) + (free == 1 ? " is" : " are"));
  if (reason.code == "memory_short") {
    reason.text =
        format("needs {} of memory, {} is free", format_size(static_cast<int64_t>(needed)),
               format_size(static_cast<int64_t>(free)));
  }
  reason.text += format(" on the node that comes nearest (it has {})",
                        amount(reason.code, number(reason, "total")));
  if (number(reason, "tasks") > 1) {
    reason.text += format(", for one of its {}", plural(number(reason, "tasks"), "task"));
  }
  reason.text += closed_words(reason) + ahead(reason);
  reason.mend = mend_or(reason, wait_until(reason, "a running job ends"));
}

void explain_never(Reason& reason) {
  const double needed = number(reason, "needed"), most = number(reason, "most");
  const int resource = static_cast<int>(number(reason, "resource"));
  if (resource == 4) {
    const std::string rules = name(reason, "rules");
    reason.text = format("needs {} at once{}, at most {:g} fit here even when nothing else runs",
                         plural(needed, "task"), rules.empty() ? "" : " " + rules, most);
    reason.mend = format("ask for {} or for less per task", plural(most, "task"));
    return;
  }
  const std::string_view code = resource == 1   ? "cpus_short"
                                : resource == 2 ? "memory_short"
                                                : "gpus_short";
  const std::string cell = name(reason, "cell");
  if (!cell.empty() && most > 0) {
    reason.text = format("needs {} of one {}, the largest one has {}", amount(code, needed), cell,
                         amount(code, most));
    reason.mend =
        format("ask for {}: {:g} at most, or leave out placement.inside", field(code), most);
    return;
  }
  reason.text = format("needs {}, the largest node has {}", amount(code, needed),
                       most == 0 ? "none" : amount(code, most));
  const auto mebibytes = static_cast<int64_t>(most) >> 20;
  const std::string size =
      mebibytes % 1024 == 0 ? format("{}GiB", mebibytes / 1024) : format("{}MiB", mebibytes);
  const std::string value = resource == 2 ? size : format("{:g}", most);
  reason.mend = format("ask for {}: {} at most, or add a larger node", field(code), value);
}

void explain_model(Reason& reason) {
  const std::string pool = name(reason, "pool"), here = name(reason, "here");
  const double gpus = number(reason, "gpus");
  reason.text = "no GPU is where it may run";
  if (gpus > 0)
    reason.text = format("none of the {} {} is of a model that it names, or has the memory",
                         plural(gpus, "GPU"), pool.empty() ? "here" : "where it may run");
  if (!pool.empty()) reason.text += format("; pool {} has such", pool);
  std::vector<std::string> mends;
  if (!pool.empty()) mends.push_back(format("ask for pool: {}", pool));
  if (gpus > 0)
    mends.push_back(format("{} another gpu_model or less gpu_memory{}",
                           pool.empty() ? "name" : "for", here.empty() ? "" : ": " + here));
  reason.mend = format("{}", join(mends, ", or "));
}

void explain_closing(Reason& reason) {
  const std::string why = name(reason, "why");
  const double seconds = number(reason, "seconds");
  reason.text =
      format("node {} {}{}{}", name(reason, "node"), seconds > 0 ? "closes in " : "is closed to it",
             seconds > 0 ? duration(seconds) + ", before it would have ended" : "",
             why.empty() ? "" : format(" ({})", why));
  std::string mend = "it starts, or goes on from its last checkpoint, where and when there is room";
  if (seconds > 0) mend = "wait until the node is open again";
  if (seconds > 0 && number(reason, "room") > 0)
    mend = "give it a time_limit that ends before, or " + mend;
  reason.mend = mend_or(reason, mend);
}

void explain_code(Reason& reason) {
  const std::string& code = reason.code;
  if (code == "cpus_short" || code == "memory_short" || code == "gpus_short") {
    explain_short(reason);
  } else if (code == "gang_short") {
    reason.text =
        format("{:g} of its {} fit now, all must start together{}{}", number(reason, "placed"),
               plural(number(reason, "tasks"), "task"), closed_words(reason), ahead(reason));
    reason.mend = mend_or(reason, wait_until(reason, "running jobs end"));
  } else if (code == "never_fits") {
    explain_never(reason);
  } else if (code == "no_pool") {
    reason.text = format("no node is in the pool {}", name(reason, "pool"));
    reason.mend = "`hearth pool list` shows those there are";
  } else if (code == "gpu_model_missing") {
    explain_model(reason);
  } else if (code == "quota_short" || code == "never_quota") {
    explain_quota(reason);
  } else if (code == "preempting") {
    reason.text = format("starts when {} that had to make room {} ended{}",
                         plural(number(reason, "victims"), "job"),
                         number(reason, "victims") == 1 ? "has" : "have", ahead(reason));
    reason.mend = "wait: they save their work and end";
  } else if (code == "evicted") {
    reason.text =
        format("made room for job {} of project {}", name(reason, "job"), name(reason, "project"));
    reason.mend = "it goes on from its last checkpoint when there is room again";
  } else if (code == "cells_short") {
    reason.text =
        format("needs {} within one {}; enough are free, but not there{}",
               plural(number(reason, "needed"), "GPU"), name(reason, "cell"), ahead(reason));
    reason.mend = mend_or(reason, "wait until a running job ends");
  } else if (code == "node_closes") {
    explain_closing(reason);
  } else if (code == "no_node") {
    reason.text = "no machine takes jobs yet";
    reason.mend = "start one, or see `hearth status`";
  } else if (code == "node_down") {
    const std::string node = name(reason, "closed"), why = name(reason, "why_closed");
    const std::string out =
        format("{:g} of {} {} out of service", number(reason, "down"),
               plural(number(reason, "nodes"), "node"), number(reason, "down") == 1 ? "is" : "are");
    if (node.empty()) {
      reason.text = out + ", in whole or a GPU of it, and the rest is too small or of another kind";
      reason.mend = mend_or(reason, "see `hearth node list` for what is wrong with it");
    } else {
      reason.text = format("node {} would do for it, but takes no new job{}; {}", node,
                           why.empty() ? "" : format(" ({})", why), out);
      reason.mend =
          mend_or(reason, format("wait until node {} is open again (`hearth node list`)", node));
    }
  } else if (code == "back_off") {
    reason.text =
        format("the last attempt failed; tried again in {}", duration(number(reason, "seconds")));
    reason.mend = "`hearth job retry` starts it now";
  } else if (code == "behind") {
    reason.text = format("there is room, but it is held for a job that has waited {}{}",
                         duration(number(reason, "held_seconds")), ahead(reason));
    reason.mend = mend_or(reason, "wait, or raise its priority");
  }
}

}  // namespace

void explain(Reason& reason) {
  explain_code(reason);
  reason.text += start(reason);
}

}  // namespace hearth::sched
