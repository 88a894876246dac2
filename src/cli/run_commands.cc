// run list, show, compare, set, tag, delete, restore, export, files, get.
#include <cmath>
#include <set>

#include "base/format.h"
#include "base/units.h"
#include "cli/connect.h"
#include "cli/export_events.h"
#include "cli/fetch.h"
#include "domain/wire/api.h"
#include "os/files.h"

namespace hearth::cli {
namespace {

using client::path_part;

std::string status_word(RunStatus status) {
  switch (status) {
    case RunStatus::finished:
      return paint(word(status), Colour::green, screen());
    case RunStatus::failed:
      return paint(word(status), Colour::red, screen());
    case RunStatus::killed:
      return paint(word(status), Colour::yellow, screen());
    case RunStatus::running:
      return paint(word(status), Colour::blue, screen());
    case RunStatus::scheduled:
      break;
  }
  return std::string(word(status));
}

std::string took(const Run& run) {
  if (run.started_at.micros == 0) return "";
  const Time end = run.finished_at.micros != 0 ? run.finished_at : system_clock().now();
  return format_duration(end - run.started_at);
}

// The few metrics that a list has room for.
std::string short_metrics(const Run& run) {
  constexpr size_t kShown = 3;
  std::string text;
  size_t shown = 0;
  for (const auto& [name, latest] : run.metrics) {
    if (name.starts_with("system/") || shown == kShown) continue;
    text += format("{}{}={}", text.empty() ? "" : " ", printable(name), number_text(latest.value));
    ++shown;
  }
  return text;
}

struct RunListArgs {
  ListArgs list;
  bool deleted = false;
};

Result<int> list(const Globals& globals, const RunListArgs& args) {
  Server server = TRY(Server::open(globals));
  client::Query query = server.in_project();
  query.emplace_back("deleted", args.deleted ? "true" : "");
  return show_list<Run>(
      globals, TRY(list_items(server, "/api/v1/runs", std::move(query), args.list)), &Run::id,
      Table({"NAME", "STATUS", "EXPERIMENT", "STARTED", "TOOK", "ID", "METRICS"}),
      [](const Run& run) -> std::vector<std::string> {
        return {run.name, status_word(run.status), run.experiment, ago(run.started_at), took(run),
                run.id,   short_metrics(run)};
      },
      args.deleted ? "There is no deleted run." : "There is no run.");
}

void print_run(const Run& run) {
  Facts facts;
  facts.add("name", run.name)
      .add("id", run.id)
      .add("status", status_word(run.status))
      .add("experiment", run.experiment)
      .add("project", run.project)
      .add("owner", run.owner)
      .add("job", run.job_id)
      .add("started", ago(run.started_at))
      .add("took", took(run))
      .add("deleted", run.deleted_at.micros == 0 ? "" : ago(run.deleted_at));
  for (const auto& [name, value] : run.params) facts.add("param " + name, printable(value));
  for (const UsedDataset& used : run.datasets)
    facts.add("data",
              format("{} {}", used.path.empty() ? used.name + "@" + used.version : used.path,
                     used.digest));
  for (const std::string& model : run.models) facts.add("model", model);
  if (!run.git.commit.empty())
    facts.add("git", format("{} {}{}", run.git.commit.substr(0, 12), run.git.branch,
                            run.git.dirty ? ", with uncommitted changes" : ""));
  for (const auto& [name, value] : run.environment) facts.add(name, printable(value));
  for (const auto& [name, value] : run.tags) facts.add("tag " + name, printable(value));
  facts.print();
  if (run.metrics.empty()) return;
  put("\n");
  Table table({"METRIC", "VALUE", "STEP", "LOGGED"});
  for (const auto& [name, latest] : run.metrics)
    table.row({printable(name), number_text(latest.value), std::to_string(latest.step),
               ago(latest.time)});
  table.print("");
}

// Who changed a live parameter, when, and from which step on the script used it.
Result<void> print_live(Server& server, const Run& run) {
  if (run.job_id.empty()) return {};
  Table table({"LIVE", "FROM", "TO", "BY", "ASKED", "TAKEN", "STEP"});
  bool any = false;
  const auto changes = list_items(server, "/api/v1/runs/" + run.id + "/live", {});
  // A server of an earlier version has none.
  if (!changes.ok() && changes.error().code == Code::not_found) return {};
  if (!changes.ok()) return changes.error();
  for (const Node& node : *changes) {
    const auto item = TRY(from_node<LiveHistoryItem>(node));
    const bool taken = item.applied_at.micros != 0;
    const std::string after =
        taken ? format_duration(item.applied_at - item.asked_at) + " later" : "not yet";
    table.row({printable(item.name), printable(item.before.text), printable(item.value.text),
               item.asked_by, ago(item.asked_at), after,
               item.step ? std::to_string(*item.step) : "-"});
    any = true;
  }
  if (any) put("\n");
  if (any) table.print("");
  return {};
}

Result<int> show(const Globals& globals, const std::string& name) {
  Server server = TRY(Server::open(globals));
  const Run run = TRY(server.run(name));
  if (globals.json)
    print_json(to_json(run));
  else if (globals.quiet)
    put(run.id + "\n");
  else
    print_run(run);
  if (!globals.json && !globals.quiet) TRY(print_live(server, run));
  return kExitOk;
}

struct NamedRuns {
  std::vector<std::string> runs;
};

Result<int> remove(const Globals& globals, const NamedRuns& args) {
  Server server = TRY(Server::open(globals));
  for (const std::string& name : args.runs) {
    const Run run = TRY(server.run(name));
    TRY(server.api().send("DELETE", "/api/v1/runs/" + run.id, "", {}));
    const std::string gone = globals.json ? TRY(server.api().get("/api/v1/runs/" + run.id)) : "";
    say(globals, gone,
        format("deleted {} ({}); `hearth run restore {}` brings it back", run.name, run.id,
               run.id));
  }
  return kExitOk;
}

Result<int> restore(const Globals& globals, const NamedRuns& args) {
  Server server = TRY(Server::open(globals));
  for (const std::string& name : args.runs) {
    const Run run = TRY(server.run(name));
    const std::string answer =
        TRY(server.api().send("POST", "/api/v1/runs/" + run.id + "/restore", "{}", {}));
    say(globals, answer, format("{} ({}) is back", run.name, run.id));
  }
  return kExitOk;
}

struct CompareArgs {
  std::vector<std::string> runs;
  bool all = false;
};

Result<int> compare(const Globals& globals, const CompareArgs& args) {
  if (args.runs.size() < 2)
    return Error::invalid(
        format("to compare takes two runs at least, and {} is the only one named",
               args.runs.front()),
        format("name another: hearth run compare {} RUN; `hearth run list` shows them, "
               "`hearth run show {}` this one alone",
               args.runs.front(), args.runs.front()));
  Server server = TRY(Server::open(globals));
  std::vector<Run> runs;
  for (const std::string& name : args.runs) runs.push_back(TRY(server.run(name)));
  if (globals.json) {
    std::string json = "[";
    for (const Run& run : runs) json += (json.size() > 1 ? "," : "") + to_json(run);
    print_json(json + "]");
    return kExitOk;
  }
  std::vector<std::string> head{""};
  for (const Run& run : runs) head.push_back(run.name);
  Table table(head);
  if (!screen().out_is_terminal) table.row(head);
  const auto rows = [&](std::string_view kind, const auto& values_of) {
    std::set<std::string> names;
    for (const Run& run : runs)
      for (const auto& [name, value] : values_of(run)) names.insert(name);
    for (const std::string& name : names) {
      std::vector<std::string> cells{format("{} {}", kind, printable(name))};
      std::set<std::string> different;
      for (const Run& run : runs) {
        const auto& values = values_of(run);
        const auto found = values.find(name);
        cells.push_back(found == values.end() ? "-" : printable(found->second));
        different.insert(cells.back());
      }
      if (args.all || different.size() > 1) table.row(std::move(cells));
    }
  };
  rows("param", [](const Run& run) { return run.params; });
  rows("metric", [](const Run& run) {
    std::map<std::string, std::string> values;
    for (const auto& [name, latest] : run.metrics) values[name] = number_text(latest.value);
    return values;
  });
  rows("environment", [](const Run& run) { return run.environment; });
  table.print("These runs do not differ; --all shows what they have.");
  return kExitOk;
}

struct SetArgs {
  std::string run;
  std::vector<std::string> values;
};

// "0.1" and "true" as JSON; what is no JSON is a text.
std::string json_of_value(const std::string& text) {
  const auto node = parse_json(text);
  return node.ok() ? text : json_quote(text);
}

Result<int> set(const Globals& globals, const SetArgs& args) {
  LiveBody body;
  for (const std::string& change : args.values) {
    const size_t equals = change.find('=');
    if (equals == std::string::npos || equals == 0)
      return Error::invalid(format("'{}' is no change", change), "write it as lr=0.01");
    body.values[change.substr(0, equals)].text = json_of_value(change.substr(equals + 1));
  }
  Server server = TRY(Server::open(globals));
  const Run run = TRY(server.run(args.run));
  const std::string answer =
      TRY(server.api().send("PATCH", "/api/v1/runs/" + run.id + "/live", to_json(body)));
  if (globals.json)
    print_json(answer);
  else if (!globals.quiet)
    std::fputs("Sent; the script takes it at its next look.\n", stderr);
  return kExitOk;
}

Result<int> tag(const Globals& globals, const SetArgs& args) {
  TagsBody body;
  for (const std::string& change : args.values) {
    const size_t equals = change.find('=');
    if (equals == std::string::npos || equals == 0)
      return Error::invalid(format("'{}' is no tag", change),
                            "write it as stage=best; stage= takes it away");
    body.tags[change.substr(0, equals)] = change.substr(equals + 1);
  }
  Server server = TRY(Server::open(globals));
  const Run run = TRY(server.run(args.run));
  const std::string answer =
      TRY(server.api().send("PATCH", "/api/v1/runs/" + run.id + "/tags", to_json(body)));
  if (globals.json) {
    print_json(answer);
    return kExitOk;
  }
  Facts facts;
  for (const auto& [name, value] : TRY(from_json<Run>(answer)).tags)
    facts.add(printable(name), printable(value));
  if (!globals.quiet) facts.print();
  return kExitOk;
}

struct ExportArgs {
  std::string run, format = "csv", metric, out, tensorboard;
};

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

// A metric that is asked for by name has to be there.
Result<void> check_metric(const Run& run, const std::string& wanted) {
  constexpr size_t kShownNames = 10;
  if (wanted.empty() || run.metrics.contains(wanted)) return {};
  std::vector<std::string> names;
  for (const auto& [name, latest] : run.metrics) names.push_back(printable(name));
  std::string mend = names.empty() ? "the run has logged none" : "";
  if (const std::string near = nearest(wanted, names); !near.empty())
    mend = format("did you mean '{}'?", near);
  else if (names.size() > kShownNames)
    mend = format("`hearth run show {}` lists all {}; the first are {}", run.id, names.size(),
                  join(std::vector(names.begin(), names.begin() + kShownNames), ", "));
  else if (!names.empty())
    mend = format("there are {}", join(names, ", "));
  return Error::not_found(format("run {} has no metric '{}'", run.name, wanted), std::move(mend));
}

Result<int> export_run(const Globals& globals, const ExportArgs& args) {
  const std::string wanted = globals.json ? "json" : args.format;
  if (wanted != "csv" && wanted != "json")
    return Error::invalid(format("--format {}: there are csv and json", wanted));
  Server server = TRY(Server::open(globals));
  const Run run = TRY(server.run(args.run));
  TRY(check_metric(run, args.metric));
  if (!args.tensorboard.empty()) {
    const std::string file = TRY(export_events(server, run, args.metric, args.tensorboard));
    if (globals.json)
      print_json(format("{{\"file\":{}}}", json_quote(file)));
    else
      put(file + "\n");
    return kExitOk;
  }
  std::string out = wanted == "csv" ? "metric,step,time,value\n"
                                    : format("{{\"run\":{},\"metrics\":[", to_json(run));
  bool first = true;
  for (const auto& [name, latest] : run.metrics) {
    if (!args.metric.empty() && name != args.metric) continue;
    const auto history = TRY(server.api().get_as<MetricHistory>(
        "/api/v1/runs/" + run.id + "/metrics", {{"key", name}, {"points", "0"}}));
    if (wanted == "json") {
      out += (first ? "" : ",") + to_json(history);
      first = false;
      continue;
    }
    for (const MetricHistoryPoint& point : history.points)
      out += format("{},{},{},{}\n", csv_cell(name), point.step, to_rfc3339(point.time),
                    std::isnan(point.value) ? "NaN" : format("{}", point.value));
  }
  if (wanted == "json") out += "]}\n";
  if (args.out.empty())
    put(out);
  else
    TRY(os::write_file_atomic(args.out, out));
  return kExitOk;
}

Result<int> files(const Globals& globals, const std::string& name) {
  Server server = TRY(Server::open(globals));
  const Run run = TRY(server.run(name));
  return show_list<Artifact>(
      globals, TRY(list_items(server, "/api/v1/runs/" + run.id + "/artifacts", {})),
      &Artifact::path, Table({"PATH", "KIND", "SIZE", "SAVED", "DIGEST"}),
      [](const Artifact& file) -> std::vector<std::string> {
        return {printable(file.path), file.kind,
                screen().out_is_terminal ? format_size(file.size_bytes)
                                         : std::to_string(file.size_bytes),
                ago(file.created_at), file.digest};
      },
      "The run has no files.");
}

struct GetArgs {
  std::string run, path, out;
  bool force = false;
};

Result<int> get(const Globals& globals, const GetArgs& args) {
  Server server = TRY(Server::open(globals));
  const Run run = TRY(server.run(args.run));
  std::string path;
  for (const std::string_view part : split(args.path, '/'))
    path += (path.empty() ? "" : "/") + path_part(part);
  const std::string from = "/api/v1/runs/" + run.id + "/artifacts/" + path;
  if (args.out == "-") {
    TRY(server.api().stream(from, {}, "", [](std::string_view piece) {
      return std::fwrite(piece.data(), 1, piece.size(), stdout) == piece.size();
    }));
    return kExitOk;
  }
  Download what;
  what.path = from;
  what.file = args.out.empty() ? os::name_of(args.path) : args.out;
  what.label = args.path;
  for (const Node& item : TRY(list_items(server, "/api/v1/runs/" + run.id + "/artifacts", {}))) {
    const auto artifact = TRY(from_node<Artifact>(item));
    if (artifact.path != args.path) continue;
    what.digest = artifact.digest;
    what.size_bytes = artifact.size_bytes;
  }
  const auto bytes =
      TRY(fetch_file(server, what, args.force ? Present::written_over : Present::kept));
  if (!globals.quiet)
    std::fprintf(stderr, "%s: %s\n", what.file.c_str(), fetched_words(bytes).c_str());
  return kExitOk;
}

}  // namespace

void add_run_commands(Tree& tree) {
  const Globals& globals = tree.globals();
  Group group = tree.group("run", "Records of what ran: parameters, metrics, files");
  auto list_args = std::make_shared<RunListArgs>();
  Command list_command = group.command("list", "Lists runs, the newest first");
  add_list_options(list_command, list_args->list, "status = finished and metrics.loss < 0.1");
  list_command.flag(list_args->deleted, "--deleted", "those that were deleted");
  list_command.does([list_args, &globals] { return list(globals, *list_args); });

  auto shown = std::make_shared<std::string>();
  group.command("show", "Shows one run")
      .needs(*shown, "RUN", "id or name, or its job's")
      .does([shown, &globals] { return show(globals, *shown); });

  auto compared = std::make_shared<CompareArgs>();
  group.command("compare", "Shows where runs differ")
      .needs(compared->runs, "RUN", "two or more")
      .flag(compared->all, "--all", "what is the same too")
      .does([compared, &globals] { return compare(globals, *compared); });

  auto changed = std::make_shared<SetArgs>();
  group.command("set", "Changes live parameters while it runs")
      .needs(changed->run, "RUN", "id or name, or its job's")
      .needs(changed->values, "NAME=VALUE", "lr=0.01")
      .does([changed, &globals] { return set(globals, *changed); });

  auto tagged = std::make_shared<SetArgs>();
  group.command("tag", "Sets tags, and takes those without a value away; prints them all")
      .needs(tagged->run, "RUN", "id or name, or its job's")
      .needs(tagged->values, "NAME=VALUE", "stage=best")
      .does([tagged, &globals] { return tag(globals, *tagged); });

  auto deleted = std::make_shared<NamedRuns>();
  group.command("delete", "Deletes runs; they can be restored for a time")
      .needs(deleted->runs, "RUN", "id or name")
      .does([deleted, &globals] { return remove(globals, *deleted); });

  auto restored = std::make_shared<NamedRuns>();
  group.command("restore", "Brings deleted runs back")
      .needs(restored->runs, "RUN", "id, as `run list --deleted` shows it")
      .does([restored, &globals] { return restore(globals, *restored); });

  auto exported = std::make_shared<ExportArgs>();
  group.command("export", "Gives every point of its metrics")
      .needs(exported->run, "RUN", "id or name, or its job's")
      .option(exported->format, "--format", "csv|json", "default: csv")
      .option(exported->metric, "--metric", "NAME", "this one alone")
      .option(exported->out, "--out", "FILE", "default: stdout")
      .option(exported->tensorboard, "--tensorboard", "DIR",
              "as an event file in DIR/NAME, with its images and texts")
      .does([exported, &globals] { return export_run(globals, *exported); });

  auto listed = std::make_shared<std::string>();
  group.command("files", "Lists its files")
      .needs(*listed, "RUN", "id or name, or its job's")
      .does([listed, &globals] { return files(globals, *listed); });

  auto got = std::make_shared<GetArgs>();
  group.command("get", "Fetches one of its files")
      .needs(got->run, "RUN", "id or name, or its job's")
      .needs(got->path, "PATH", "as `run files` shows it")
      .option(got->out, "--out", "FILE", "default: its name, here; - for stdout")
      .flag(got->force, "--force", "writes over another file that is there")
      .does([got, &globals] { return get(globals, *got); });
}

}  // namespace hearth::cli
