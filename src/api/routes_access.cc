#include "api/answer.h"
#include "base/format.h"

namespace hearth::api {
namespace {

constexpr Duration kLinkLife = Duration::seconds(15 * 60);
constexpr Duration kInviteLife = Duration::seconds(72 * 3600);

std::string link_of(const Call& call, const std::string& code) {
  const std::string& base =
      call.options.public_urls.empty() ? call.options.url : call.options.public_urls.front();
  return base + "/sign-in#" + code;
}

// Names and ids are both taken.
Result<std::string> project_of(const Call& call) {
  return call.services.access.project_name(call.who, call.at("project"));
}
Result<std::string> user_of(const Call& call) {
  return call.services.access.user_name(call.at("user"));
}

void add_session_routes(RouteTable& table) {
  table
      .add("POST", "/api/v1/sessions", "createSession", "access",
           "Signs in by the code of a link or a token; sets the cookie",
           [](Call& call) -> Result<net::Response> {
             const auto body = TRY(call.body<SignInBody>());
             control::NewToken session;
             if (!body.token.empty()) {
               const Identity who = TRY(call.services.access.authenticate(
                   body.token, call.request.peer, call.request.id));
               session = TRY(call.services.access.session_from_token(who));
             } else {
               session = TRY(call.services.access.redeem_sign_in_code(body.code, call.request.peer,
                                                                      call.request.id));
             }
             call.session = session.text;
             return json(session.token, 201);
           })
      .needs(Need::open)
      .takes<SignInBody>()
      .answers<Token>(201);
  table
      .add("DELETE", "/api/v1/sessions", "deleteSession", "access", "Signs out",
           [](Call& call) -> Result<net::Response> {
             TRY(call.services.access.end_session(call.who));
             call.session = "";
             return no_content();
           })
      .nothing();
}

void add_sign_in_code_routes(RouteTable& table) {
  table
      .add("POST", "/api/v1/sign-in-codes", "createSignInCode", "access",
           "A link that signs a user in, once, within 15 minutes",
           [](Call& call) -> Result<net::Response> {
             const auto body = TRY(call.body<SignInCodeBody>());
             SignInLink link;
             link.user = body.user.empty() ? call.who.user : body.user;
             link.link = link_of(
                 call, TRY(call.services.access.make_sign_in_code(call.who, link.user, kLinkLife)));
             link.expires_at = call.services.context.clock.now() + kLinkLife;
             return json(link, 201);
           })
      .takes<SignInCodeBody>()
      .answers<SignInLink>(201);
  table
      .add("POST", "/api/v1/sign-in-codes/redeem", "redeemSignInCode", "access",
           "A new token for the user whom the code of a link signs in",
           [](Call& call) -> Result<net::Response> {
             const auto body = TRY(call.body<RedeemBody>());
             const auto made = TRY(call.services.access.redeem_sign_in_code(
                 body.code, call.request.peer, call.request.id, body.name));
             return json(NewTokenResult{made.token, made.text}, 201);
           })
      .needs(Need::open)
      .takes<RedeemBody>()
      .answers<NewTokenResult>(201);
}

void add_who_am_i(RouteTable& table) {
  table
      .add("GET", "/api/v1/whoami", "getWhoAmI", "access", "Whom the token speaks for",
           [](Call& call) -> Result<net::Response> {
             WhoAmI me;
             me.kind = word(call.who.kind);
             me.user = call.who.user;
             me.admin = call.who.admin;
             me.project = call.who.project;
             me.role = word(call.who.most);
             me.job_id = call.who.job_id;
             me.server_id = call.services.access.server_id();
             me.version = call.options.version;
             return json(me);
           })
      .answers<WhoAmI>();
}

void add_token_routes(RouteTable& table) {
  table
      .add("GET", "/api/v1/tokens", "listTokens", "access", "One's tokens; an admin's: all",
           [](Call& call) -> Result<net::Response> {
             return json_list(TRY(call.services.access.list_tokens(call.who)));
           })
      .lists<Token>();
  table
      .add("POST", "/api/v1/tokens", "createToken", "access", "A new token, shown this once",
           [](Call& call) -> Result<net::Response> {
             const auto made =
                 TRY(call.services.access.add_token(call.who, TRY(call.body<Token>())));
             return json(NewTokenResult{made.token, made.text}, 201);
           })
      .takes<Token>()
      .answers<NewTokenResult>(201);
  table
      .add("DELETE", "/api/v1/tokens/{token}", "revokeToken", "access", "Revokes it at once",
           [](Call& call) -> Result<net::Response> {
             TRY(call.services.access.revoke_token(call.who, call.at("token")));
             return no_content();
           })
      .nothing();
}

void add_user_routes(RouteTable& table) {
  table
      .add("GET", "/api/v1/users", "listUsers", "access", "The users",
           [](Call& call) -> Result<net::Response> {
             return json_list(TRY(call.services.access.list_users(call.who)));
           })
      .lists<User>();
  table
      .add("POST", "/api/v1/users", "createUser", "access", "A new user and his first link (admin)",
           [](Call& call) -> Result<net::Response> {
             const auto body = TRY(call.body<NewUserBody>());
             User wanted;
             wanted.name = body.name;
             wanted.admin = body.admin;
             NewUserResult made;
             made.user =
                 TRY(call.services.access.add_user(call.who, wanted, body.project, body.role));
             made.link = link_of(call, TRY(call.services.access.make_sign_in_code(
                                           call.who, made.user.name, kInviteLife)));
             return json(made, 201);
           })
      .takes<NewUserBody>()
      .answers<NewUserResult>(201);
  table
      .add("PATCH", "/api/v1/users/{user}", "updateUser", "access", "Disables or enables (admin)",
           [](Call& call) -> Result<net::Response> {
             const auto change = TRY(call.body<UserChange>());
             if (!change.disabled) return Error::invalid("nothing to change", "give `disabled`");
             return versioned(TRY(call.services.access.set_user_disabled(
                 call.who, TRY(user_of(call)), *change.disabled)));
           })
      .takes<UserChange>()
      .answers<User>();
}

void add_project_routes(RouteTable& table) {
  table
      .add("GET", "/api/v1/projects", "listProjects", "access", "The projects one may see",
           [](Call& call) -> Result<net::Response> {
             return json_list(TRY(call.services.access.list_projects(call.who)));
           })
      .lists<Project>();
  table
      .add("POST", "/api/v1/projects", "createProject", "access", "A new project (admin)",
           [](Call& call) -> Result<net::Response> {
             return versioned(
                 TRY(call.services.access.add_project(call.who, TRY(call.body<Project>()))), 201);
           })
      .takes<Project>()
      .answers<Project>(201)
      .makes();
  table
      .add("GET", "/api/v1/projects/{project}", "getProject", "access", "One project",
           [](Call& call) -> Result<net::Response> {
             return versioned(
                 TRY(call.services.access.get_project(call.who, TRY(project_of(call)))));
           })
      .answers<Project>()
      .versioned();
  table
      .add("DELETE", "/api/v1/projects/{project}", "deleteProject", "access",
           "Deletes an empty project (admin)",
           [](Call& call) -> Result<net::Response> {
             TRY(call.services.access.delete_project(call.who, TRY(project_of(call))));
             return no_content();
           })
      .nothing();
  table
      .add(
          "GET", "/api/v1/projects/{project}/members", "listMembers", "access", "Who may do what",
          [](Call& call) -> Result<net::Response> {
            return json_list(TRY(call.services.access.list_roles(call.who, TRY(project_of(call)))));
          })
      .lists<Membership>();
  table
      .add("PUT", "/api/v1/projects/{project}/members/{user}", "setMember", "access",
           "Sets a user's role; none removes it (maintainer)",
           [](Call& call) -> Result<net::Response> {
             const auto body = TRY(call.body<RoleBody>());
             return json(TRY(call.services.access.set_role(call.who, TRY(user_of(call)),
                                                           TRY(project_of(call)), body.role)));
           })
      .takes<RoleBody>()
      .answers<Membership>();
}

void add_secret_routes(RouteTable& table) {
  table
      .add("GET", "/api/v1/projects/{project}/secrets", "listSecrets", "access",
           "Names of the secrets, never values",
           [](Call& call) -> Result<net::Response> {
             return json_list(
                 TRY(call.services.access.list_secrets(call.who, TRY(project_of(call)))));
           })
      .lists<Secret>();
  table
      .add("PUT", "/api/v1/projects/{project}/secrets/{secret}", "setSecret", "access",
           "Sets a secret's value (maintainer)",
           [](Call& call) -> Result<net::Response> {
             const auto body = TRY(call.body<SecretBody>());
             return json(TRY(call.services.access.set_secret(call.who, TRY(project_of(call)),
                                                             call.at("secret"), body.value)));
           })
      .takes<SecretBody>()
      .answers<Secret>();
  table
      .add("DELETE", "/api/v1/projects/{project}/secrets/{secret}", "deleteSecret", "access",
           "Deletes a secret (maintainer)",
           [](Call& call) -> Result<net::Response> {
             TRY(call.services.access.delete_secret(call.who, TRY(project_of(call)),
                                                    call.at("secret")));
             return no_content();
           })
      .nothing();
}

}  // namespace

void add_access_routes(RouteTable& table) {
  add_session_routes(table);
  add_sign_in_code_routes(table);
  add_who_am_i(table);
  add_token_routes(table);
  add_user_routes(table);
  add_project_routes(table);
  add_secret_routes(table);
}

}  // namespace hearth::api
