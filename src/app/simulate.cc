// `hearth simulate`: recorded work through the scheduler, in no time.
#include "sched/simulate.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "app/commands.h"
#include "app/simulate_svg.h"
#include "base/format.h"
#include "base/units.h"
#include "cli/progress.h"
#include "domain/topology.h"
#include "os/files.h"

namespace hearth::app {
namespace {

constexpr int64_t kLargestTrace = int64_t{4} << 30;  // bytes
constexpr uint64_t kMostSeeds = 1000;
constexpr double kServiceHours = 8;  // GPU-hours after which a job makes room, unless said

using sched::Trace;

Result<double> number(std::string_view option, std::string_view text, double least, double most) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most)
    return Error::invalid(
        format("{} is a number from {:g} to {:g}, not '{}'", option, least, most, text));
  return value;
}

// "42-51" or "42".
Result<std::vector<uint64_t>> seeds_of(const std::string& text) {
  const size_t dash = text.find('-');
  const double first = TRY(number("--seeds", text.substr(0, dash), 0, 1e9));
  const double last =
      dash == std::string::npos ? first : TRY(number("--seeds", text.substr(dash + 1), first, 1e9));
  if (last - first >= static_cast<double>(kMostSeeds))
    return Error::invalid(format("--seeds {}: {} at most", text, kMostSeeds));
  std::vector<uint64_t> seeds;
  for (auto seed = static_cast<uint64_t>(first); seed <= static_cast<uint64_t>(last); ++seed)
    seeds.push_back(seed);
  return seeds;
}

Result<std::string> file_of(std::string_view option, const std::string& path) {
  auto text = os::read_file(path, kLargestTrace);
  if (text.ok() || !text.error().mend.empty()) return text;
  Error error = text.error();
  error.mend = format("name a file that is there and may be read by {}", option);
  return error;
}

Result<Trace> load(const cli::SimulateArgs& args) {
  Trace trace;
  if (args.jobs.empty())
    return Error::invalid("says no jobs to replay", "name their file: --jobs FILE");
  if (args.nodes.empty() == args.cluster.empty())
    return Error::invalid("needs one cluster", "say --nodes FILE or --cluster NODESxGPUS");
  if (!args.nodes.empty()) {
    const std::string text = TRY(file_of("--nodes", args.nodes));
    const bool topology = args.nodes.ends_with(".yaml") || args.nodes.ends_with(".yml");
    trace.nodes = topology ? nodes_of(TRY(parse_topology(text)))
                           : TRY(sched::read_openb_nodes(args.nodes, text));
  } else {
    trace.nodes = TRY(sched::cluster_of(args.cluster));
  }
  const std::string text = TRY(file_of("--jobs", args.jobs));
  const auto limit = static_cast<size_t>(std::max<int64_t>(0, args.limit.value_or(0)));
  if (args.format == "openb") {
    trace.jobs = TRY(sched::read_openb_pods(args.jobs, text));
  } else if (args.format == "philly") {
    trace.jobs = TRY(sched::read_philly(args.jobs, text, args.vc, limit));
  } else if (args.format == "gang") {
    const size_t gpus = trace.nodes.front().gpus.size();
    trace.jobs = TRY(sched::read_gangs(args.jobs, text, static_cast<int64_t>(gpus)));
  } else if (args.format == "sacct") {
    trace.jobs = TRY(sched::read_sacct(args.jobs, text));
  } else if (args.format == "hearth") {
    trace.jobs = TRY(sched::read_hearth_jobs(args.jobs, text));
  } else {
    return Error::invalid(
        format("--format {}: there are hearth, openb, philly, gang and sacct", args.format));
  }
  if (limit > 0 && trace.jobs.size() > limit) trace.jobs.resize(limit);
  return trace;
}

struct MeanSd {
  double mean = 0, sd = 0;  // of the sample
};
MeanSd mean_sd(const std::vector<double>& values) {
  MeanSd found;
  for (const double value : values) found.mean += value / static_cast<double>(values.size());
  for (const double value : values) found.sd += (value - found.mean) * (value - found.mean);
  if (values.size() > 1) found.sd = std::sqrt(found.sd / static_cast<double>(values.size() - 1));
  return found;
}

// {"95": {"mean": 95.1, "sd": 0.1}, ...}; in percent.
std::string at_json(const std::vector<double>& at, const std::vector<MeanSd>& values) {
  std::string out;
  for (size_t i = 0; i < values.size(); ++i)
    out += format("{}\"{:g}\":{{\"mean\":{:.3f},\"sd\":{:.3f}}}", out.empty() ? "" : ",",
                  at[i] * 100, values[i].mean, values[i].sd);
  return "{" + out + "}";
}

Result<int> fill(const cli::SimulateArgs& args, const Trace& trace, bool json) {
  sched::FillOptions options;
  options.fill = TRY(number("--fill", args.fill, 0.1, 100));
  options.at = {0.95, 1.0, options.fill};
  const auto seeds = TRY(seeds_of(args.seeds));
  std::vector<std::vector<double>> allocated(options.at.size()), fragmented(options.at.size());
  int64_t decisions = 0;
  double seconds = 0;
  std::string list;
  cli::Progress progress("Filling", static_cast<int64_t>(seeds.size()),
                         cli::Progress::Unit::things);
  for (const uint64_t seed : seeds) {
    options.seed = seed;
    const sched::Filled one = TRY(sched::fill(trace, options));
    for (size_t i = 0; i < one.allocated.size(); ++i)
      allocated[i].push_back(100 * one.allocated[i]);
    for (size_t i = 0; i < one.fragmented.size(); ++i)
      fragmented[i].push_back(100 * one.fragmented[i]);
    decisions += one.decisions;
    seconds += one.seconds;
    list += format("{}{}", list.empty() ? "" : ",", seed);
    progress.add(1);
  }
  std::vector<MeanSd> filled, lost;
  for (const auto& values : allocated) filled.push_back(mean_sd(values));
  for (const auto& values : fragmented) {
    if (!values.empty()) lost.push_back(mean_sd(values));
  }
  const double rate = static_cast<double>(decisions) / std::max(1e-9, seconds);
  if (json) {
    std::printf(
        "{\"allocated_percent\":%s,\"frag_percent\":%s,\"decisions_per_second\":%.0f,"
        "\"seeds\":[%s]}\n",
        at_json(options.at, filled).c_str(), at_json(options.at, lost).c_str(), rate, list.c_str());
    return 0;
  }
  std::printf("GPUs asked for   allocated      sd\n");
  for (size_t i = 0; i < filled.size(); ++i)
    std::printf("%12.0f %%   %7.2f %%   %5.2f\n", options.at[i] * 100, filled[i].mean,
                filled[i].sd);
  std::printf("%.0f decisions a second, %zu orders\n", rate, seeds.size());
  return 0;
}

Result<sched::PoolPolicy> policy_of(const cli::SimulateArgs& args, const Trace& trace) {
  sched::PoolPolicy policy{.pool = trace.nodes.front().pool};
  policy.saves_when_stopped = true;  // its cost is eviction_cost
  if (args.run_to_end || args.format == "gang") return policy;
  if (args.levels.empty()) policy.service_levels = {kServiceHours * 3600};
  for (const std::string& text : args.levels)
    policy.service_levels.push_back(TRY(number("--level", text, 0, 1e9)) * 3600);
  std::sort(policy.service_levels.begin(), policy.service_levels.end());
  return policy;
}

std::string spread_json(const sched::Spread& spread) {
  return format("{{\"mean\":{:.1f},\"p50\":{:.1f},\"p99\":{:.1f}}}", spread.mean, spread.p50,
                spread.p99);
}

// If all GPUs were used all the time: what was asked for, over what there is; and no less than the
// longest job.
double ideal_seconds(const Trace& trace) {
  double gpu_seconds = 0, gpus = 0, longest = 0;
  for (const NodeInfo& node : trace.nodes) gpus += static_cast<double>(node.gpus.size());
  for (const sched::TraceJob& one : trace.jobs) {
    double milli = 0;
    for (const sched::TaskNeed& need : one.job.tasks) milli += static_cast<double>(need.milli_gpus);
    gpu_seconds += milli / 1000 * one.runs.seconds();
    longest = std::max(longest, one.runs.seconds());
  }
  return std::max(longest, gpus == 0 ? 0 : gpu_seconds / gpus);
}

// Of the jobs of one task that some switch could hold whole, the part that lies in one; nothing
// when the nodes have no switches or no such job ran.
std::optional<double> inside_one_switch(const Trace& trace, const sched::Simulated& done) {
  std::map<std::string, std::map<std::string, std::string>> link_of;  // by node, by GPU
  std::map<std::string, int64_t> sizes;
  for (const NodeInfo& node : trace.nodes) {
    for (const Gpu& gpu : node.gpus) {
      if (gpu.link.empty()) return std::nullopt;
      link_of[node.name][gpu.uuid] = gpu.link;
      ++sizes[node.name + "/" + gpu.link];
    }
  }
  int64_t largest = 0, jobs = 0, inside = 0;
  for (const auto& [link, size] : sizes) largest = std::max(largest, size);
  for (const sched::JobOutcome& job : done.jobs) {
    if (job.places.size() != 1 || job.gpus < 2 || job.gpus > largest) continue;
    std::set<std::string> links;
    for (const std::string& gpu : job.places[0].gpus)
      links.insert(link_of[job.places[0].node][gpu]);
    ++jobs;
    inside += links.size() == 1;
  }
  if (jobs == 0) return std::nullopt;
  return 100.0 * static_cast<double>(inside) / static_cast<double>(jobs);
}

std::string forecast_json(const sched::Forecasts& told) {
  return format(
      ",\"forecast\":{{\"within_percent\":{:.1f},\"median_width_seconds\":{:.0f},"
      "\"median_wait_seconds\":{:.0f},\"jobs\":{}}}",
      100 * told.within, told.median_width_seconds, told.median_wait_seconds, told.jobs);
}

// What only some ask for.
std::string optional_json(const cli::SimulateArgs& args, const sched::Simulated& done,
                          std::optional<double> inside) {
  std::string out;
  if (args.check_waits)
    out += format(",\"needless_wait_seconds\":{:.3f}", done.needless_wait_seconds);
  if (inside) out += format(",\"one_switch_percent\":{:.2f}", *inside);
  if (args.forecast) out += forecast_json(sched::forecasts_of(done));
  return out;
}

std::string forecast_words(const sched::Forecasts& told) {
  const auto words = [](double seconds) { return format_duration(Duration::seconds(seconds)); };
  return format(
      "{:.1f} % of {} starts fell into the time told before (meant for 80 %); half of these spans "
      "were under {}, half of the waits under {}\n",
      100 * told.within, told.jobs, words(told.median_width_seconds),
      words(told.median_wait_seconds));
}

Result<int> replay(const cli::SimulateArgs& args, const Trace& trace, bool json) {
  sched::SimulateOptions options;
  options.pools = {TRY(policy_of(args, trace))};
  options.predict = args.predict || args.forecast;
  options.forecast = args.forecast;
  if (!args.projects.empty()) {
    const std::string text = TRY(file_of("--projects", args.projects));
    options.projects = TRY(sched::read_projects(args.projects, text));
  }
  options.check_waits = args.check_waits;
  if (!args.eviction_cost.empty()) options.eviction_cost = TRY(parse_duration(args.eviction_cost));
  if (!args.start_cost.empty()) options.start_cost = TRY(parse_duration(args.start_cost));
  cli::Progress progress("Replaying", static_cast<int64_t>(trace.jobs.size()),
                         cli::Progress::Unit::things);
  options.progress = [&](double part) {
    progress.set(static_cast<int64_t>(part * static_cast<double>(trace.jobs.size())));
  };
  const sched::Simulated done = TRY(sched::simulate(trace, options));
  std::vector<double> completion, wait;
  size_t never = 0;
  for (const sched::JobOutcome& job : done.jobs) {
    if (job.finished_at.micros == 0) {
      ++never;
      continue;
    }
    completion.push_back((job.finished_at - job.queued_at).seconds());
    wait.push_back((job.started_at - job.queued_at).seconds());
  }
  const sched::Spread jct = sched::spread_of(completion), waits = sched::spread_of(wait);
  const double makespan = (done.last - done.first).seconds(), ideal = ideal_seconds(trace);
  double gpus = 0;
  for (const NodeInfo& node : trace.nodes) gpus += static_cast<double>(node.gpus.size());
  const auto inside = inside_one_switch(trace, done);
  if (!args.svg.empty())
    TRY(os::write_file_atomic(
        args.svg, draw(done, gpus,
                       format("{} jobs of {} on {:g} GPUs", done.jobs.size(),
                              std::filesystem::path(args.jobs).filename().string(), gpus))));
  const double used = makespan > 0 && gpus > 0 ? done.gpu_seconds / (makespan * gpus) : 0;
  if (json) {
    std::printf(
        "{\"jct_seconds\":%s,\"wait_seconds\":%s,\"preemptions\":%lld,"
        "\"makespan_seconds\":%.1f,\"ideal_seconds\":%.1f,\"gpus_used\":%.4f,\"jobs\":%zu,"
        "\"never_started\":%zu,\"plans\":%lld,\"plan_seconds\":%.3f,"
        "\"slowest_plan_seconds\":%.4f,\"p99_plan_seconds\":%.6f%s}\n",
        spread_json(jct).c_str(), spread_json(waits).c_str(),
        static_cast<long long>(done.evictions), makespan, ideal, used, done.jobs.size(), never,
        static_cast<long long>(done.plans), done.plan_seconds, done.slowest_plan_seconds,
        done.p99_plan_seconds, optional_json(args, done, inside).c_str());
    return 0;
  }
  const auto words = [](double seconds) { return format_duration(Duration::seconds(seconds)); };
  std::printf("%-12s %12s %12s %12s\n", "", "mean", "half under", "99 % under");
  std::printf("%-12s %12s %12s %12s\n", "waited", words(waits.mean).c_str(),
              words(waits.p50).c_str(), words(waits.p99).c_str());
  std::printf("%-12s %12s %12s %12s\n", "completed in", words(jct.mean).c_str(),
              words(jct.p50).c_str(), words(jct.p99).c_str());
  std::printf(
      "%zu jobs in %s (%s if all GPUs were busy all the time), %.1f %% of the GPUs used, "
      "%lld evictions\n",
      done.jobs.size(), words(makespan).c_str(), words(ideal).c_str(), used * 100,
      static_cast<long long>(done.evictions));
  if (args.forecast) std::printf("%s", forecast_words(sched::forecasts_of(done)).c_str());
  if (inside) std::printf("%.1f %% of the jobs that fit one switch lay in one\n", *inside);
  if (never > 0) std::printf("%zu jobs never started: they do not fit this cluster\n", never);
  return 0;
}

}  // namespace

Result<int> simulate(const cli::SimulateArgs& args, bool json) {
  const bool of_what_if = !args.days.empty() || !args.add.empty() || !args.without.empty() ||
                          !args.guarantees.empty() || !args.limits.empty();
  if (of_what_if)
    return Error::invalid(
        "--days, --add, --without, --guarantee-of and --limit-of go with --what-if",
        "add --what-if, or take them out");
  if (!args.fill.empty() && (!args.svg.empty() || args.forecast || args.check_waits))
    return Error::invalid("--svg, --forecast and --check-waits do not go with --fill",
                          "take one of them out: nothing waits in a fill");
  const Trace trace = TRY(load(args));
  if (trace.nodes.empty()) return Error::invalid(format("{}: lists no node", args.nodes));
  if (!args.fill.empty()) return fill(args, trace, json);
  return replay(args, trace, json);
}

}  // namespace hearth::app
