// `hearth token add NAME --data DIR`: for the owner of a data directory, without any token.
#include <cstdio>

#include <unistd.h>

#include "app/commands.h"
#include "app/local_api.h"
#include "app/paths.h"
#include "base/format.h"
#include "base/units.h"
#include "cli/output.h"
#include "client/client.h"
#include "control/access/access.h"
#include "control/backup/backup.h"
#include "db/sqlite/sqlite.h"
#include "objects/directory/directory.h"
#include "os/files.h"

namespace hearth::app {
namespace {

Result<Token> wanted_token(const cli::TokenAddArgs& args) {
  Token token;
  token.name = args.name;
  token.project = args.project;
  if (!args.role.empty()) {
    const auto role = from_word<Grade>(args.role);
    if (!role)
      return Error::invalid(format("there is no role '{}'", args.role),
                            "use viewer, member, maintainer or admin");
    token.role = *role;
  }
  if (!args.expires.empty())
    token.expires_at = system_clock().now() + TRY(parse_duration(args.expires));
  return token;
}

// While a server runs it is asked over its socket; else the database is opened here.
Result<std::string> add(const cli::TokenAddArgs& args) {
  const DataPaths paths = data_paths(args.data);
  TRY(control::check_restored(paths.root));
  const Token wanted = TRY(wanted_token(args));
  if (TRY(os::lock_holder(paths.lock()))) {
    const Node answer =
        TRY(local_call(paths, "POST", "/api/v1/tokens", client::token_request(wanted)));
    const Node* text = answer.find("token");
    if (text == nullptr) return Error::internal("the server gave no token");
    return text->text;
  }
  if (!os::exists(paths.database()))
    return Error::not_found(format("there is no server's data in {}", paths.root),
                            "`hearth up --data DIR` makes it");
  db::SqliteOptions options;
  options.path = paths.database();
  const auto database = TRY(db::open_sqlite(options));
  TRY(database->migrate());
  const auto objects = TRY(objects::DirectoryObjects::open(paths.objects()));
  Signals signals;
  control::Access access({*database, *objects, signals, system_clock(), system_random()},
                         Bytes(32));
  return TRY(access.add_token(access.local_admin(""), wanted)).text;
}

}  // namespace

int token_add_data(const cli::TokenAddArgs& args) {
  const auto text = add(args);
  if (!text.ok()) return fail(text.error());
  if (args.json)
    cli::print_json(format("{{\"token\":{}}}", json_quote(*text)));
  else
    std::printf("%s\n", text->c_str());
  if (!args.quiet && !args.json) std::fprintf(stderr, "This is shown once; keep it.\n");
  return 0;
}

}  // namespace hearth::app
