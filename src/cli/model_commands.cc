// model list, show, get, alias; lineage.
#include <algorithm>

#include "base/format.h"
#include "base/units.h"
#include "cli/connect.h"
#include "cli/fetch.h"
#include "domain/model.h"
#include "domain/wire/api.h"
#include "os/files.h"

namespace hearth::cli {
namespace {

using client::path_part;

// "name@3", "name@prod", "name".
struct Named {
  std::string name, version;
};
Named parse_named(const std::string& text) {
  const size_t at = text.find('@');
  if (at == std::string::npos) return {text, ""};
  return {text.substr(0, at), text.substr(at + 1)};
}

Result<std::vector<ModelVersion>> versions_of(Server& server, const std::string& name) {
  std::vector<ModelVersion> versions;
  for (const Node& item :
       TRY(list_items(server, "/api/v1/models/" + path_part(name) + "/versions",
                      server.in_project(), ListArgs{"", "", int64_t{kMostRows}})))
    versions.push_back(TRY(from_node<ModelVersion>(item)));
  std::sort(versions.begin(), versions.end(),
            [](const ModelVersion& a, const ModelVersion& b) { return a.number > b.number; });
  return versions;
}

// The named version, or the newest.
Result<ModelVersion> version_of(Server& server, const Named& named) {
  if (!named.version.empty())
    return server.api().get_as<ModelVersion>(
        "/api/v1/models/" + path_part(named.name) + "/versions/" + path_part(named.version),
        server.in_project());
  auto versions = TRY(versions_of(server, named.name));
  if (versions.empty()) return Error::not_found(format("model {} has no version", named.name));
  return std::move(versions.front());
}

std::string aliases_of(const Model& model, int64_t number) {
  std::string text;
  for (const auto& [alias, version] : model.aliases)
    if (version == std::to_string(number)) text += (text.empty() ? "" : " ") + alias;
  return text;
}

Result<int> list(const Globals& globals, const ListArgs& args) {
  Server server = TRY(Server::open(globals));
  return show_list<Model>(
      globals, TRY(list_items(server, "/api/v1/models", server.in_project(), args)), &Model::name,
      Table({"NAME", "VERSIONS", "ALIASES", "CREATED", "PROJECT", "DESCRIPTION"}),
      [](const Model& model) -> std::vector<std::string> {
        std::string aliases;
        for (const auto& [alias, version] : model.aliases)
          aliases += format("{}{}={}", aliases.empty() ? "" : " ", alias, version);
        return {model.name,    std::to_string(model.versions), aliases, ago(model.created_at),
                model.project, printable(model.description)};
      },
      "There is no model. A job file makes one: outputs: {models: [{path: out/model.pt}]}");
}

Facts version_facts(const ModelVersion& version) {
  Facts facts;
  facts.add("model", version.model)
      .add("version", std::to_string(version.number))
      .add("stage", version.stage)
      .add("about", printable(version.description))
      .add("file", version.file_name)
      .add("size", format_size(version.size_bytes))
      .add("digest", version.digest)
      .add("run", version.run_id)
      .add("job", version.job_id)
      .add("made by", version.created_by)
      .add("created", ago(version.created_at))
      .add("source", printable(version.source))
      .add("logged model", version.logged_model_id);
  for (const auto& [name, value] : version.tags) facts.add("tag " + name, printable(value));
  return facts;
}

// With a version that one; else the model, its versions, and under "latest" the newest in JSON.
Result<int> show(const Globals& globals, const std::string& text) {
  Server server = TRY(Server::open(globals));
  const Named named = parse_named(text);
  if (!named.version.empty()) {
    const auto version = TRY(version_of(server, named));
    if (globals.json)
      print_json(to_json(version));
    else
      version_facts(version).print();
    return kExitOk;
  }
  const auto model = TRY(
      server.api().get_as<Model>("/api/v1/models/" + path_part(named.name), server.in_project()));
  const auto versions = TRY(versions_of(server, named.name));
  if (globals.json) {
    std::string json = to_json(model);
    if (!versions.empty()) {
      json.pop_back();
      json += ",\"latest\":" + to_json(versions.front()) + "}";
    }
    print_json(json);
    return kExitOk;
  }
  Facts()
      .add("name", model.name)
      .add("project", model.project)
      .add("about", model.description)
      .print();
  Table table({"VERSION", "ALIASES", "SIZE", "CREATED", "RUN", "DIGEST"});
  for (const ModelVersion& version : versions)
    table.row({std::to_string(version.number), aliases_of(model, version.number),
               format_size(version.size_bytes), ago(version.created_at), version.run_id,
               version.digest});
  table.print("It has no version.");
  return kExitOk;
}

struct GetArgs {
  std::string model, out;
  bool force = false;
};

Result<int> get(const Globals& globals, const GetArgs& args) {
  Server server = TRY(Server::open(globals));
  const auto version = TRY(version_of(server, parse_named(args.model)));
  if (version.digest.empty())
    return Error::not_found(
        format("{} version {} has no files here{}", version.model, version.number,
               version.source.empty() ? "" : format("; they lie at {}", version.source)));
  const std::string plain = os::name_of(version.file_name);
  const std::string name = plain.empty() || plain == "." || plain == ".." ? version.model : plain;
  std::string into = args.out.empty() ? name : args.out;
  const Present present = args.force ? Present::written_over : Present::kept;
  std::optional<int64_t> bytes;
  if (version.directory) {
    bytes = TRY(fetch_tree(server, TRY(fetch_manifest(server, version.digest)), into, present));
  } else {
    const auto status = os::status(into);
    const bool folder = into.ends_with('/') || (status.ok() && S_ISDIR(status->st_mode));
    if (folder) into += (into.ends_with('/') ? "" : "/") + name;
    TRY(os::make_directories(os::parent_of(into)));
    Download what;
    what.path = "/api/v1/objects/" + version.digest;
    what.file = into;
    what.digest = version.digest;
    what.label = format("{} version {}", version.model, version.number);
    what.size_bytes = version.size_bytes;
    bytes = TRY(fetch_file(server, what, present));
  }
  if (globals.json)
    print_json(format("{{\"path\":{},\"digest\":\"{}\",\"number\":{}}}", json_quote(into),
                      version.digest, version.number));
  else if (!globals.quiet)
    std::fprintf(stderr, "%s: %s version %lld, %s\n", into.c_str(), version.model.c_str(),
                 static_cast<long long>(version.number), fetched_words(bytes).c_str());
  return kExitOk;
}

struct AliasArgs {
  std::string model, alias, version;
  bool remove = false;
};

Result<int> set_alias(const Globals& globals, const AliasArgs& args) {
  if (args.remove != args.version.empty())
    return Error::invalid("give a version for the alias, or --delete");
  Server server = TRY(Server::open(globals));
  AliasBody body;
  if (!args.remove) body.number = TRY(version_of(server, {args.model, args.version})).number;
  const std::string answer = TRY(server.api().send(
      "PUT", "/api/v1/models/" + path_part(args.model) + "/aliases/" + path_part(args.alias),
      to_json(body), server.in_project()));
  if (globals.json) {
    print_json(answer);
  } else if (!globals.quiet) {
    const std::string words =
        args.remove ? format("{} has no alias {} any more.", args.model, args.alias)
                    : format("{}@{} is version {}.", args.model, args.alias, body.number);
    std::fprintf(stderr, "%s\n", words.c_str());
  }
  return kExitOk;
}

}  // namespace

void add_model_commands(Tree& tree) {
  const Globals& globals = tree.globals();
  Group group = tree.group("model", "Named models with numbered versions");
  auto list_args = std::make_shared<ListArgs>();
  Command list_command = group.command("list", "Lists models");
  add_list_options(list_command, *list_args, "name ~ net");
  list_command.does([list_args, &globals] { return list(globals, *list_args); });
  auto shown = std::make_shared<std::string>();
  group.command("show", "Shows a model and its versions, or one version")
      .needs(*shown, "MODEL", "NAME, NAME@3 or NAME@ALIAS")
      .does([shown, &globals] { return show(globals, *shown); });
  auto got = std::make_shared<GetArgs>();
  group.command("get", "Fetches a version's files and checks their digests")
      .needs(got->model, "MODEL", "NAME (the newest), NAME@3 or NAME@ALIAS")
      .option(got->out, "--out", "PATH", "default: its own name, here")
      .flag(got->force, "--force", "writes over other files that are there")
      .does([got, &globals] { return get(globals, *got); });
  auto alias = std::make_shared<AliasArgs>();
  group.command("alias", "Points an alias at a version")
      .needs(alias->model, "MODEL", "name")
      .needs(alias->alias, "ALIAS", "prod, best ...")
      .may(alias->version, "VERSION", "number or another alias")
      .flag(alias->remove, "--delete", "takes the alias away")
      .does([alias, &globals] { return set_alias(globals, *alias); });
}

}  // namespace hearth::cli
