#include "cli/connect.h"

#include "base/bytes.h"
#include "base/format.h"
#include "base/id.h"
#include "cli/progress.h"
#include "os/files.h"

namespace hearth::cli {

using client::path_part;

constexpr int kMostNamed = 10;  // jobs of one name in other projects that are told

Result<Server> Server::open(const Globals& globals) {
  client::ServerContext context =
      TRY(client::choose_context(client::Choice{globals.context, globals.url}));
  std::string project = globals.project.empty() ? context.project : globals.project;
  const bool for_person = screen().out_is_terminal && !globals.json && !globals.quiet;
  return Server(std::move(context), std::move(project), for_person);
}

client::Query Server::in_project(client::Query query) const {
  query.emplace_back("project", project_);
  return query;
}

Result<Job> Server::job(const std::string& job) {
  auto found = client_.get_as<Job>("/api/v1/jobs/" + path_part(job), in_project());
  if (found.ok() || found.error().code != Code::not_found || is_id(job)) return found;
  // `job list` shows those of all projects, a name is looked for in one.
  const client::Query named{{"filter", format("name = {}", json_quote(job))},
                            {"fields", "id,name,project"},
                            {"limit", std::to_string(kMostNamed)}};
  const auto page = client_.get("/api/v1/jobs", named);
  const auto parsed = page.ok() ? parse_json(*page) : Result<Node>(page.error());
  const Node* items = parsed.ok() ? parsed->find("items") : nullptr;
  if (items == nullptr) return found;
  std::vector<std::string> there;
  for (const Node& item : items->items)
    if (const Node* project = item.find("project");
        project != nullptr && project->text != project_or_default())
      there.push_back("--project " + project->text);
  if (there.empty()) return found;
  return Error::not_found(
      format("there is no job '{}' in project {}", job, project_or_default()),
      format("the job of this name is another project's: {}", join(there, " or ")));
}

Result<std::string> Server::job_id(const std::string& job) {
  if (is_id(job)) return job;
  return TRY(this->job(job)).id;
}

Result<Run> Server::run(const std::string& run) {
  auto found = client_.get_as<Run>("/api/v1/runs/" + path_part(run), in_project());
  if (found.ok() || found.error().code != Code::not_found) return found;
  const auto job = this->job(run);
  if (!job.ok() || job->run_id.empty()) return found;
  return client_.get_as<Run>("/api/v1/runs/" + job->run_id);
}

int say(const Globals& globals, const std::string& document, const std::string& words) {
  if (globals.json)
    print_json(document.empty() ? "{}" : document);
  else if (!globals.quiet)
    std::fprintf(stderr, "%s\n", words.c_str());
  return kExitOk;
}

void add_list_options(Command& command, ListArgs& args, const std::string& example) {
  command.option(args.filter, "--filter", "EXPR", example)
      .option(args.order_by, "--order-by", "FIELD", "`created_at desc`")
      .option(args.limit, "--limit", "N", "at most so many");
}

Result<std::vector<Node>> list_items(Server& server, const std::string& path, client::Query query,
                                     const ListArgs& args) {
  const bool person = server.for_person();
  size_t most = person ? kRowsOnTerminal : kMostRows;
  if (args.limit) {
    if (*args.limit < 1) return Error::invalid("--limit has to be 1 or more");
    most = static_cast<size_t>(*args.limit);
  }
  query.emplace_back("filter", args.filter);
  query.emplace_back("order_by", args.order_by);
  query.emplace_back("limit", most < kRowsOnTerminal ? std::to_string(most) : "");
  query.emplace_back("cursor", "");
  std::vector<Node> all;
  for (;;) {
    Node page =
        TRY(parse_json(TRY(server.api().get(path, query)), client::Client::kMostAnswerBytes));
    std::string cursor;
    for (Node::Member& member : page.members) {
      if (member.key == "next_cursor") cursor = member.value.text;
      if (member.key != "items") continue;
      for (Node& item : member.value.items)
        if (all.size() < most) all.push_back(std::move(item));
    }
    if (cursor.empty()) return all;
    if (all.size() >= most) {
      if (person && !args.limit)
        std::fprintf(stderr, "The first %zu; more with --limit N.\n", all.size());
      return all;
    }
    query.back().second = std::move(cursor);
  }
}

void print_list_json(const std::vector<Node>& items) {
  std::string out = "[";
  for (const Node& item : items) out += (out.size() > 1 ? "," : "") + to_json(item);
  print_json(out + "]");
}

Result<int64_t> download(Server& server, const Download& what) {
  const std::string beside = format("{}.hearth-{}", what.file, new_id());
  os::File file = TRY(os::File::create_new(beside, 0644));
  Result<void> written;
  Sha256 hash;
  int64_t bytes = 0;
  Progress progress(what.label, what.size_bytes);
  const auto sink = [&](std::string_view piece) {
    hash.update(piece);
    bytes += static_cast<int64_t>(piece.size());
    progress.set(bytes);
    written = file.write(piece);
    return written.ok();
  };
  auto result = [&]() -> Result<void> {
    const auto streamed = server.api().stream(what.path, what.query, "", sink);
    TRY(written);
    TRY(streamed);
    if (!what.digest.empty() && hash.finish_text() != what.digest)
      return Error::internal(format("what came for {} has another digest", what.label),
                             "get it again; if it stays so, `hearth doctor` looks at the store");
    TRY(file.sync());
    TRY(os::rename_file(beside, what.file));
    return os::fsync_directory(os::parent_of(what.file));
  }();
  if (!result.ok()) {
    ignore(os::remove_file(beside));
    return std::move(result).error();
  }
  return bytes;
}

}  // namespace hearth::cli
