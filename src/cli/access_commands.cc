// token, user, project, secret: who may do what.
#include "base/format.h"
#include "base/units.h"
#include "cli/connect.h"
#include "cli/prompt.h"
#include "domain/project.h"
#include "domain/wire/api.h"

namespace hearth::cli {
namespace {

using client::path_part;

Result<Grade> grade_of(const std::string& role) {
  const auto grade = from_word<Grade>(role);
  if (grade) return *grade;
  return Error::invalid(format("there is no role '{}'", role),
                        "there are viewer, member, maintainer and admin");
}

Result<int> add_token(const Globals& globals, const TokenAddArgs& args) {
  Server server = TRY(Server::open(globals));
  Token wanted;
  wanted.name = args.name;
  wanted.project = globals.project;
  if (!args.role.empty()) wanted.role = TRY(grade_of(args.role));
  if (!args.expires.empty())
    wanted.expires_at = system_clock().now() + TRY(parse_duration(args.expires));
  const std::string answer =
      TRY(server.api().send("POST", "/api/v1/tokens", client::token_request(wanted)));
  if (globals.json) {
    print_json(answer);
    return kExitOk;
  }
  const auto made = TRY(from_json<NewTokenResult>(answer));
  put(made.token + "\n");
  if (!globals.quiet) std::fputs("It is shown this once; keep it safe.\n", stderr);
  return kExitOk;
}

void add_token_commands(Tree& tree, const LocalCommands& local) {
  const Globals& globals = tree.globals();
  Group group = tree.group("token", "Keys to the HTTP interface");
  auto args = std::make_shared<TokenAddArgs>();
  group.command("add", "Makes a token and prints it once")
      .needs(args->name, "NAME", "for people")
      .option(args->role, "--role", "ROLE", "at most this: viewer, member, maintainer, admin")
      .option(args->expires, "--expires", "D", "refused after so long: 30d")
      .option(args->data, "--data", "DIR", "by the owner of this data directory, without a token")
      .does([args, &globals, &local]() -> Result<int> {
        args->project = globals.project;
        args->quiet = globals.quiet;
        args->json = globals.json;
        if (!args->data.empty()) return local.token_add_data(*args);
        return add_token(globals, *args);
      });
  group.command("list", "Lists tokens, never their text").does([&globals]() -> Result<int> {
    Server server = TRY(Server::open(globals));
    return show_list<Token>(
        globals, TRY(list_items(server, "/api/v1/tokens", {})), &Token::id,
        Table({"NAME", "KIND", "USER", "PROJECT", "ROLE", "CREATED", "EXPIRES", "ID"}),
        [](const Token& token) -> std::vector<std::string> {
          return {token.name,
                  std::string(word(token.kind)),
                  token.user,
                  token.project,
                  token.role == Grade::none ? "" : std::string(word(token.role)),
                  ago(token.created_at),
                  token.revoked_at.micros != 0 ? "revoked" : when(token.expires_at),
                  token.id};
        },
        "There is no token.");
  });
  auto id = std::make_shared<std::string>();
  group.command("revoke", "Ends a token at once")
      .needs(*id, "TOKEN", "id, or a name that one token alone has")
      .does([id, &globals]() -> Result<int> {
        Server server = TRY(Server::open(globals));
        TRY(server.api().send("DELETE", "/api/v1/tokens/" + path_part(*id)));
        return say(globals, "", "The token is revoked.");
      });
}

struct UserArgs {
  std::string name, role = "member";
  bool admin = false;
};

Result<int> add_user(const Globals& globals, const UserArgs& args) {
  Server server = TRY(Server::open(globals));
  NewUserBody body;
  body.name = args.name;
  body.project = server.project_or_default();
  body.role = TRY(grade_of(args.role));
  body.admin = args.admin;
  const std::string answer = TRY(server.api().send("POST", "/api/v1/users", to_json(body)));
  if (globals.json) {
    print_json(answer);
    return kExitOk;
  }
  const auto made = TRY(from_json<NewUserResult>(answer));
  put(made.link + "\n");
  if (!globals.quiet)
    std::fprintf(
        stderr,
        "%s is %s of project %s%s. Give them this link: it signs in once, within 72 hours, "
        "in a browser or by `hearth login LINK`.\n",
        made.user.name.c_str(), args.role.c_str(), body.project.c_str(),
        made.user.admin ? ", and an admin" : "");
  return kExitOk;
}

Result<int> set_disabled(const Globals& globals, const std::string& user, bool disabled) {
  Server server = TRY(Server::open(globals));
  const std::string answer = TRY(server.api().send("PATCH", "/api/v1/users/" + path_part(user),
                                                   format("{{\"disabled\":{}}}", disabled)));
  return say(globals, answer, format("{} is {}.", user, disabled ? "disabled" : "enabled"));
}

void add_user_commands(Tree& tree) {
  const Globals& globals = tree.globals();
  Group group = tree.group("user", "People");
  auto args = std::make_shared<UserArgs>();
  group.command("add", "Adds a user and prints the first sign-in link")
      .needs(args->name, "NAME", "a-z, 0-9, '.', '_', '@', '-'")
      .option(args->role, "--role", "ROLE", "in --project: viewer, member, maintainer, admin")
      .flag(args->admin, "--admin", "may do everything everywhere")
      .does([args, &globals] { return add_user(globals, *args); });
  group.command("list", "Lists users").does([&globals]() -> Result<int> {
    Server server = TRY(Server::open(globals));
    return show_list<User>(
        globals, TRY(list_items(server, "/api/v1/users", {})), &User::name,
        Table({"NAME", "ADMIN", "DISABLED", "CREATED", "ID"}),
        [](const User& user) -> std::vector<std::string> {
          return {user.name, user.admin ? "yes" : "", user.disabled ? "yes" : "",
                  ago(user.created_at), user.id};
        },
        "There is no user.");
  });
  for (const bool disabled : {true, false}) {
    auto name = std::make_shared<std::string>();
    group
        .command(disabled ? "disable" : "enable",
                 disabled ? "Refuses a user and all tokens of theirs" : "Takes that back")
        .needs(*name, "NAME", "user")
        .does([name, disabled, &globals] { return set_disabled(globals, *name, disabled); });
  }
}

struct ProjectArgs {
  std::string name, parent, description, user, role;
};

Result<int> add_project(const Globals& globals, const ProjectArgs& args) {
  Server server = TRY(Server::open(globals));
  std::string body = format("{{\"name\":{}", json_quote(args.name));
  if (!args.parent.empty()) body += format(",\"parent\":{}", json_quote(args.parent));
  if (!args.description.empty())
    body += format(",\"description\":{}", json_quote(args.description));
  const std::string answer = TRY(server.api().send("POST", "/api/v1/projects", body + "}"));
  return say(globals, answer, format("Project {} is there.", args.name));
}

Result<int> show_members(const Globals& globals, const std::string& project) {
  Server server = TRY(Server::open(globals));
  return show_list<Membership>(
      globals, TRY(list_items(server, "/api/v1/projects/" + path_part(project) + "/members", {})),
      &Membership::user, Table({"USER", "ROLE", "SINCE"}),
      [](const Membership& member) -> std::vector<std::string> {
        return {member.user, std::string(word(member.role)), ago(member.created_at)};
      },
      "The project has no members of its own.");
}

void add_project_commands(Tree& tree) {
  const Globals& globals = tree.globals();
  Group group = tree.group("project", "Projects own everything else");
  group.command("list", "Lists projects").does([&globals]() -> Result<int> {
    Server server = TRY(Server::open(globals));
    return show_list<Project>(
        globals, TRY(list_items(server, "/api/v1/projects", {})), &Project::name,
        Table({"NAME", "PARENT", "CREATED", "BY", "DESCRIPTION"}),
        [](const Project& project) -> std::vector<std::string> {
          return {project.name, project.parent, ago(project.created_at), project.created_by,
                  printable(project.description)};
        },
        "There is no project that you may see.");
  });
  auto add = std::make_shared<ProjectArgs>();
  group.command("add", "Makes a project")
      .needs(add->name, "NAME", "a-z, 0-9, '.', '_', '-'")
      .option(add->parent, "--parent", "PROJECT", "the project above it")
      .option(add->description, "--description", "TEXT", "for people")
      .does([add, &globals] { return add_project(globals, *add); });
  auto gone = std::make_shared<std::string>();
  group.command("delete", "Deletes an empty project")
      .needs(*gone, "NAME", "project")
      .does([gone, &globals]() -> Result<int> {
        Server server = TRY(Server::open(globals));
        TRY(server.api().send("DELETE", "/api/v1/projects/" + path_part(*gone)));
        return say(globals, "", format("Project {} is deleted.", *gone));
      });
  auto shown = std::make_shared<std::string>();
  group.command("show", "Who may do what in it")
      .needs(*shown, "NAME", "project")
      .does([shown, &globals] { return show_members(globals, *shown); });
  auto role = std::make_shared<ProjectArgs>();
  group.command("role", "Sets what a user may do in it; none takes it away")
      .needs(role->name, "NAME", "project")
      .needs(role->user, "USER", "name")
      .needs(role->role, "ROLE", "none, viewer, member, maintainer, admin")
      .does([role, &globals]() -> Result<int> {
        Server server = TRY(Server::open(globals));
        const auto grade = TRY(grade_of(role->role));
        const std::string answer = TRY(server.api().send(
            "PUT",
            "/api/v1/projects/" + path_part(role->name) + "/members/" + path_part(role->user),
            format("{{\"role\":\"{}\"}}", word(grade))));
        return say(globals, answer, format("{} in {}: {}.", role->user, role->name, role->role));
      });
}

void add_secret_commands(Tree& tree) {
  const Globals& globals = tree.globals();
  Group group = tree.group("secret", "Values that jobs get as variables");
  const auto path = [](const Server& server, const std::string& name) {
    return "/api/v1/projects/" + path_part(server.project_or_default()) + "/secrets" +
           (name.empty() ? "" : "/" + path_part(name));
  };
  auto name = std::make_shared<std::string>();
  group.command("set", "Sets one; the value comes from stdin or is asked for")
      .needs(*name, "NAME", "of the variable")
      .does([name, path, &globals]() -> Result<int> {
        Server server = TRY(Server::open(globals));
        SecretBody body;
        body.value = TRY(ask_secret("Value of " + *name));
        if (body.value.empty()) return Error::invalid("the value is empty");
        const std::string answer =
            TRY(server.api().send("PUT", path(server, *name), to_json(body)));
        return say(globals, answer, format("{} is set.", *name));
      });
  group.command("list", "Lists names, never values").does([path, &globals]() -> Result<int> {
    Server server = TRY(Server::open(globals));
    return show_list<Secret>(
        globals, TRY(list_items(server, path(server, ""), {})), &Secret::name,
        Table({"NAME", "PROJECT", "SET", "BY"}),
        [](const Secret& secret) -> std::vector<std::string> {
          return {secret.name, secret.project,
                  ago(secret.updated_at.micros != 0 ? secret.updated_at : secret.created_at),
                  secret.created_by};
        },
        "There is no secret.");
  });
  auto gone = std::make_shared<std::string>();
  group.command("delete", "Deletes one")
      .needs(*gone, "NAME", "of the variable")
      .does([gone, path, &globals]() -> Result<int> {
        Server server = TRY(Server::open(globals));
        TRY(server.api().send("DELETE", path(server, *gone)));
        return say(globals, "", format("{} is deleted.", *gone));
      });
}

}  // namespace

void add_access_commands(Tree& tree, const LocalCommands& local) {
  add_token_commands(tree, local);
  add_user_commands(tree);
  add_project_commands(tree);
  add_secret_commands(tree);
}

}  // namespace hearth::cli
