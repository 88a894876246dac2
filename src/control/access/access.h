// Who may do what: users, roles per project, tokens, sign-in links, secrets. Every check of a right
// in Hearth goes through Access.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "control/context.h"
#include "db/table.h"
#include "domain/identity.h"
#include "domain/job.h"

namespace hearth::control {

struct NewToken {
  Token token;
  std::string text;  // shown once
};

// For one that is not there, and one that whoever asks may not see.
Error no_such_project(const std::string& name);

class Access {
 public:
  // `key`: 32 bytes that seal the secrets; kept outside the database.
  Access(Context context, Bytes key);
  ~Access();

  // First start: makes the project "default" and the admin `user` and gives a token for it; nothing
  // when there is a user already.
  Result<std::optional<NewToken>> bootstrap(const std::string& user);
  std::string server_id() const;  // made at bootstrap, never changes

  // The text of an Authorization header's bearer token or of the cookie. Errors: unauthenticated
  // (unknown, expired, revoked, user disabled) with the mend. Answers come from a bounded cache
  // that revocation, disabling and role changes empty at once.
  Result<Identity> authenticate(std::string_view token, const std::string& address,
                                const std::string& request_id);
  // Grows with every change of rights: who keeps an answer that rights allowed compares it.
  uint64_t generation() const;
  // The owner of the data directory over the Unix socket: the first admin.
  Identity local_admin(const std::string& request_id);

  // denied unless the identity has at least this role there; not_found for projects it cannot see,
  // so that their names do not leak. Job and task tokens act as `member` of their job's project.
  Result<void> require(const Identity& who, const std::string& project, Grade least);
  // The same for what belongs to no project (an upload): the role in any of those it may see.
  Result<void> require_somewhere(const Identity& who, Grade least);
  Result<void> require_admin(const Identity& who);
  // The projects this identity may see; nothing = all.
  Result<std::optional<std::vector<std::string>>> visible_projects(const Identity& who);
  // Limits a list of what belongs to projects to this one, or ("") to those it may see; not_found
  // as require(). False: there is nothing it may see, no need to ask.
  Result<bool> narrow(const Identity& who, const std::string& project, db::ListQuery& query);

  // Sign-in: a code is good once, for `life`. Who redeems it has a token of kind session, or, with
  // a name for it, one of kind user that does not expire.
  Result<std::string> make_sign_in_code(const Identity& who, const std::string& user,
                                        Duration life);
  Result<NewToken> redeem_sign_in_code(const std::string& code, const std::string& address,
                                       const std::string& request_id,
                                       const std::string& token_name = "");
  Result<NewToken> session_from_token(const Identity& who);
  Result<void> end_session(const Identity& who);

  Result<NewToken> add_token(const Identity& who, Token wanted);
  Result<std::vector<Token>> list_tokens(const Identity& who);
  Result<void> revoke_token(const Identity& who, const std::string& id_or_name);
  // For a task being launched, inside the transaction that makes it.
  Result<NewToken> add_task_token(db::Session& session, const Task& task);
  Result<NewToken> add_job_token(db::Session& session, const Task& task, const std::string& owner);
  // The job's token is gone with the commit, the shim's ends when it has had time to drain its
  // spool.
  Result<void> revoke_task_tokens(db::Session& session, const std::string& task_id);

  Result<User> add_user(const Identity& who, User wanted, const std::string& project, Grade role);
  Result<std::vector<User>> list_users(const Identity& who);
  Result<User> set_user_disabled(const Identity& who, const std::string& name, bool disabled);
  Result<Membership> set_role(const Identity& who, const std::string& user,
                              const std::string& project, Grade role);  // none: removed
  Result<std::vector<Membership>> list_roles(const Identity& who, const std::string& project);

  // The name of a project or user that a call may name by its id too. What is not there, or a
  // project that it may not see, stays as it was said.
  Result<std::string> project_name(const Identity& who, const std::string& name_or_id);
  Result<std::string> user_name(const std::string& name_or_id);

  Result<Project> add_project(const Identity& who, Project wanted);
  Result<std::vector<Project>> list_projects(const Identity& who);
  Result<Project> get_project(const Identity& who, const std::string& name);
  Result<void> delete_project(const Identity& who, const std::string& name);  // only when empty

  Result<Secret> set_secret(const Identity& who, const std::string& project,
                            const std::string& name, const std::string& value);
  Result<std::vector<Secret>> list_secrets(const Identity& who, const std::string& project);
  Result<void> delete_secret(const Identity& who, const std::string& project,
                             const std::string& name);
  // For a launch or a webhook's signature. Errors: not_found names the missing ones.
  Result<std::map<std::string, std::string>> open_secrets(db::Session& session,
                                                          const std::string& project,
                                                          const std::vector<std::string>& names);
  // project/name of those that this server's key does not open (it was made anew, or is another's).
  Result<std::vector<std::string>> closed_secrets();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hearth::control
