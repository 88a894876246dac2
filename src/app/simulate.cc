// `hearth simulate`: recorded work through the scheduler, in no time.
#include "sched/simulate.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>

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
  if (error != std::errc() || end != text.data() + text.size() ||
      !(value >= least && value <= most))
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
    return Error::invalid("there are no jobs to replay", "name their file: --jobs FILE");
  if (!args.nodes.empty() && !args.cluster.empty())
    return Error::invalid("--nodes and --cluster are two clusters", "leave one of them out");
  if (args.nodes.empty() && args.cluster.empty())
    return Error::invalid("there is no cluster", "say --nodes FILE or --cluster NODESxGPUS");
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
  if (!args.load.empty()) sched::scale_to_load(trace, TRY(number("--load", args.load, 0.01, 100)));
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

Result<sched::Weights> weights_of(const std::string& score) {
  if (score.empty() || score == "blend") return sched::Weights{};
  if (score == "fragmentation") return sched::Weights::fragmentation_only();
  return Error::invalid(format("--score {}: there are blend and fragmentation", score));
}

Result<int> fill(const cli::SimulateArgs& args, const Trace& trace, bool json) {
  sched::FillOptions options;
  options.fill = TRY(number("--fill", args.fill, 0.1, 100));
  options.at = {0.95, 1.0, options.fill};
  options.weights = TRY(weights_of(args.score));
  const auto seeds = TRY(seeds_of(args.seeds));
  std::vector<std::vector<double>> allocated(options.at.size()), fragmented(options.at.size());
  int64_t decisions = 0;
  double seconds = 0;
  uint64_t digest = 0;
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
    digest = digest * 31 + one.digest;
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
        "\"digest\":\"%016llx\",\"seeds\":[%s]}\n",
        at_json(options.at, filled).c_str(), at_json(options.at, lost).c_str(), rate,
        static_cast<unsigned long long>(digest), list.c_str());
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
  if (args.predict && !args.levels.empty())
    return Error::invalid("--predict orders jobs by what is predicted, not by --level",
                          "give one of them");
  if (args.run_to_end || args.format == "gang") return policy;
  if (args.levels.empty()) policy.service_levels = {kServiceHours * 3600};
  for (const std::string& text : args.levels)
    policy.service_levels.push_back(TRY(number("--level", text, 0, 1e9)) * 3600);
  std::sort(policy.service_levels.begin(), policy.service_levels.end());
  policy.by_outlook = args.predict;
  return policy;
}

std::string spread_json(const sched::Spread& spread) {
  return format("{{\"mean\":{:.1f},\"p50\":{:.1f},\"p99\":{:.1f}}}", spread.mean, spread.p50,
                spread.p99);
}

// If all GPUs were used all the time: what was asked for by the jobs that ran, over what there is;
// and no less than the longest of them.
double ideal_seconds(const Trace& trace, const sched::Simulated& done) {
  double gpu_seconds = 0, gpus = 0, longest = 0;
  for (const NodeInfo& node : trace.nodes) gpus += static_cast<double>(node.gpus.size());
  for (size_t i = 0; i < trace.jobs.size(); ++i) {
    const sched::TraceJob& one = trace.jobs[i];
    if (done.jobs[i].finished_at.micros == 0) continue;
    double milli = 0;
    for (const sched::TaskNeed& need : one.job.tasks) milli += static_cast<double>(need.milli_gpus);
    gpu_seconds += milli / 1000 * one.runs.seconds();
    longest = std::max(longest, one.runs.seconds());
  }
  return std::max(longest, gpus == 0 ? 0 : gpu_seconds / gpus);
}

// {"1": {...}, "8": {...}}: how long jobs waited for their first start, by a class of theirs; those
// that never started are left out.
template <typename F>
std::string waits_by(const Trace& trace, const sched::Simulated& done, F class_of) {
  std::map<std::string, std::vector<double>> waits;
  for (size_t i = 0; i < done.jobs.size(); ++i) {
    const sched::JobOutcome& job = done.jobs[i];
    if (job.finished_at.micros == 0) continue;
    waits[class_of(trace.jobs[i], job)].push_back((job.started_at - job.queued_at).seconds());
  }
  std::string out;
  for (const auto& [name, values] : waits) {
    const sched::Spread spread = sched::spread_of(values);
    out += format("{}\"{}\":{{\"jobs\":{},\"mean\":{:.4f},\"p50\":{:.4f},\"p99\":{:.4f}}}",
                  out.empty() ? "" : ",", name, values.size(), spread.mean, spread.p50, spread.p99);
  }
  return "{" + out + "}";
}

std::string waits_json(const Trace& trace, const sched::Simulated& done) {
  const auto priority = [](const sched::TraceJob& one, const sched::JobOutcome&) {
    return format("{}", one.job.priority);
  };
  const auto gpus = [](const sched::TraceJob&, const sched::JobOutcome& job) {
    const bool shares = job.milli_gpus != job.gpus * 1000;
    return shares ? std::string("share") : format("{}", job.gpus);
  };
  return format(",\"waits_by_priority\":{},\"waits_by_gpus\":{}", waits_by(trace, done, priority),
                waits_by(trace, done, gpus));
}

double inside_percent(const sched::LinkUse& links) {
  return 100.0 * static_cast<double>(links.inside) / static_cast<double>(links.jobs);
}

std::string forecast_json(const sched::Forecasts& told) {
  return format(
      ",\"forecast\":{{\"within_percent\":{:.1f},\"median_width_seconds\":{:.0f},"
      "\"median_wait_seconds\":{:.0f},\"jobs\":{},\"any_time\":{{\"within_percent\":{:.1f},"
      "\"median_width_seconds\":{:.0f}}}}}",
      100 * told.within, told.median_width_seconds, told.median_wait_seconds, told.jobs,
      100 * told.any_time_within, told.any_time_median_width_seconds);
}

// What only some ask for.
std::string optional_json(const cli::SimulateArgs& args, const Trace& trace,
                          const sched::Simulated& done) {
  std::string out = waits_json(trace, done);
  if (args.check_waits)
    out += format(",\"needless_wait_seconds\":{:.3f}", done.needless_wait_seconds);
  if (args.fragments) out += format(",\"frag_percent\":{:.3f}", 100 * done.fragmented);
  if (done.links.jobs > 0)
    out += format(
        ",\"one_switch_percent\":{:.2f},\"one_switch_missed\":{},\"clean_switches_broken\":{}",
        inside_percent(done.links), done.links.missed, done.links.broke_clean);
  if (args.forecast) out += forecast_json(sched::forecasts_of(done));
  return out;
}

std::string forecast_words(const sched::Forecasts& told) {
  if (told.jobs == 0) return "no job was told a start: none waited for an end that can be known\n";
  const auto words = [](double seconds) { return format_duration(Duration::seconds(seconds)); };
  return format(
      "{:.1f} % of {} starts fell into the time told as the wait began (meant for 80 %); half of "
      "these spans were under {}, half of the waits under {}\n"
      "told at any time of the wait: {:.1f} %, half of the spans under {}\n",
      100 * told.within, told.jobs, words(told.median_width_seconds),
      words(told.median_wait_seconds), 100 * told.any_time_within,
      words(told.any_time_median_width_seconds));
}

// What a replay comes to.
struct Summary {
  sched::Spread jct, waits;
  size_t never = 0;
  double gpus = 0, makespan = 0, ideal = 0;
  double used = 0, used_coming = 0;  // part of the GPUs; until the last job came
};

Summary summary_of(const Trace& trace, const sched::Simulated& done) {
  Summary sum;
  std::vector<double> completion, wait;
  for (const sched::JobOutcome& job : done.jobs) {
    if (job.finished_at.micros == 0) {
      ++sum.never;
      continue;
    }
    completion.push_back((job.finished_at - job.queued_at).seconds());
    wait.push_back((job.started_at - job.queued_at).seconds());
  }
  sum.jct = sched::spread_of(completion);
  sum.waits = sched::spread_of(wait);
  sum.makespan = (done.last - done.first).seconds();
  sum.ideal = ideal_seconds(trace, done);
  for (const NodeInfo& node : trace.nodes) sum.gpus += static_cast<double>(node.gpus.size());
  const auto part = [&](double gpu_seconds, double seconds) {
    return seconds > 0 && sum.gpus > 0 ? gpu_seconds / (seconds * sum.gpus) : 0;
  };
  sum.used = part(done.gpu_seconds, sum.makespan);
  const auto [first, last] = sched::coming(trace);
  sum.used_coming = part(done.gpu_seconds_while_coming, (last - first).seconds());
  return sum;
}

void print_json(const cli::SimulateArgs& args, const Trace& trace, const sched::Simulated& done,
                const Summary& sum) {
  std::printf(
      "{\"jct_seconds\":%s,\"wait_seconds\":%s,\"preemptions\":%lld,"
      "\"makespan_seconds\":%.3f,\"ideal_seconds\":%.1f,\"gpus_used\":%.4f,"
      "\"gpus_used_while_coming\":%.4f,\"jobs\":%zu,"
      "\"never_started\":%zu,\"plans\":%lld,\"plan_seconds\":%.6f,"
      "\"slowest_plan_seconds\":%.6f,\"p99_plan_seconds\":%.6f%s}\n",
      spread_json(sum.jct).c_str(), spread_json(sum.waits).c_str(),
      static_cast<long long>(done.evictions), sum.makespan, sum.ideal, sum.used, sum.used_coming,
      done.jobs.size(), sum.never, static_cast<long long>(done.plans), done.plan_seconds,
      done.slowest_plan_seconds, done.p99_plan_seconds, optional_json(args, trace, done).c_str());
}

void print_words(const cli::SimulateArgs& args, const sched::Simulated& done, const Summary& sum) {
  const auto words = [](double seconds) { return format_duration(Duration::seconds(seconds)); };
  const auto row = [&](const char* name, const sched::Spread& spread) {
    std::printf("%-12s %12s %12s %12s\n", name, words(spread.mean).c_str(),
                words(spread.p50).c_str(), words(spread.p99).c_str());
  };
  std::printf("%-12s %12s %12s %12s\n", "", "mean", "half under", "99 % under");
  row("waited", sum.waits);
  row("completed in", sum.jct);
  std::printf(
      "%zu jobs in %s (%s if all GPUs were busy all the time), %.1f %% of the GPUs used, "
      "%lld evictions\n",
      done.jobs.size(), words(sum.makespan).c_str(), words(sum.ideal).c_str(), sum.used * 100,
      static_cast<long long>(done.evictions));
  if (done.evictions > 0)
    std::printf("waited: until the first start; `completed` has the waits after evictions, too\n");
  if (args.check_waits)
    std::printf("in all %s of waits while quota and a place were free\n",
                words(done.needless_wait_seconds).c_str());
  if (args.fragments)
    std::printf("%.1f %% of the free GPUs were no use to typical jobs, on average\n",
                100 * done.fragmented);
  if (args.forecast) std::printf("%s", forecast_words(sched::forecasts_of(done)).c_str());
  if (done.links.jobs > 0)
    std::printf(
        "%.1f %% of the jobs that fit one switch lay in one; %lld did not though one was free\n",
        inside_percent(done.links), static_cast<long long>(done.links.missed));
  if (sum.never > 0)
    std::printf(
        "%zu of them never started: they fit neither this cluster nor, if they have one, "
        "their project's limit\n",
        sum.never);
}

Result<int> replay(const cli::SimulateArgs& args, const Trace& trace, bool json) {
  sched::SimulateOptions options;
  options.pools = {TRY(policy_of(args, trace))};
  options.predict = args.predict || args.forecast;
  options.forecast = args.forecast;
  options.tell = args.tell.value_or(0);
  if (!args.projects.empty()) {
    const std::string text = TRY(file_of("--projects", args.projects));
    options.projects = TRY(sched::read_projects(args.projects, text));
  }
  options.check_waits = args.check_waits;
  options.fragments = args.fragments;
  if (!args.eviction_cost.empty()) options.eviction_cost = TRY(parse_duration(args.eviction_cost));
  if (!args.start_cost.empty()) options.start_cost = TRY(parse_duration(args.start_cost));
  cli::Progress progress("Replaying", static_cast<int64_t>(trace.jobs.size()),
                         cli::Progress::Unit::things);
  options.progress = [&](double part) {
    progress.set(static_cast<int64_t>(part * static_cast<double>(trace.jobs.size())));
  };
  const sched::Simulated done = TRY(sched::simulate(trace, options));
  const Summary sum = summary_of(trace, done);
  if (!args.svg.empty())
    TRY(os::write_file_atomic(args.svg,
                              draw(done, sum.gpus,
                                   format("{} of {} on {}", plural(done.jobs.size(), "job"),
                                          std::filesystem::path(args.jobs).filename().string(),
                                          plural(sum.gpus, "GPU")))));
  if (json) {
    print_json(args, trace, done, sum);
  } else {
    print_words(args, done, sum);
  }
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
  if (!args.fill.empty() && (!args.svg.empty() || args.forecast || args.check_waits ||
                             args.fragments || !args.load.empty()))
    return Error::invalid(
        "--svg, --forecast, --check-waits, --fragments and --load do not go with --fill",
        "take one of them out: nothing waits in a fill");
  if (args.tell && (*args.tell < 0 || *args.tell > 100))
    return Error::invalid(format("--tell {}: no part of 100 jobs", *args.tell),
                          "give a number from 0 to 100");
  if (args.tell && !args.forecast)
    return Error::invalid("--tell goes with --forecast", "add --forecast, or take it out");
  if (args.fill.empty() && !args.score.empty())
    return Error::invalid("--score goes with --fill", "add --fill, or take it out");
  const Trace trace = TRY(load(args));
  if (trace.nodes.empty()) return Error::invalid(format("{}: lists no node", args.nodes));
  if (!args.fill.empty()) return fill(args, trace, json);
  return replay(args, trace, json);
}

}  // namespace hearth::app
