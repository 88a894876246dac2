#include "sched/trace.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "base/format.h"
#include "base/units.h"
#include "sched/cells.h"

namespace hearth::sched {
namespace {

constexpr int64_t kPlenty = 1 << 20;  // CPUs; and MiB of memory: of nodes of which only GPUs count

constexpr double kMostSeconds = 1e11;  // of a duration or a time; 3,000 years
constexpr double kMostMiB = 1e9, kMostBytes = 1e15, kMostMilliCpus = 1e9, kMostGpusOfAll = 1e6;
constexpr int64_t kMostNodes = 100'000;
constexpr size_t kMostWrongTold = 10;          // lines of a file
constexpr double kMostTasks = 100'000;         // of one job
constexpr size_t kMostTasksOfAll = 1'000'000;  // of a trace

// A table with a header line. Fields are not quoted in any of these formats.
class Table {
 public:
  static Result<Table> read(const std::string& file, std::string_view text, char separator) {
    Table table;
    table.file_ = file;
    size_t line = 0;
    while (!text.empty()) {
      const size_t end = text.find('\n');
      std::string_view row = text.substr(0, end);
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      ++line;
      if (row.ends_with('\r')) row.remove_suffix(1);
      if (row.empty()) continue;
      std::vector<std::string_view> fields;
      for (const auto field : split(row, separator)) fields.push_back(field);
      if (table.names_.empty()) {
        table.names_ = std::move(fields);
      } else {
        table.rows_.push_back({line, std::move(fields)});
      }
    }
    if (table.names_.empty()) return Error{Code::invalid, format("{}: is empty", file)};
    return table;
  }

  // Of our own formats: a misspelt column is not as good as none.
  Result<void> only(std::initializer_list<std::string_view> known) const {
    for (const std::string_view name : names_)
      if (std::find(known.begin(), known.end(), name) == known.end())
        return Error{Code::invalid, format("{}:1: unknown column '{}', allowed are {}", file_, name,
                                           join(known, ", "))};
    return {};
  }

  // Lets `take` read one row after the other. Lines that are wrong are told together, an error that
  // is not of one line at once.
  template <typename Take>
  Result<void> each(Take take) const {
    Error told;
    size_t count = 0;
    for (size_t row = 0; row < rows_.size(); ++row) {
      Result<void> taken = whole(row);
      if (taken.ok()) taken = take(row);
      if (taken.ok()) continue;
      if (taken.error().errors.empty()) return taken;
      if (++count == 1)
        told = std::move(taken).error();
      else if (count <= kMostWrongTold)
        told.errors.push_back(std::move(taken.error().errors.front()));
    }
    if (count == 0) return {};
    if (count == 1) {
      told.errors.clear();  // the detail says it
      return told;
    }
    told.detail = format("{}: {} lines are wrong", file_, count);
    if (count > kMostWrongTold) told.detail += format(", of which the first {}", kMostWrongTold);
    return told;
  }

  bool has(std::string_view name) const { return column(name) < names_.size(); }
  std::string_view field(size_t row, std::string_view name) const {
    const size_t at = column(name);
    return at < names_.size() ? rows_[row].fields[at] : std::string_view();
  }
  Result<std::string> text(size_t row, std::string_view name) const {
    if (!has(name)) return missing(name);
    return std::string(field(row, name));
  }
  Result<double> number(size_t row, std::string_view name, double most = kMostSeconds) const {
    if (!has(name)) return missing(name);
    const std::string_view found = field(row, name);
    double value = 0;
    const auto [end, error] = std::from_chars(found.data(), found.data() + found.size(), value);
    if (error != std::errc() || end != found.data() + found.size() || !std::isfinite(value) ||
        value < 0 || value > most)
      return wrong(row, name, format("a number from 0 to {:g}", most));
    return value;
  }
  Result<double> number_or(size_t row, std::string_view name, double other,
                           double most = kMostSeconds) const {
    if (field(row, name).empty()) return other;
    return number(row, name, most);
  }
  Error wrong(size_t row, std::string_view name, std::string_view allowed) const {
    const size_t line = rows_[row].line;
    const std::string_view found = field(row, name);
    Error error = Error::invalid(
        format("{}:{}: {} is '{}', allowed is {}", file_, line, name, found, allowed));
    error.errors.push_back({std::string(name), static_cast<int>(line), format("'{}'", found),
                            std::string(allowed), ""});
    return error;
  }

 private:
  struct Row {
    size_t line;
    std::vector<std::string_view> fields;
  };
  Result<void> whole(size_t row) const {
    const auto& [line, fields] = rows_[row];
    if (fields.size() == names_.size()) return {};
    Error error = Error::invalid(format("{}:{}: has {} fields, the first line names {}", file_,
                                        line, fields.size(), names_.size()));
    error.errors.push_back({"the line", static_cast<int>(line), format("{} fields", fields.size()),
                            format("{}, as the first line names", names_.size()), ""});
    return error;
  }
  size_t column(std::string_view name) const {
    return static_cast<size_t>(std::find(names_.begin(), names_.end(), name) - names_.begin());
  }
  Error missing(std::string_view name) const {
    return Error{Code::invalid, format("{}: the first line names no column {}", file_, name)};
  }

  std::string file_;
  std::vector<std::string_view> names_;
  std::vector<Row> rows_;
};

// A trace that fits in memory.
class TaskCount {
 public:
  explicit TaskCount(const std::string& file) : file_(file) {}
  Result<void> add(size_t tasks) {
    tasks_ += tasks;
    if (tasks_ <= kMostTasksOfAll) return {};
    return Error{Code::too_large,
                 format("{}: has more than {} tasks in all", file_, kMostTasksOfAll)};
  }

 private:
  const std::string& file_;
  size_t tasks_ = 0;
};

Time at(double seconds) {
  return {std::llround(seconds * 1e6)};
}

NodeInfo node_of(std::string name, double cpus, int64_t memory, int64_t gpus,
                 const std::string& model, int64_t gpu_memory) {
  NodeInfo node{.name = std::move(name), .pool = "trace", .cpus = cpus, .memory_bytes = memory};
  for (int64_t i = 0; i < gpus; ++i)
    node.gpus.push_back(
        {.uuid = format("{}", i), .model = model, .index = i, .memory_bytes = gpu_memory});
  return node;
}

// "2017-10-03 18:41:20" or with a T: seconds since 1970, as if it were UTC.
std::optional<double> parse_moment(std::string_view text) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  char between = 0;
  const std::string copy(text);
  if (std::sscanf(copy.c_str(), "%4d-%2d-%2d%c%2d:%2d:%2d", &year, &month, &day, &between, &hour,
                  &minute, &second) != 7)
    return std::nullopt;
  if (month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 60)
    return std::nullopt;
  // Days by the civil calendar (H. Hinnant, chrono-compatible algorithms).
  const auto days = std::chrono::sys_days(std::chrono::year(year) / static_cast<unsigned>(month) /
                                          static_cast<unsigned>(day));
  return static_cast<double>(days.time_since_epoch().count()) * 86400 + hour * 3600 + minute * 60 +
         second;
}

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Slurm's "[DD-]HH:MM:SS".
std::optional<double> parse_elapsed(std::string_view text) {
  std::optional<double> days = 0;
  if (const size_t dash = text.find('-'); dash != std::string_view::npos) {
    days = parse_number(text.substr(0, dash));
    text.remove_prefix(dash + 1);
  }
  double seconds = 0;
  bool first = true;
  for (const auto part : split(text, ':')) {
    const auto value = parse_number(part);
    if (!value || (!first && *value >= 60)) return std::nullopt;
    seconds = seconds * 60 + *value;
    first = false;
  }
  if (!days) return std::nullopt;
  seconds += *days * 86400;
  if (!(seconds >= 0 && seconds <= kMostSeconds)) return std::nullopt;
  return seconds;
}

void sort_by_coming(std::vector<TraceJob>& jobs) {
  std::sort(jobs.begin(), jobs.end(), [](const TraceJob& a, const TraceJob& b) {
    return std::tuple(a.job.queued_at, a.job.id) < std::tuple(b.job.queued_at, b.job.id);
  });
}

TraceJob gpu_job(std::string id, double arrives, double runs, int64_t gpus) {
  TraceJob made;
  made.job.id = made.job.name = std::move(id);
  made.job.project = "trace";
  made.job.queued_at = at(arrives);
  made.runs = Duration::seconds(runs);
  made.job.tasks.push_back({.role = "worker",
                            .milli_cpus = 1000,
                            .memory_bytes = int64_t{1} << 30,
                            .milli_gpus = gpus * 1000});
  return made;
}

// "gres/gpu=4" in "billing=8,cpu=8,gres/gpu=4,gres/gpu:h100=4,mem=32G,node=1"; where all are told
// by their types alone, the sum of these. Nothing: what stands there is no number of GPUs.
std::optional<int64_t> gpus_in_tres(std::string_view tres) {
  std::optional<double> all;
  double typed = 0;
  for (const auto part : split(tres, ',')) {
    const bool plain = part.starts_with("gres/gpu=");
    if (!plain && !part.starts_with("gres/gpu:")) continue;
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const auto gpus = parse_number(part.substr(equals + 1));
    if (!gpus || !(*gpus >= 0 && *gpus <= kMostGpusOfAll)) return std::nullopt;
    if (plain)
      all = *gpus;
    else
      typed += *gpus;
  }
  return static_cast<int64_t>(std::min(all.value_or(typed), kMostGpusOfAll));
}

}  // namespace

Result<std::vector<NodeInfo>> read_openb_nodes(const std::string& file, std::string_view text) {
  const Table table = TRY(Table::read(file, text, ','));
  std::vector<NodeInfo> nodes;
  TRY(table.each([&](size_t row) -> Result<void> {
    const double cpus = TRY(table.number(row, "cpu_milli", kMostMilliCpus)) / 1000;
    const auto memory = static_cast<int64_t>(TRY(table.number(row, "memory_mib", kMostMiB))) << 20;
    const auto gpus =
        static_cast<int64_t>(TRY(table.number(row, "gpu", static_cast<double>(kMostGpus))));
    nodes.push_back(
        node_of(TRY(table.text(row, "sn")), cpus, memory, gpus, TRY(table.text(row, "model")), 0));
    return {};
  }));
  return nodes;
}

Result<std::vector<TraceJob>> read_openb_pods(const std::string& file, std::string_view text) {
  const Table table = TRY(Table::read(file, text, ','));
  std::vector<TraceJob> jobs;
  TRY(table.each([&](size_t row) -> Result<void> {
    TraceJob one;
    one.job.id = one.job.name = TRY(table.text(row, "name"));
    one.job.project = "trace";
    const double comes = TRY(table.number_or(row, "creation_time", 0));
    const double goes = TRY(table.number_or(row, "deletion_time", 0));
    one.job.queued_at = at(comes);
    one.runs = Duration::seconds(std::max(0.0, goes - comes));
    TaskNeed need{.role = "pod"};
    need.milli_cpus = static_cast<int64_t>(TRY(table.number(row, "cpu_milli", kMostMilliCpus)));
    need.memory_bytes = static_cast<int64_t>(TRY(table.number(row, "memory_mib", kMostMiB))) << 20;
    const auto gpus = static_cast<int64_t>(TRY(table.number(row, "num_gpu", kMostGpusOfAll)));
    const auto milli = static_cast<int64_t>(TRY(table.number(row, "gpu_milli", kWholeGpu)));
    need.gpu_share_milli = gpus == 1 ? std::clamp<int64_t>(milli, 1, 1000) : 1000;
    need.milli_gpus = gpus * need.gpu_share_milli;
    for (const auto model : split(table.field(row, "gpu_spec"), '|')) {
      if (!model.empty()) need.gpu_model.emplace_back(model);
    }
    one.job.tasks.push_back(std::move(need));
    jobs.push_back(std::move(one));
    return {};
  }));
  return jobs;
}

Result<std::vector<TraceJob>> read_philly(const std::string& file, std::string_view text,
                                          const std::string& vc, size_t limit) {
  const Table table = TRY(Table::read(file, text, ','));
  std::vector<TraceJob> jobs;
  TRY(table.each([&](size_t row) -> Result<void> {
    const std::string cluster = TRY(table.text(row, "vc"));
    if (!vc.empty() && cluster != vc) return {};
    const auto comes = parse_moment(table.field(row, "submit_time"));
    if (!comes) return table.wrong(row, "submit_time", "YYYY-MM-DD HH:MM:SS");
    jobs.push_back(
        gpu_job(format("{}-{:06}", cluster, row), *comes, TRY(table.number(row, "duration_s")),
                static_cast<int64_t>(TRY(table.number(row, "num_gpus", kMostGpusOfAll)))));
    jobs.back().job.owner = cluster;
    return {};
  }));
  sort_by_coming(jobs);
  if (limit > 0 && jobs.size() > limit) jobs.resize(limit);
  if (jobs.empty())
    return Error{Code::not_found, format("{}: has no job of virtual cluster {}", file, vc)};
  const Time first = jobs.front().job.queued_at;
  for (TraceJob& one : jobs) one.job.queued_at = Time{(one.job.queued_at - first).micros};
  return jobs;
}

Result<std::vector<TraceJob>> read_gangs(const std::string& file, std::string_view text,
                                         int64_t gpus_per_node) {
  const Table table = TRY(Table::read(file, text, ','));
  TaskCount tasks(file);
  std::vector<TraceJob> jobs;
  TRY(table.each([&](size_t row) -> Result<void> {
    const auto count = static_cast<int64_t>(TRY(table.number(row, "count", kMostTasks)));
    const auto replicas = static_cast<int64_t>(TRY(table.number(row, "replicas", kMostTasks)));
    if (replicas < 1) return table.wrong(row, "replicas", "1 or more");
    TRY(tasks.add(static_cast<size_t>(count) * static_cast<size_t>(replicas)));
    const auto runs = parse_duration(table.field(row, "ttl"));
    if (!runs.ok()) return table.wrong(row, "ttl", "a duration such as 2m");
    for (int64_t i = 0; i < count; ++i) {
      TraceJob one = gpu_job(format("gang-{:05}", jobs.size()), 0, runs->seconds(), gpus_per_node);
      const TaskNeed need = one.job.tasks.front();
      for (int64_t rank = 1; rank < replicas; ++rank) {
        one.job.tasks.push_back(need);
        one.job.tasks.back().rank = rank;
      }
      one.job.expected = one.runs;
      jobs.push_back(std::move(one));
    }
    return {};
  }));
  return jobs;
}

Result<std::vector<TraceJob>> read_sacct(const std::string& file, std::string_view text) {
  const Table table = TRY(Table::read(file, text, '|'));
  TaskCount tasks(file);
  std::vector<TraceJob> jobs;
  TRY(table.each([&](size_t row) -> Result<void> {
    const std::string id = TRY(table.text(row, "JobID"));
    if (id.find('.') != std::string::npos) return {};
    const auto comes = parse_moment(table.field(row, "Submit"));
    if (!comes) return table.wrong(row, "Submit", "YYYY-MM-DDTHH:MM:SS");
    const auto runs = parse_elapsed(table.field(row, "Elapsed"));
    if (!runs) return table.wrong(row, "Elapsed", "[DD-]HH:MM:SS");
    if (*runs == 0) return {};  // cancelled before it began
    const auto gpus = gpus_in_tres(table.field(row, "AllocTRES"));
    if (!gpus)
      return table.wrong(row, "AllocTRES", "gres/gpu=N or gres/gpu:TYPE=N among its parts");
    const auto nodes = std::max<int64_t>(
        1, static_cast<int64_t>(TRY(table.number_or(row, "NNodes", 1, kMostTasks))));
    const double cpus = TRY(table.number_or(row, "ReqCPUS", 1, kMostGpusOfAll));
    TraceJob one = gpu_job(id, *comes, *runs, 0);
    one.job.owner = std::string(table.field(row, "User"));
    if (const auto name = table.field(row, "JobName"); !name.empty()) one.job.name = name;
    if (const auto account = table.field(row, "Account"); !account.empty())
      one.job.project = account;
    TaskNeed need = one.job.tasks.front();
    need.milli_cpus = std::llround(cpus * 1000 / static_cast<double>(nodes));
    need.milli_gpus = *gpus * kWholeGpu / nodes;
    TRY(tasks.add(static_cast<size_t>(nodes)));
    one.job.tasks.assign(static_cast<size_t>(nodes), need);
    for (int64_t rank = 0; rank < nodes; ++rank)
      one.job.tasks[static_cast<size_t>(rank)].rank = rank;
    jobs.push_back(std::move(one));
    return {};
  }));
  if (jobs.empty()) return Error{Code::not_found, format("{}: has no job that began", file)};
  sort_by_coming(jobs);
  return jobs;
}

namespace {

Result<void> read_placement(const Table& table, size_t row, QueuedJob& job) {
  const auto within = table.field(row, "within");
  const auto level = from_word<Level>(within.empty() ? "any" : within);
  if (!level) return table.wrong(row, "within", "node, rack, spine or any");
  job.within = *level;
  job.spread = TRY(table.number_or(row, "spread", 0, 1)) > 0;
  job.balanced = TRY(table.number_or(row, "balanced", 0, 1)) > 0;
  return {};
}

}  // namespace

Result<std::vector<TraceJob>> read_hearth_jobs(const std::string& file, std::string_view text) {
  const Table table = TRY(Table::read(file, text, ','));
  TRY(table.only({"submit_seconds", "duration_seconds", "project", "user", "name", "priority",
                  "tasks", "cpus", "memory_bytes", "gpus", "gpu_share", "gpu_model", "pool",
                  "within", "spread", "balanced"}));
  TaskCount count(file);
  std::vector<TraceJob> jobs;
  TRY(table.each([&](size_t row) -> Result<void> {
    TraceJob one = gpu_job(format("job-{:06}", row), TRY(table.number(row, "submit_seconds")),
                           TRY(table.number(row, "duration_seconds")), 0);
    if (const auto name = table.field(row, "name"); !name.empty()) one.job.name = name;
    if (const auto project = table.field(row, "project"); !project.empty())
      one.job.project = project;
    one.job.owner = std::string(table.field(row, "user"));
    one.job.pool = std::string(table.field(row, "pool"));
    TRY(read_placement(table, row, one.job));
    one.job.priority = static_cast<int64_t>(TRY(table.number_or(row, "priority", 50, 100)));
    TaskNeed need{.role = "worker"};
    need.milli_cpus = std::llround(TRY(table.number_or(row, "cpus", 1, kMostGpusOfAll)) * 1000);
    need.memory_bytes =
        static_cast<int64_t>(TRY(table.number_or(row, "memory_bytes", 0, kMostBytes)));
    const double share = TRY(table.number_or(row, "gpu_share", 1));
    if (share <= 0 || share > 1) return table.wrong(row, "gpu_share", "more than 0, at most 1");
    need.gpu_share_milli = std::llround(share * 1000);
    need.milli_gpus =
        std::llround(TRY(table.number_or(row, "gpus", 0, kMostGpusOfAll))) * need.gpu_share_milli;
    for (const auto model : split(table.field(row, "gpu_model"), '|')) {
      if (!model.empty()) need.gpu_model.emplace_back(model);
    }
    const double tasks = TRY(table.number_or(row, "tasks", 1));
    if (tasks < 1 || tasks > kMostTasks) return table.wrong(row, "tasks", "1 to 100000");
    TRY(count.add(static_cast<size_t>(tasks)));
    one.job.tasks.assign(static_cast<size_t>(tasks), need);
    for (size_t i = 0; i < one.job.tasks.size(); ++i)
      one.job.tasks[i].rank = static_cast<int64_t>(i);
    jobs.push_back(std::move(one));
    return {};
  }));
  sort_by_coming(jobs);
  return jobs;
}

Result<std::vector<ProjectQuota>> read_projects(const std::string& file, std::string_view text) {
  const Table table = TRY(Table::read(file, text, ','));
  TRY(table.only({"project", "parent", "weight", "guaranteed_gpus", "limit_gpus", "guaranteed_cpus",
                  "limit_cpus"}));
  std::vector<ProjectQuota> projects;
  TRY(table.each([&](size_t row) -> Result<void> {
    ProjectQuota quota{.name = TRY(table.text(row, "project"))};
    quota.parent = std::string(table.field(row, "parent"));
    quota.weight = TRY(table.number_or(row, "weight", 1, 1e6));
    if (quota.weight <= 0) return table.wrong(row, "weight", "more than 0");
    const auto amount = [&](std::string_view column, std::optional<int64_t>& into) -> Result<void> {
      if (table.field(row, column).empty()) return {};
      into = std::llround(TRY(table.number(row, column, kMostGpusOfAll)) * 1000);
      return {};
    };
    TRY(amount("guaranteed_gpus", quota.guaranteed.milli_gpus));
    TRY(amount("limit_gpus", quota.limit.milli_gpus));
    TRY(amount("guaranteed_cpus", quota.guaranteed.milli_cpus));
    TRY(amount("limit_cpus", quota.limit.milli_cpus));
    if (quota.limit.milli_gpus < quota.guaranteed.milli_gpus && quota.limit.milli_gpus)
      return table.wrong(row, "guaranteed_gpus", "at most limit_gpus");
    if (quota.limit.milli_cpus < quota.guaranteed.milli_cpus && quota.limit.milli_cpus)
      return table.wrong(row, "guaranteed_cpus", "at most limit_cpus");
    projects.push_back(std::move(quota));
    return {};
  }));
  TRY(table.each([&](size_t row) -> Result<void> {
    const auto parent = table.field(row, "parent");
    const bool known = parent.empty() || std::ranges::any_of(projects, [&](const auto& one) {
                         return one.name == parent;
                       });
    if (!known) return table.wrong(row, "parent", "a project of the file, or nothing");
    return {};
  }));
  return projects;
}

namespace {

// What `--cluster` says.
struct ClusterShape {
  int64_t nodes = 0, gpus = 0, switches = 1, racks = 0, cpus = kPlenty, memory = kPlenty << 20;
};

bool read_whole(std::string_view text, int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

bool read_part(std::string_view part, ClusterShape& into) {
  const size_t equals = part.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string_view name = part.substr(0, equals), value = part.substr(equals + 1);
  if (name == "racks") return read_whole(value, into.racks);
  if (name == "cpus") return read_whole(value, into.cpus);
  const auto size = parse_size(value);
  if (name != "memory" || !size.ok()) return false;
  into.memory = *size;
  return true;
}

std::optional<ClusterShape> read_cluster(std::string_view text) {
  ClusterShape shape;
  const auto parts = split(text, ',');
  bool first = true, read = true;
  for (const std::string_view part : parts) {
    if (!std::exchange(first, false)) {
      read = read && read_part(part, shape);
      continue;
    }
    const size_t times = part.find('x');
    if (times == std::string_view::npos) return std::nullopt;
    const std::string_view node = part.substr(times + 1);
    const size_t slash = node.find('/');
    read = read_whole(part.substr(0, times), shape.nodes) &&
           read_whole(node.substr(0, slash), shape.gpus) &&
           (slash == std::string_view::npos || read_whole(node.substr(slash + 1), shape.switches));
  }
  const bool sane = read && shape.nodes >= 1 && shape.nodes <= kMostNodes && shape.gpus >= 0 &&
                    shape.gpus <= static_cast<int64_t>(kMostGpus) && shape.switches >= 1 &&
                    shape.switches <= std::max<int64_t>(1, shape.gpus) && shape.racks >= 0 &&
                    shape.racks <= shape.nodes && shape.cpus >= 1 && shape.cpus <= kPlenty &&
                    shape.memory >= 0 && shape.memory <= kPlenty << 20;
  return sane ? std::optional(shape) : std::nullopt;
}

}  // namespace

Result<std::vector<NodeInfo>> cluster_of(std::string_view text) {
  const auto shape = read_cluster(text);
  if (!shape)
    return Error{
        Code::invalid,
        format("a cluster is NODESxGPUS, such as 3x8, or NODESxGPUS/SWITCHES, such as 3x8/2, with "
               "racks=N, cpus=N and memory=SIZE behind commas "
               "(1 to {} nodes of 0 to {} GPUs each), not '{}'",
               kMostNodes, kMostGpus, text)};
  std::vector<NodeInfo> made;
  for (int64_t i = 0; i < shape->nodes; ++i) {
    NodeInfo one = node_of(format("n{:05}", i), static_cast<double>(shape->cpus), shape->memory,
                           shape->gpus, "GPU", 0);
    if (shape->racks > 0) one.rack = format("r{:03}", i * shape->racks / shape->nodes);
    for (Gpu& gpu : one.gpus) {
      if (shape->switches > 1) gpu.link = format("{}", gpu.index * shape->switches / shape->gpus);
    }
    made.push_back(std::move(one));
  }
  return made;
}

std::pair<Time, Time> coming(const Trace& trace) {
  if (trace.jobs.empty()) return {};
  const auto earlier = [](const TraceJob& a, const TraceJob& b) {
    return a.job.queued_at < b.job.queued_at;
  };
  const auto [first, last] = std::minmax_element(trace.jobs.begin(), trace.jobs.end(), earlier);
  return {first->job.queued_at, last->job.queued_at};
}

void scale_to_load(Trace& trace, double load) {
  if (trace.jobs.empty()) return;
  double asked = 0, gpus = 0;
  for (const NodeInfo& node : trace.nodes) gpus += static_cast<double>(node.gpus.size());
  for (const TraceJob& one : trace.jobs) {
    for (const TaskNeed& need : one.job.tasks)
      asked += static_cast<double>(need.milli_gpus) / kWholeGpu * one.runs.seconds();
  }
  const auto [first, last] = coming(trace);
  const double span = (last - first).seconds();
  if (span <= 0 || asked <= 0 || gpus <= 0) return;
  const double slower = asked / (gpus * span) / load;
  for (TraceJob& one : trace.jobs)
    one.job.queued_at = first + Duration::seconds((one.job.queued_at - first).seconds() * slower);
}

}  // namespace hearth::sched
