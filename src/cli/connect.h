// A server to speak to, and the calls that many commands make.
#pragma once

#include <string>
#include <vector>

#include "cli/output.h"
#include "cli/tree.h"
#include "client/client.h"
#include "domain/job.h"
#include "domain/run.h"

namespace hearth::cli {

constexpr size_t kRowsOnTerminal = 100;  // of a list, unless --limit says more; elsewhere all
constexpr size_t kMostRows = 100'000;

class Server {
 public:
  // By --context, --url, HEARTH_URL or the context in use.
  static Result<Server> open(const Globals& globals);
  client::Client& api() { return client_; }
  // What --project or the context says; "": nothing.
  const std::string& project() const { return project_; }
  std::string project_or_default() const { return project_.empty() ? "default" : project_; }
  client::Query in_project(client::Query query = {}) const;
  // Lists are for a person: cut at kRowsOnTerminal.
  bool for_person() const { return for_person_; }

  // By id or name.
  Result<Job> job(const std::string& job);
  Result<std::string> job_id(const std::string& job);
  // By its id or name, or those of its job.
  Result<Run> run(const std::string& run);

 private:
  Server(client::ServerContext context, std::string project, bool for_person)
      : client_(std::move(context)), project_(std::move(project)), for_person_(for_person) {}
  client::Client client_;
  std::string project_;
  bool for_person_ = false;
};

// What was changed, for people; the server's document with --json.
int say(const Globals& globals, const std::string& document, const std::string& words);

struct ListArgs {
  std::string filter, order_by;
  std::optional<int64_t> limit;
};
// `example`: a filter.
void add_list_options(Command& command, ListArgs& args, const std::string& example);

// Items of a list, over its pages, up to the limit; says on a terminal when there are more.
Result<std::vector<Node>> list_items(Server& server, const std::string& path, client::Query query,
                                     const ListArgs& args = {});
void print_list_json(const std::vector<Node>& items);

// One list command: JSON, ids, or a row each.
template <typename T>
Result<int> show_list(const Globals& globals, const std::vector<Node>& items,
                      std::string T::* id_member, Table table,
                      const std::function<std::vector<std::string>(const T&)>& row,
                      std::string_view nothing) {
  if (globals.json) {
    print_list_json(items);
    return kExitOk;
  }
  for (const Node& item : items) {
    const T value = TRY(from_node<T>(item));
    if (globals.quiet)
      put(value.*id_member + "\n");
    else
      table.row(row(value));
  }
  if (!globals.quiet) table.print(nothing);
  return kExitOk;
}

// Streams an answer's bytes into `file`: written beside, synced, renamed. With `digest` what came
// is checked against it. Returns how many bytes there were.
struct Download {
  std::string path, file, digest, label;
  client::Query query;
  int64_t size_bytes = 0;  // 0: not known
};
Result<int64_t> download(Server& server, const Download& what);

}  // namespace hearth::cli
