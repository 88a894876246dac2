#include "sched/change.h"

#include <algorithm>
#include <charconv>

#include "base/format.h"
#include "base/units.h"
#include "sched/fit.h"

namespace hearth::sched {
namespace {

double number(const std::string& text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

int64_t gpus_of(const TaskNeed& need) {
  return need.milli_gpus / std::max<int64_t>(1, need.gpu_share_milli);
}

std::string mebibytes(int64_t bytes) {
  return format("{}MiB", bytes / kMemoryStep);
}

std::string thousandth(int64_t milli) {
  return format("{:.12g}", static_cast<double>(milli) / 1000);
}

void change_task(TaskNeed& need, std::string_view resource, const std::string& value) {
  if (resource == "gpus") {
    need.milli_gpus = static_cast<int64_t>(number(value)) * need.gpu_share_milli;
  } else if (resource == "cpus") {
    need.milli_cpus = std::llround(number(value) * 1000);
  } else if (resource == "memory") {
    need.memory_bytes = parse_size(value).value_or(0);
  } else if (resource == "gpu_memory") {
    need.gpu_memory_bytes = parse_size(value).value_or(0);
  } else if (resource == "gpu_model") {
    need.gpu_model = {value};
  } else if (resource == "gpu_share") {
    const int64_t gpus = gpus_of(need);
    need.gpu_share_milli = std::llround(number(value) * 1000);
    need.milli_gpus = gpus * need.gpu_share_milli;
  }
}

class Search {
 public:
  Search(const QueuedJob& job, const Cells& cells, const Try& attempt)
      : job_(job), cells_(cells), try_(attempt) {
    for (const TaskNeed& need : job.tasks) ++roles_[need.role];
    names_roles_ = job.roles || roles_.size() > 1;
  }

  std::vector<Change> run() {
    lie_otherwise();
    for (const auto& [role, tasks] : roles_) {
      const TaskNeed* need = need_of_role(role);
      if (need == nullptr) continue;
      other_model(role, *need);
      less_of_role(role, *need, tasks);
    }
    std::sort(less_.begin(), less_.end(), [](const Less& a, const Less& b) {
      return a.stays != b.stays ? a.stays > b.stays : a.change.field < b.change.field;
    });
    for (Less& less : less_) found_.push_back(std::move(less.change));
    return std::move(found_);
  }

 private:
  struct Less {
    double stays;  // part of what was asked
    Change change;
  };

  bool starts(const Change& change) { return try_(changed(job_, change)) == Trial::starts; }
  void keep_if_starts(Change change) {
    if (starts(change)) found_.push_back(std::move(change));
  }

  // "resources.gpus", or with its role where the job file names roles.
  std::string field(const std::string& role, std::string_view resource) const {
    return names_roles_ ? format("roles.{}.resources.{}", role, resource)
                        : format("resources.{}", resource);
  }

  void lie_otherwise() {
    const auto narrow = [&](Inside inside) {
      return std::any_of(job_.tasks.begin(), job_.tasks.end(),
                         [&](const TaskNeed& need) { return need.inside == inside; });
    };
    if (narrow(Inside::link) && starts({"placement.inside", "numa", ""})) {
      found_.push_back({"placement.inside", "numa", ""});
    } else if (narrow(Inside::link) || narrow(Inside::numa)) {
      keep_if_starts({"placement.inside", "any", ""});
    }
    // The narrowest level that will do.
    for (int wider = static_cast<int>(job_.within) - 1; wider >= 0; --wider) {
      const Change change{"placement.within", std::string(word(static_cast<Level>(wider))), ""};
      if (!starts(change)) continue;
      found_.push_back(change);
      break;
    }
    if (job_.spread && job_.tasks.size() > 1) keep_if_starts({"placement.spread", "false", ""});
  }

  // What each task of the role needs, when they need the same.
  const TaskNeed* need_of_role(const std::string& role) const {
    const TaskNeed* first = nullptr;
    for (const TaskNeed& need : job_.tasks) {
      if (need.role != role) continue;
      if (first == nullptr) first = &need;
      const auto same = [](const TaskNeed& a, const TaskNeed& b) {
        return std::tie(a.milli_cpus, a.memory_bytes, a.milli_gpus, a.gpu_model, a.gpu_share_milli,
                        a.gpu_memory_bytes) == std::tie(b.milli_cpus, b.memory_bytes, b.milli_gpus,
                                                        b.gpu_model, b.gpu_share_milli,
                                                        b.gpu_memory_bytes);
      };
      if (!same(*first, need)) return nullptr;
    }
    return first;
  }

  void other_model(const std::string& role, const TaskNeed& need) {
    if (need.milli_gpus == 0 || need.gpu_model.empty()) return;
    const ModelMask named = sched::need_of(need, cells_.models()).models;
    for (size_t model = 0; model < cells_.models().size(); ++model) {
      if ((named & (ModelMask{1} << model)) != 0) continue;
      const Change change{field(role, "gpu_model"), cells_.models()[model], ""};
      if (!starts(change)) continue;
      found_.push_back(change);
      return;
    }
  }

  void less_of_role(const std::string& role, const TaskNeed& need, int64_t tasks) {
    const auto less = [&](std::string_view resource, int64_t asked, int64_t step, auto value) {
      const int64_t least = (asked / kLeastPart + step - 1) / step;
      amount(field(role, resource), asked, step, least, value);
    };
    const auto count = [](int64_t number) { return format("{}", number); };
    less("memory", need.memory_bytes, kMemoryStep, mebibytes);
    less("cpus", need.milli_cpus, kCpuStep, thousandth);
    const int64_t gpus = gpus_of(need);
    if (gpus > 0 && need.gpu_memory_bytes > 0)
      less("gpu_memory", need.gpu_memory_bytes, kMemoryStep, mebibytes);
    amount(field(role, "gpus"), gpus, 1, 1, count);
    if (gpus == 1) less("gpu_share", need.gpu_share_milli, kShareStep, thousandth);
    amount(format("roles.{}.replicas", role), tasks, 1, 1, count);
  }

  // The largest amount below what is asked with which it starts, in steps.
  void amount(const std::string& field, int64_t asked, int64_t step, int64_t least, auto value) {
    const auto change = [&](int64_t steps) { return Change{field, value(steps * step), ""}; };
    int64_t low = std::max<int64_t>(1, least), high = (asked + step - 1) / step;
    if (low >= high || !starts(change(low))) return;
    while (high - low > 1) {
      const int64_t middle = low + (high - low) / 2;
      const Trial trial = try_(changed(job_, change(middle)));
      if (trial == Trial::unknown) return;
      (trial == Trial::starts ? low : high) = middle;
    }
    less_.push_back({static_cast<double>(low * step) / static_cast<double>(asked), change(low)});
  }

  const QueuedJob& job_;
  const Cells& cells_;
  const Try& try_;
  std::map<std::string, int64_t> roles_;  // tasks of each
  bool names_roles_ = false;
  std::vector<Change> found_;
  std::vector<Less> less_;
};

}  // namespace

std::vector<Change> smallest_changes(const QueuedJob& job, const Cells& cells, const Try& attempt) {
  return Search(job, cells, attempt).run();
}

QueuedJob changed(QueuedJob job, const Change& change) {
  if (change.field == "placement.inside") {
    for (TaskNeed& need : job.tasks) {
      if (need.inside != Inside::any)
        need.inside = from_word<Inside>(change.value).value_or(need.inside);
    }
    return job;
  }
  if (change.field == "placement.within") {
    job.within = from_word<Level>(change.value).value_or(job.within);
    return job;
  }
  if (change.field == "placement.spread") job.spread = false;
  std::vector<std::string_view> parts;
  for (const auto part : split(change.field, '.')) parts.push_back(part);
  const bool of_role = parts.size() > 2 && parts[0] == "roles";
  const auto concerned = [&](const TaskNeed& need) { return !of_role || need.role == parts[1]; };
  if (of_role && parts[2] == "replicas") {
    const auto replicas = static_cast<int64_t>(number(change.value));
    int64_t kept = 0;
    std::erase_if(job.tasks,
                  [&](const TaskNeed& need) { return concerned(need) && ++kept > replicas; });
  } else if (parts.size() > 1 && parts[parts.size() - 2] == "resources") {
    for (TaskNeed& need : job.tasks) {
      if (concerned(need)) change_task(need, parts.back(), change.value);
    }
  }
  return job;
}

Change change_of(const Quotas& quotas, const Raise& raise) {
  const Clause& clause = quotas.clause(raise);
  const std::string value =
      clause.what == "memory" ? mebibytes(raise.limit + kMemoryStep - 1) : thousandth(raise.limit);
  return {"limit." + clause.what, value, quotas.at(raise.project).name};
}

}  // namespace hearth::sched
