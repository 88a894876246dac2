// login, logout, whoami, context: which server, and as whom.
#include "base/format.h"
#include "base/units.h"
#include "cli/connect.h"
#include "cli/prompt.h"
#include "domain/wire/api.h"
#include "os/system.h"

namespace hearth::cli {
namespace {

constexpr std::string_view kLinkPath = "/sign-in#";

struct LoginArgs {
  std::string url, token_file;
  bool link = false;
};

Result<int> make_link(const Globals& globals, const std::string& url) {
  Globals chosen = globals;
  if (!url.empty()) chosen.url = url;
  Server server = TRY(Server::open(chosen));
  const std::string answer = TRY(server.api().send("POST", "/api/v1/sign-in-codes", "{}"));
  if (globals.json) {
    print_json(answer);
    return kExitOk;
  }
  const auto link = TRY(from_json<SignInLink>(answer));
  put(link.link + "\n");
  if (screen().error_is_terminal)
    std::fprintf(stderr, "Good once, for 15 minutes, for %s.\n", link.user.c_str());
  return kExitOk;
}

std::optional<std::string> name_of(const client::Contexts& known,
                                   const client::ServerContext& context) {
  for (const auto& [name, other] : known.contexts)
    if (other.url == context.url && other.server_id == context.server_id) return name;
  return std::nullopt;
}

// The token that the code of a sign-in link is good for, once.
Result<std::string> redeem(const client::ServerContext& context, const std::string& code) {
  client::Client api(context);
  const RedeemBody body{code, "login on " + os::hostname()};
  return TRY(api.send_as<NewTokenResult>("POST", "/api/v1/sign-in-codes/redeem", to_json(body)))
      .token;
}

// Of http://HOST:PORT/sign-in#CODE, which is cut to its address; "" where it is no link.
std::string take_code(std::string& link) {
  const size_t at = link.find(kLinkPath);
  if (at == std::string::npos) return "";
  const std::string code = link.substr(at + kLinkPath.size());
  link.resize(at);
  return code;
}

Result<int> login(const Globals& globals, const LoginArgs& args) {
  if (args.link) return make_link(globals, args.url);
  client::ServerContext context;
  if (!args.url.empty() || !globals.url.empty())
    context.url = args.url.empty() ? globals.url : args.url;
  else
    context = TRY(client::choose_context({globals.context, ""}));
  if (!context.url.starts_with("http://") && !context.url.starts_with("https://"))
    return Error::invalid(format("'{}' is no address of a server", context.url),
                          "write it as http://HOST:PORT or https://HOST");
  std::string code = take_code(context.url);
  if (!code.empty() && !args.token_file.empty())
    return Error::invalid("a sign-in link goes without --token-file", "give one of them");
  while (context.url.ends_with('/')) context.url.pop_back();
  client::Contexts known = TRY(client::load_contexts());  // a link is good once: this goes first
  if (code.empty()) {
    context.token = args.token_file.empty()
                        ? TRY(ask_secret("Token or sign-in link for " + context.url))
                        : TRY(read_secret_file(args.token_file));
    code = take_code(context.token);
  }
  if (!code.empty()) context.token = TRY(redeem(context, code));
  if (context.token.empty()) return Error::invalid("the token is empty");
  client::Client api(context);
  const auto me = TRY(api.get_as<WhoAmI>("/api/v1/whoami"));
  context.user = me.user;
  context.server_id = me.server_id;
  context.project = globals.project.empty() ? me.project : globals.project;
  // A server that is known keeps its name: a copy of an installation is not named by its id alone.
  const std::string name = name_of(known, context).value_or(me.server_id);
  context.data = known.contexts[name].data;
  known.contexts[name] = context;
  known.current = name;
  TRY(client::save_contexts(known));
  std::fprintf(stderr, "Signed in to %s as %s.\n", context.url.c_str(),
               me.user.empty() ? me.kind.c_str() : me.user.c_str());
  return kExitOk;
}

// The name of the context that the flags mean.
Result<std::string> chosen_name(const client::Contexts& known, const Globals& globals) {
  const auto context = TRY(client::choose_context({globals.context, globals.url}));
  if (auto name = name_of(known, context)) return std::move(*name);
  return Error::not_found(format("there is no context for {}", context.url));
}

Result<int> logout(const Globals& globals) {
  client::Contexts known = TRY(client::load_contexts());
  const std::string name = TRY(chosen_name(known, globals));
  known.contexts.erase(name);
  if (known.current == name)
    known.current = known.contexts.empty() ? "" : known.contexts.begin()->first;
  TRY(client::save_contexts(known));
  std::fprintf(stderr, "The token for %s is forgotten here; `hearth token revoke` ends one.\n",
               name.c_str());
  return kExitOk;
}

Result<int> who_am_i(const Globals& globals) {
  Server server = TRY(Server::open(globals));
  const std::string answer = TRY(server.api().get("/api/v1/whoami"));
  if (globals.json) {
    print_json(answer);
    return kExitOk;
  }
  const auto me = TRY(from_json<WhoAmI>(answer));
  if (globals.quiet) {
    put(me.user + "\n");
    return kExitOk;
  }
  Facts()
      .add("user", me.user)
      .add("token", me.kind)
      .add("admin", me.admin ? "yes" : "")
      .add("project", me.project)
      .add("at most", me.kind == "user" && me.role == "admin" ? "" : me.role)
      .add("job", me.job_id)
      .add("server", server.api().context().url)
      .add("server id", me.server_id)
      .add("version", me.version)
      .print();
  return kExitOk;
}

Result<int> list_contexts(const Globals& globals) {
  const client::Contexts known = TRY(client::load_contexts());
  Table table({"CURRENT", "NAME", "URL", "USER", "PROJECT", "DATA"});
  std::string json = "[";
  for (const auto& [name, context] : known.contexts) {
    if (globals.quiet) put(name + "\n");
    const bool current = name == known.current;
    table.row({current ? "*" : "", name, context.url, context.user, context.project, context.data});
    json += format("{}{{\"name\":{},\"current\":{},\"url\":{},\"user\":{},\"project\":{}}}",
                   json.size() > 1 ? "," : "", json_quote(name), current, json_quote(context.url),
                   json_quote(context.user), json_quote(context.project));
  }
  if (globals.json)
    print_json(json + "]");
  else if (!globals.quiet)
    table.print("No server is known here. `hearth up` starts one, `hearth login URL` signs in.");
  return kExitOk;
}

Result<int> use_context(const Globals& globals, const std::string& name) {
  client::Contexts known = TRY(client::load_contexts());
  std::vector<std::string> names;
  for (auto& [key, context] : known.contexts) {
    names.push_back(key);
    if (key != name && context.url != name) continue;
    known.current = key;
    if (!globals.project.empty()) context.project = globals.project;
    TRY(client::save_contexts(known));
    return kExitOk;
  }
  const std::string near = nearest(name, names);
  return Error::not_found(
      format("there is no context '{}'", name),
      near.empty() ? "`hearth context list` shows those there are" : format("there is '{}'", near));
}

}  // namespace

void add_context_commands(Tree& tree) {
  Group top = tree.top();
  const Globals& globals = tree.globals();
  auto login_args = std::make_shared<LoginArgs>();
  top.command("login", "Signs in to a server, or makes a link for the browser")
      .may(login_args->url, "URL", "address or sign-in link; default: that of the context in use")
      .option(login_args->token_file, "--token-file", "FILE", "the token; default: asked for")
      .flag(login_args->link, "--link", "prints a sign-in link for the page")
      .does([login_args, &globals] { return login(globals, *login_args); });
  top.command("logout", "Forgets the token of a server").does([&globals] {
    return logout(globals);
  });
  top.command("whoami", "Whom the token speaks for").does([&globals] { return who_am_i(globals); });

  Group group = tree.group("context", "Servers that are known here");
  group.command("list", "Lists them").does([&globals] { return list_contexts(globals); });
  auto name = std::make_shared<std::string>();
  group.command("use", "Makes one the default; --project sets its project")
      .needs(*name, "NAME", "name, server id or address")
      .does([name, &globals] { return use_context(globals, *name); });
}

}  // namespace hearth::cli
