// Projects own everything else and form a tree; users have a role per project.
#pragma once

#include <array>
#include <string>

#include "domain/describe.h"

namespace hearth {

// Ascending: each may do what those before it may. viewer reads; member submits jobs and logs runs;
// maintainer also manages the project's secrets, tokens and other people's jobs; admin all.
enum class Grade { none, viewer, member, maintainer, admin };
template <>
struct Words<Grade> {
  static constexpr std::string_view name = "Grade";
  static constexpr std::array<std::string_view, 5> words{"none", "viewer", "member", "maintainer",
                                                         "admin"};
};

struct Project {
  std::string id, name, parent, description, created_by;
  Time created_at;
  int64_t version = 0;
  bool operator==(const Project&) const = default;
};
template <>
struct Describe<Project> {
  static constexpr std::string_view name = "Project",
                                    doc = "What owns jobs, runs, models and data.";
  static void fields(Fields<Project>& f) {
    f("id", &Project::id, "ULID").output_only();
    f("name", &Project::name, "unique name")
        .required()
        .matches("[a-z0-9][a-z0-9._-]{0,62}", "a-z, 0-9, '.', '_', '-', at most 63 characters");
    f("parent", &Project::parent, "name of the project above, or empty");
    f("description", &Project::description, "for people").max(4096);
    f("created_by", &Project::created_by, "user name").output_only();
    f("created_at", &Project::created_at, "when").output_only();
    f("version", &Project::version, "counts changes; ETag and If-Match").output_only();
  }
};

struct User {
  std::string id, name;
  bool admin = false;
  bool disabled = false;
  Time created_at;
  int64_t version = 0;
  bool operator==(const User&) const = default;
};
template <>
struct Describe<User> {
  static constexpr std::string_view name = "User", doc = "A person.";
  static void fields(Fields<User>& f) {
    f("id", &User::id, "ULID").output_only();
    f("name", &User::name, "unique name")
        .required()
        .matches("[a-z0-9][a-z0-9._@-]{0,62}",
                 "a-z, 0-9, '.', '_', '@', '-', at most 63 characters");
    f("admin", &User::admin, "may do everything everywhere");
    f("disabled", &User::disabled, "may not sign in; tokens are refused");
    f("created_at", &User::created_at, "when").output_only();
    f("version", &User::version, "counts changes").output_only();
  }
};

struct Membership {
  std::string id, user, project;  // names
  Grade role = Grade::viewer;
  Time created_at;
  int64_t version = 0;
  bool operator==(const Membership&) const = default;
};
template <>
struct Describe<Membership> {
  static constexpr std::string_view name = "Membership", doc = "A user's role in a project.";
  static void fields(Fields<Membership>& f) {
    f("id", &Membership::id, "ULID").output_only();
    f("user", &Membership::user, "user name").required();
    f("project", &Membership::project, "project name").required();
    f("role", &Membership::role, "what the user may do there").required();
    f("created_at", &Membership::created_at, "when").output_only();
    f("version", &Membership::version, "counts changes").output_only();
  }
};

enum class TokenKind { user, project, session, job, task };
template <>
struct Words<TokenKind> {
  static constexpr std::string_view name = "TokenKind";
  static constexpr std::array<std::string_view, 5> words{"user", "project", "session", "job",
                                                         "task"};
};

// The text of a token is shown once and kept as its SHA-256 alone.
struct Token {
  std::string id, name;
  TokenKind kind = TokenKind::user;
  std::string hash;          // "sha256:...", of the whole text
  std::string user;          // whose it is; empty for job and task tokens
  std::string project;       // limits it to one project
  Grade role = Grade::none;  // limits it to at most this role; none: as the user
  std::string job_id, task_id;
  Time created_at, expires_at, revoked_at;
  int64_t version = 0;
  bool operator==(const Token&) const = default;
};
template <>
struct Describe<Token> {
  static constexpr std::string_view name = "Token",
                                    doc = "A key to the API; its text is shown once.";
  static void fields(Fields<Token>& f) {
    f("id", &Token::id, "ULID").output_only();
    f("name", &Token::name, "for people").required().max(128);
    f("kind", &Token::kind, "whom it speaks for").output_only();
    f("hash", &Token::hash, "digest of its text").secret().output_only();
    f("user", &Token::user, "whose it is").output_only();
    f("project", &Token::project, "valid in this project alone");
    f("role", &Token::role, "at most this role; none: as its user");
    f("job_id", &Token::job_id, "valid for this job alone").output_only();
    f("task_id", &Token::task_id, "valid for this task alone").output_only();
    f("created_at", &Token::created_at, "when").output_only();
    f("expires_at", &Token::expires_at, "refused from then on; absent: never");
    f("revoked_at", &Token::revoked_at, "when it was revoked").output_only();
    f("version", &Token::version, "counts changes").output_only();
  }
};

struct Secret {
  std::string id, name, project;
  std::string sealed;  // base64 of nonce + AES-256-GCM; bound to project and name
  std::string created_by;
  Time created_at, updated_at;
  int64_t version = 0;
  bool operator==(const Secret&) const = default;
};
template <>
struct Describe<Secret> {
  static constexpr std::string_view name = "Secret", doc = "A value that jobs get as a variable.";
  static void fields(Fields<Secret>& f) {
    f("id", &Secret::id, "ULID").output_only();
    f("name", &Secret::name, "the variable's name")
        .required()
        .matches("[A-Za-z_][A-Za-z0-9_]{0,126}", "letters, digits and '_', no digit first");
    f("project", &Secret::project, "project name").output_only();
    f("sealed", &Secret::sealed, "the value, encrypted").secret().output_only();
    f("created_by", &Secret::created_by, "user name").output_only();
    f("created_at", &Secret::created_at, "when").output_only();
    f("updated_at", &Secret::updated_at, "when it was last set").output_only();
    f("version", &Secret::version, "counts changes").output_only();
  }
};

}  // namespace hearth
