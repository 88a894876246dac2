// job check, job submit, job new.
#include <filesystem>

#include "base/format.h"
#include "base/units.h"
#include "cli/amounts.h"
#include "cli/code.h"
#include "cli/connect.h"
#include "cli/job_follow.h"
#include "domain/job_template.h"
#include "domain/wire/api.h"
#include "os/archive.h"
#include "os/files.h"

namespace hearth::cli {
namespace {

struct SubmitArgs {
  std::string file, name, cpus, memory;
  std::optional<int64_t> gpus;
  std::vector<std::string> set;
  bool follow = false;
};

// A job file as it will be sent: its text, what --set and relative paths change of it, and the
// directory that its relative paths start at.
struct Prepared {
  std::string yaml, shown_name, base;
  std::vector<std::string> set;
  JobSpec spec;
};

std::string absolute(const std::string& base, const std::string& path) {
  std::string whole = (std::filesystem::path(base) / path).lexically_normal().string();
  while (whole.size() > 1 && whole.ends_with('/')) whole.pop_back();
  return whole;
}

std::string current_directory() {
  std::error_code failure;
  return std::filesystem::current_path(failure).string();
}

// Paths of this machine's user become absolute, as the server does not know where the file lies.
void resolve_paths(Prepared& job) {
  for (size_t i = 0; i < job.spec.datasets.size(); ++i) {
    const std::string& path = job.spec.datasets[i].path;
    if (!path.empty() && !path.starts_with('/'))
      job.set.push_back(format("datasets[{}].path={}", i, json_quote(absolute(job.base, path))));
  }
  const std::string& prefix = job.spec.environment.prefix;
  if (!prefix.empty() && !prefix.starts_with('/'))
    job.set.push_back(format("environment.prefix={}", json_quote(absolute(job.base, prefix))));
}

Result<void> decode(Prepared& job, const Globals& globals, const std::string& context_project) {
  Node root = TRY(parse_yaml(job.yaml));
  if (!globals.project.empty())
    job.set.push_back("project=" + globals.project);
  else if (!context_project.empty() && root.find("project") == nullptr)
    job.set.push_back("project=" + context_project);
  for (const std::string& change : job.set) TRY(apply_set(root, change));
  job.spec = TRY(parse_job_node(root));
  resolve_paths(job);
  return {};
}

Result<Prepared> from_file(const SubmitArgs& args) {
  Prepared job;
  job.shown_name = args.file;
  if (args.file == "-") {
    job.shown_name = "(stdin)";
    job.yaml = TRY(os::read_file("/dev/stdin", kMostDocumentBytes));
    job.base = current_directory();
  } else {
    if (os::exists(args.file + "/")) job.shown_name = args.file + "/job.yaml";
    if (job.shown_name != args.file && !os::exists(job.shown_name))
      return Error::invalid(format("{} is a folder without a job.yaml", args.file),
                            "name the job file in it");
    job.yaml = TRY(os::read_file(job.shown_name, kMostDocumentBytes));
    job.base = os::parent_of(absolute(current_directory(), job.shown_name));
  }
  job.set = args.set;
  if (!args.name.empty()) job.set.push_back("name=" + json_quote(args.name));
  if (args.gpus) job.set.push_back(format("resources.gpus={}", *args.gpus));
  if (!args.cpus.empty()) job.set.push_back("resources.cpus=" + args.cpus);
  if (!args.memory.empty()) job.set.push_back("resources.memory=" + args.memory);
  return job;
}

// A job's name out of a command: letters, digits, '.', '_' and '-'.
std::string name_of_command(const std::string& word) {
  std::string name;
  for (const char c : os::name_of(word)) {
    const char low = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const bool plain = (low >= 'a' && low <= 'z') || (low >= '0' && low <= '9');
    if (plain || (!name.empty() && (low == '.' || low == '_' || low == '-'))) name += low;
  }
  return name.empty() ? "command" : name.substr(0, 63);
}

Prepared from_command(const SubmitArgs& args, const std::vector<std::string>& words) {
  Prepared job;
  job.shown_name = "the command line";
  job.base = current_directory();
  std::string command;
  for (const std::string& word : words) command += (command.empty() ? "" : ", ") + json_quote(word);
  job.yaml =
      format("hearth: 1\nname: {}\ncode: .\ncommand: [{}]\n",
             json_quote(args.name.empty() ? name_of_command(words.front()) : args.name), command);
  if (!args.cpus.empty() || !args.memory.empty() || args.gpus) {
    job.yaml += "resources:\n";
    if (!args.cpus.empty()) job.yaml += "  cpus: " + args.cpus + "\n";
    if (!args.memory.empty()) job.yaml += "  memory: " + args.memory + "\n";
    if (args.gpus) job.yaml += format("  gpus: {}\n", *args.gpus);
  }
  job.set = args.set;
  return job;
}

std::string project_of_context(const Globals& globals) {
  const auto context = client::choose_context({globals.context, globals.url});
  return context.ok() ? context->project : "";
}

// "2 x 4 CPUs, 16 GiB, 2 GPUs of A100 or H100, 0.5 of each"
std::string resources_words(const Role& role) {
  const Resources& asked = role.resources;
  std::string words = format("{} x {}, {}", role.replicas, plural(asked.cpus, "CPU"),
                             format_size(asked.memory.bytes));
  if (asked.gpus == 0) return words;
  words += ", " + plural(static_cast<double>(asked.gpus), "GPU");
  if (!asked.gpu_model.empty()) words += " of " + printable(joined(asked.gpu_model, " or "));
  if (asked.gpu_share < 1) words += format(", {} of each", number_text(asked.gpu_share));
  if (asked.gpu_memory)
    words += format(", with {} of GPU memory", format_size(asked.gpu_memory->bytes));
  return words;
}

Facts explain(const Prepared& job) {
  const JobSpec& spec = job.spec;
  Facts facts;
  facts.add("name", spec.name).add("project", spec.project);
  for (const auto& [name, role] : roles_of(spec)) {
    std::string command = role.command.text;
    for (const std::string& word : role.command.words)
      command += (command.empty() ? "" : " ") + word;
    facts.add(spec.roles.empty() ? "command" : "role " + name, printable(command));
    facts.add(spec.roles.empty() ? "resources" : "", resources_words(role));
  }
  for (const auto& [name, param] : spec.params)
    facts.add("param " + name, printable(any_text(param.value)) + (param.live ? "  (live)" : ""));
  for (const DatasetUse& use : spec.datasets)
    facts.add("data", format("{} at {}", use.path.empty() ? use.name : use.path, place_of(use)));
  if (!spec.code.directory.empty()) {
    const std::string directory = absolute(job.base, spec.code.directory);
    const auto names = os::bundle_names(directory);
    facts.add("code", names.ok() ? format("{} ({} files and folders)", directory, names->size())
                                 : format("{}: {}", directory, names.error().detail));
  }
  if (spec.time_limit) facts.add("time limit", format_duration(spec.time_limit->duration));
  return facts;
}

std::string body_of(const Prepared& job, const SentCode& code) {
  SubmitBody body;
  body.yaml = job.yaml;
  body.set = job.set;
  body.code_digest = code.digest;
  body.git = code.git;
  return to_json(body);
}

// Only a quota that says something.
std::string quota_words(const QuotaCheck& quota) {
  std::string bounds;
  if (quota.guaranteed != Amounts{}) bounds += ", guaranteed " + words_of(quota.guaranteed);
  if (quota.limit != Amounts{}) bounds += ", limit " + words_of(quota.limit);
  if (bounds.empty()) return "";
  return format("\nProject {}: it asks for {}; used {}{}.", quota.project, words_of(quota.asks),
                words_of(quota.used), bounds);
}

std::string verdict(const CheckResult& result) {
  const bool now = result.reason.code == "now" || result.reason.text.empty();
  std::string words =
      now               ? "The file is right; the job would start at once."
      : result.runnable ? "The file is right; the job would wait: " + result.reason.text
                        : "The file is right, but the job could never start: " + result.reason.text;
  if (!result.reason.mend.empty()) words += "\n  " + result.reason.mend;
  // A server that forecast it says so in the reason's words.
  if (!now && result.start && !result.reason.numbers.contains("starts_to_seconds"))
    words += format("\nIt would probably start between {} and {} from now.",
                    format_duration(Duration::seconds(result.start->from_seconds)),
                    format_duration(Duration::seconds(result.start->to_seconds)));
  if (result.quota) words += quota_words(*result.quota);
  return words;
}

Result<int> check(const Globals& globals, const SubmitArgs& args) {
  Prepared job = TRY(from_file(args));
  const auto decoded = decode(job, globals, project_of_context(globals));
  if (!decoded.ok()) return fail(decoded.error(), job.shown_name);
  const auto runnable = check_runnable(job.spec);
  if (!runnable.ok()) return fail(runnable.error(), job.shown_name);
  if (!job.spec.code.directory.empty())
    TRY(os::bundle_names(absolute(job.base, job.spec.code.directory)));
  auto server = Server::open(globals);
  std::string answer;
  Error unreached = Error::of(Code::unreachable, "no server is known here");
  if (server.ok()) {
    auto asked = server->api().send("POST", "/api/v1/jobs/check", body_of(job, {}));
    if (asked.ok())
      answer = std::move(asked).value();
    else if (asked.error().code != Code::unreachable)
      return fail(asked.error(), job.shown_name);
    else
      unreached = asked.error();
  }
  const auto exit_code = [](const CheckResult& result) {
    return result.runnable ? kExitOk : info(Code::invalid).exit_code;
  };
  if (globals.json) {
    print_json(answer.empty() ? format("{{\"spec\":{}}}", to_json(job.spec)) : answer);
    return answer.empty() ? kExitOk : exit_code(TRY(from_json<CheckResult>(answer)));
  }
  if (!globals.quiet) explain(job).print();
  if (answer.empty()) {
    std::fprintf(stderr, "The file is right. Quota and start were not checked: %s.\n",
                 unreached.detail.c_str());
    return kExitOk;
  }
  const auto result = TRY(from_json<CheckResult>(answer));
  std::fprintf(stderr, "%s\n", verdict(result).c_str());
  return exit_code(result);
}

Result<int> submit(const Globals& globals, const SubmitArgs& args,
                   const std::vector<std::string>& tail) {
  if (args.file.empty() == tail.empty())
    return fail_usage("give a job file, or a command behind --", "see `hearth job submit --help`");
  Server server = TRY(Server::open(globals));
  Prepared job = tail.empty() ? TRY(from_file(args)) : from_command(args, tail);
  const auto decoded = decode(job, globals, server.api().context().project);
  if (!decoded.ok()) return fail(decoded.error(), job.shown_name);
  const auto runnable = check_runnable(job.spec);
  if (!runnable.ok()) return fail(runnable.error(), job.shown_name);
  SentCode code;
  // A job file names the folder; behind -- it is the one that the command was said in.
  const bool said = !tail.empty() && !globals.quiet;
  if (!job.spec.code.directory.empty())
    code = TRY(send_code(server, absolute(job.base, job.spec.code.directory),
                         said ? TellPacked::always : TellPacked::when_much));
  const auto made = server.api().send_as<Job>("POST", "/api/v1/jobs", body_of(job, code));
  if (!made.ok()) return fail(made.error(), job.shown_name);
  if (globals.json)
    print_json(format("{{\"id\":{},\"name\":{},\"state\":\"{}\"}}", json_quote(made->id),
                      json_quote(made->name), word(made->state)));
  else if (globals.quiet)
    put(made->id + "\n");
  else if (args.follow)
    std::fprintf(stderr, "%s submitted (%s)\n", made->name.c_str(), made->id.c_str());
  else
    put(screen().out_is_terminal ? format("{} {}  {}\n", made->name, word(made->state), made->id)
                                 : format("{}\t{}\t{}\n", made->name, word(made->state), made->id));
  std::fflush(stdout);
  if (!args.follow) return kExitOk;
  LogView view;
  view.bar = true;
  const Job ended = TRY(follow_job(globals, *made, view));
  say_end(ended);
  return exit_of(ended);
}

struct NewArgs {
  std::string name = "train", out, directory;
  bool list = false;
};

Result<const TemplateFolder*> find_template(const std::string& name) {
  std::vector<std::string> names;
  for (const TemplateFolder& known : job_templates()) {
    if (known.about.name == name) return &known;
    names.push_back(known.about.name);
  }
  const std::string near = nearest(name, names);
  return Error::not_found(format("there is no template '{}'", name),
                          near.empty() ? "`hearth job new --list` shows those there are"
                                       : format("there is '{}'", near));
}

int list_templates(const Globals& globals) {
  Table table({"TEMPLATE", "FOR"});
  std::string json;
  for (const TemplateFolder& known : job_templates()) {
    table.row({known.about.name, known.about.doc});
    json += (json.empty() ? "[" : ",") + to_json(known.about);
  }
  if (globals.json)
    print_json(json + "]");
  else
    table.print("");
  return kExitOk;
}

// The job file and the code beside it, in a folder that has none of them yet.
Result<void> write_template(const TemplateFolder& folder, const std::string& directory) {
  const auto place = [&](const TemplateFile& file) {
    return format("{}/{}", directory, file.name);
  };
  for (const TemplateFile& file : folder.files)
    if (os::exists(place(file)))
      return Error::of(Code::exists, format("{} is there already", place(file)),
                       "give another directory");
  TRY(os::make_directories(directory, 0755));
  for (const TemplateFile& file : folder.files) {
    TRY(os::make_directories(os::parent_of(place(file)), 0755));
    os::File made = TRY(os::File::create_new(place(file), 0644));
    TRY(made.write(file.bytes));
  }
  return {};
}

Result<int> new_job(const Globals& globals, const NewArgs& args) {
  if (args.list) return list_templates(globals);
  if (!args.out.empty() && !args.directory.empty())
    return Error::invalid("--out writes one file, DIR takes all of them", "give one of the two");
  const TemplateFolder* folder = TRY(find_template(args.name));
  std::string written = args.out;
  if (!args.directory.empty()) {
    TRY(write_template(*folder, args.directory));
    written = (std::filesystem::path(args.directory) / "job.yaml").string();
  } else if (!args.out.empty()) {
    os::File file = TRY(os::File::create_new(args.out, 0644));
    TRY(file.write(folder->about.job_yaml));
  } else if (globals.json) {
    print_json(to_json(folder->about));
  } else {
    put(folder->about.job_yaml);
  }
  if (written.empty()) return kExitOk;
  // The file alone, or a template that has no code of its own.
  const bool lacks_code = !folder->is_whole || (!args.out.empty() && folder->files.size() > 1);
  std::fprintf(stderr, "Wrote %s. %shearth job submit %s --follow\n", written.c_str(),
               lacks_code ? "Put the code that its command runs beside it, then: " : "Then: ",
               written.c_str());
  return kExitOk;
}

}  // namespace

void add_job_submit_commands(Tree& tree, Group& job) {
  const Globals& globals = tree.globals();
  auto checked = std::make_shared<SubmitArgs>();
  job.command("check", "Checks a job file here, and asks a server where one answers")
      .needs(checked->file, "FILE", "job file; - for stdin")
      .option(checked->set, "--set", "PATH=VALUE", "changes it: params.lr=0.1")
      .does([checked, &globals] { return check(globals, *checked); });

  auto sent = std::make_shared<SubmitArgs>();
  job.command("submit", "Submits a job file, or the command behind --")
      .may(sent->file, "FILE", "job file; - for stdin")
      .option(sent->set, "--set", "PATH=VALUE", "changes it: params.lr=0.1; may be repeated")
      .option(sent->name, "--name", "N", "name of the job")
      .option(sent->gpus, "--gpus", "N", "GPUs")
      .option(sent->cpus, "--cpus", "N", "CPUs")
      .option(sent->memory, "--memory", "M", "memory: 4GiB")
      .flag(sent->follow, "--follow", "shows its lines until it ends; Ctrl-C lets go of it")
      .does([sent, &tree] { return submit(tree.globals(), *sent, tree.tail()); });

  auto fresh = std::make_shared<NewArgs>();
  job.command("new", "A job to begin with: prints its file, or writes it and its code into DIR")
      .may(fresh->directory, "DIR", "writes all files there, unless one of them is there")
      .option(fresh->name, "--template", "T", "which; default: train")
      .option(fresh->out, "--out", "FILE", "writes the job file alone, unless it is there")
      .flag(fresh->list, "--list", "shows the templates")
      .does([fresh, &globals] { return new_job(globals, *fresh); });
}

}  // namespace hearth::cli
