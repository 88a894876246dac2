// Tokens, sign-in links and sessions.
#include <algorithm>

#include "base/format.h"
#include "base/id.h"
#include "control/access/state.h"

namespace hearth::control {

NewToken make_token(Context& context, TokenKind kind, const std::string& name) {
  NewToken made;
  made.text = new_secret("hth_", context.random);
  made.token.id = new_id(context.clock, context.random);
  made.token.name = name;
  made.token.kind = kind;
  made.token.hash = sha256(made.text);
  made.token.created_at = context.clock.now();
  return made;
}

Result<std::string> Access::make_sign_in_code(const Identity& who, const std::string& user,
                                              Duration life) {
  if (user != who.user) TRY(require_admin(who));
  if (who.user.empty() || who.most != Grade::admin || !who.project.empty())
    return Error::denied("a narrowed token makes no sign-in link", "use the user's own token");
  const std::string code = new_secret("", state_->context.random);
  const Time expires = state_->context.clock.now() + std::min(life, State::kMostCodeLife);
  TRY(state_->change([&](db::Session& session) -> Result<void> {
    const auto row = TRY(db::Table<User>::find(session, "WHERE name = $1", {user}));
    if (!row || row->disabled)
      return Error::not_found(format("there is no user '{}' who may sign in", user));
    TRY(session.execute(
        R"(INSERT INTO sign_in_codes (hash, "user", expires_at, used_at) VALUES ($1, $2, $3, 0))",
        {sha256(code), user, expires.micros}));
    TRY(emit(session, state_->context.clock, who.actor(), "", "user.link_made", row->id,
             row->version));
    return {};
  }));
  return code;
}

Result<NewToken> Access::redeem_sign_in_code(const std::string& code, const std::string& address,
                                             const std::string& request_id,
                                             const std::string& token_name) {
  const Time now = state_->context.clock.now();
  const auto refused = [] {
    return Error::of(
        Code::unauthenticated, "this sign-in link was used already, or is too old",
        "`hearth login --link` makes a new one; for who has no token an admin does (Admin, "
        "Users)");
  };
  {
    const std::lock_guard lock(state_->mutex);
    auto& failures = state_->code_failures;
    if (failures.size() >= State::kMostCached) failures.clear();
    if (State::too_many(failures[address], now, State::kMostCodeFailures))
      return Error::of(Code::busy, "too many failed sign-ins from this address", "wait a minute");
    if (State::too_many(state_->server_failures, now, State::kMostServerFailures))
      return Error::of(Code::busy, "too many failed sign-ins", "wait a minute");
  }
  NewToken made;
  const auto done = state_->change([&](db::Session& session) -> Result<void> {
    std::string user;
    TRY(session.query(
        R"(SELECT "user" FROM sign_in_codes WHERE hash = $1 AND used_at = 0 AND expires_at > $2)",
        {sha256(code), now.micros}, [&](const db::Row& row) -> Result<void> {
          user = row.text(0);
          return {};
        }));
    if (user.empty()) return refused();
    // Used in the same transaction: a second redeem of the same code finds nothing.
    TRY(session.execute("UPDATE sign_in_codes SET used_at = $1 WHERE hash = $2",
                        {now.micros, sha256(code)}));
    const auto row = TRY(db::Table<User>::find(session, "WHERE name = $1", {user}));
    if (!row || row->disabled) return refused();
    const bool is_session = token_name.empty();
    made = make_token(state_->context, is_session ? TokenKind::session : TokenKind::user,
                      is_session ? "page" : token_name);
    made.token.user = user;
    if (is_session) made.token.expires_at = now + State::kSessionLife;
    TRY(db::Table<Token>::insert(session, made.token));
    Actor actor{"user", user, made.token.id, address, request_id};
    TRY(emit(session, state_->context.clock, actor, "", "user.signed_in", row->id, row->version));
    if (is_session) return {};
    TRY(emit(session, state_->context.clock, actor, "", "token.added", made.token.id, 0));
    return {};
  });
  if (done.ok()) return made;
  if (done.error().code == Code::unauthenticated) {
    const std::lock_guard lock(state_->mutex);
    ++state_->code_failures[address].count;
    ++state_->server_failures.count;
  }
  return done.error();
}

Result<NewToken> Access::session_from_token(const Identity& who) {
  if (who.kind != TokenKind::user && who.kind != TokenKind::project)
    return Error::denied("only a user's token signs in to the page");
  NewToken made = make_token(state_->context, TokenKind::session, "page");
  made.token.user = who.user;
  made.token.project = who.project;
  made.token.role = who.most == Grade::admin ? Grade::none : who.most;
  made.token.expires_at = state_->context.clock.now() + State::kSessionLife;
  TRY(state_->change([&](db::Session& session) -> Result<void> {
    TRY(db::Table<Token>::insert(session, made.token));
    TRY(emit(session, state_->context.clock, who.actor(), "", "user.signed_in", made.token.id, 0));
    return {};
  }));
  return made;
}

Result<void> Access::end_session(const Identity& who) {
  if (who.kind != TokenKind::session) return {};
  return state_->change([&](db::Session& session) -> Result<void> {
    auto token = TRY(db::Table<Token>::need(session, who.token_id));
    token.revoked_at = state_->context.clock.now();
    TRY(db::Table<Token>::update(session, token));
    TRY(emit(session, state_->context.clock, who.actor(), "", "user.signed_out", token.id,
             token.version));
    return {};
  });
}

Result<NewToken> Access::add_token(const Identity& who, Token wanted) {
  if (who.user.empty()) return Error::denied("a job makes no tokens");
  // A token never allows more than the one that made it.
  const Grade role = wanted.role == Grade::none ? who.most : std::min(wanted.role, who.most);
  if (!wanted.project.empty())
    TRY(require(who, wanted.project, Grade::viewer));
  else
    wanted.project = who.project;
  if (wanted.expires_at.micros != 0 && wanted.expires_at <= state_->context.clock.now())
    return Error::invalid("expires_at lies in the past", "give a later time, or none");
  NewToken made = make_token(
      state_->context, wanted.project.empty() ? TokenKind::user : TokenKind::project, wanted.name);
  made.token.user = who.user;
  made.token.project = wanted.project;
  made.token.role = role == Grade::admin ? Grade::none : role;
  made.token.expires_at = wanted.expires_at;
  TRY(state_->change([&](db::Session& session) -> Result<void> {
    TRY(db::Table<Token>::insert(session, made.token));
    TRY(emit(session, state_->context.clock, who.actor(), made.token.project, "token.added",
             made.token.id, 0));
    return {};
  }));
  return made;
}

Result<std::vector<Token>> Access::list_tokens(const Identity& who) {
  std::vector<Token> tokens;
  TRY(state_->context.database.read([&](db::Session& session) -> Result<void> {
    constexpr const char* all =
        "WHERE kind IN ('user', 'project', 'session') AND revoked_at = 0 ORDER BY id LIMIT 10000";
    constexpr const char* mine =
        R"(WHERE "user" = $1 AND kind IN ('user', 'project', 'session') AND revoked_at = 0
           ORDER BY id LIMIT 10000)";
    tokens = who.admin ? TRY(db::Table<Token>::select(session, all, {}))
                       : TRY(db::Table<Token>::select(session, mine, {who.user}));
    return {};
  }));
  return tokens;
}

Result<void> Access::revoke_token(const Identity& who, const std::string& id_or_name) {
  return state_->change([&](db::Session& session) -> Result<void> {
    auto tokens = TRY(db::Table<Token>::select(
        session, R"(WHERE revoked_at = 0 AND (id = $1 OR (name = $1 AND "user" = $2)))",
        {id_or_name, who.user}));
    // A narrowed token takes back itself alone, or who found it could lock its user out.
    const bool narrowed = who.most != Grade::admin || !who.project.empty();
    std::erase_if(tokens, [&](const Token& token) {
      return narrowed ? token.id != who.token_id : !who.admin && token.user != who.user;
    });
    if (tokens.empty())
      return Error::not_found(format("there is no token '{}'", id_or_name),
                              "`hearth token list` shows those there are");
    if (tokens.size() > 1) {
      std::string ids;
      for (const Token& token : tokens) ids += (ids.empty() ? "" : ", ") + token.id;
      return Error::conflict(format("{} tokens are called '{}'", tokens.size(), id_or_name),
                             "give the id of one: " + ids);
    }
    Token& token = tokens.front();
    token.revoked_at = state_->context.clock.now();
    TRY(db::Table<Token>::update(session, token));
    TRY(emit(session, state_->context.clock, who.actor(), token.project, "token.revoked", token.id,
             token.version));
    return {};
  });
}

namespace {
Result<NewToken> add_for_task(db::Session& session, Context& context, TokenKind kind,
                              const Task& task) {
  NewToken made = make_token(context, kind, std::string(word(kind)));
  made.token.project = task.project;
  made.token.job_id = task.job_id;
  made.token.task_id = task.id;
  TRY(db::Table<Token>::insert(session, made.token));
  return made;
}
}  // namespace

Result<NewToken> Access::add_task_token(db::Session& session, const Task& task) {
  return add_for_task(session, state_->context, TokenKind::task, task);
}

Result<NewToken> Access::add_job_token(db::Session& session, const Task& task,
                                       const std::string& owner) {
  (void)owner;  // it speaks for the job, not for its owner
  return add_for_task(session, state_->context, TokenKind::job, task);
}

Result<void> Access::revoke_task_tokens(db::Session& session, const std::string& task_id) {
  // The job's token ends with its task. The shim's own stays until its spool is drained: it can do
  // nothing but report, and an ended attempt takes no more of it.
  TRY(session.execute("DELETE FROM tokens WHERE task_id = $1 AND kind = 'job'", {task_id}));
  for (Token& token : TRY(db::Table<Token>::select(
           session, "WHERE task_id = $1 AND kind = 'task' AND expires_at = 0", {task_id}))) {
    token.expires_at = state_->context.clock.now() + State::kTaskTokenLife;
    TRY(db::Table<Token>::update(session, token));
  }
  return {};
}

}  // namespace hearth::control
