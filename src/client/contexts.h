// The servers this user knows: $XDG_CONFIG_HOME/hearth/contexts.json, mode 0600.
//
//   {"current": "01H...", "contexts": {"01H...": {"url": "http://127.0.0.1:8470", "token":
//   "hth_..."}}}
//
// A context is named by its server's id, or by a name the user gave. HEARTH_URL picks an address
// and its context's token, HEARTH_TOKEN wins over the token.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "domain/describe.h"

namespace hearth::client {

struct ServerContext {
  std::string url, token, user, server_id, project, ca_file;
  std::string data;  // the data directory, when the server is this machine's
  bool operator==(const ServerContext&) const = default;
};

struct Contexts {
  std::string current;
  std::map<std::string, ServerContext> contexts;
  bool operator==(const Contexts&) const = default;
};

std::string contexts_path();
// An empty set when there is no file. Errors: unreadable or damaged, with the path.
Result<Contexts> load_contexts();
// Written beside, synced, renamed.
Result<void> save_contexts(const Contexts& contexts);

struct Choice {
  std::string context, url;  // --context, --url; "" = not given
};
// What the flags, the environment and the file say together; an error names what is missing.
Result<ServerContext> choose_context(const Choice& choice);

// A server of this machine has started: where its installation is known here, its context gets its
// address and directory. Two directories can be of one installation (a backup that is tried out):
// who comes second, while the first one `runs`, is a context beside it, ID-copy, and stays that as
// long as the first one's directory is there. Gives the server's context's name; "": nobody here
// knows it.
std::string place_server(Contexts& known, const std::string& server_id, const std::string& url,
                         const std::string& data,
                         const std::function<bool(const std::string& data)>& runs);

}  // namespace hearth::client

namespace hearth {
template <>
struct Describe<client::ServerContext> {
  static constexpr std::string_view name = "ServerContext", doc = "A server and a token for it.";
  static void fields(Fields<client::ServerContext>& f) {
    using C = client::ServerContext;
    f("url", &C::url, "address");
    f("token", &C::token, "token");
    f("user", &C::user, "whose token");
    f("server_id", &C::server_id, "of the installation");
    f("project", &C::project, "used when no --project is given");
    f("ca_file", &C::ca_file, "certificate to trust");
    f("data", &C::data, "data directory, when the server is this machine's");
  }
};
template <>
struct Describe<client::Contexts> {
  static constexpr std::string_view name = "Contexts", doc = "The servers this user knows.";
  static void fields(Fields<client::Contexts>& f) {
    f("current", &client::Contexts::current, "name of the context in use");
    f("contexts", &client::Contexts::contexts, "by name");
  }
};
}  // namespace hearth
