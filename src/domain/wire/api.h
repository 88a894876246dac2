// Bodies of the public API that are not nouns themselves.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "domain/capacity.h"
#include "domain/dataset.h"
#include "domain/job.h"
#include "domain/project.h"

namespace hearth {

struct SubmitBody {
  std::string yaml;
  AnyJson spec;
  std::vector<std::string> set;
  std::string code_digest;
  GitState git;
  bool operator==(const SubmitBody&) const = default;
};
template <>
struct Describe<SubmitBody> {
  static constexpr std::string_view name = "Submit", doc = "A job to run: yaml or spec.";
  static void fields(Fields<SubmitBody>& f) {
    f("yaml", &SubmitBody::yaml, "the job file as it is").max(1 << 20);
    f("spec", &SubmitBody::spec, "or the same as an object");
    f("set", &SubmitBody::set, "changes to it: params.lr=0.1").max(1000);
    f("code_digest", &SubmitBody::code_digest, "uploaded bundle of its code")
        .matches("sha256:[0-9a-f]{64}", "sha256: and 64 hex digits");
    f("git", &SubmitBody::git, "where the code came from");
  }
};

struct QuotaCheck {
  std::string project;
  Amounts asks, used, guaranteed, limit;
  bool operator==(const QuotaCheck&) const = default;
};
template <>
struct Describe<QuotaCheck> {
  static constexpr std::string_view name = "QuotaCheck", doc = "A job beside its project's quota.";
  static void fields(Fields<QuotaCheck>& f) {
    f("project", &QuotaCheck::project, "whose").required();
    f("asks", &QuotaCheck::asks, "what all tasks of the job need").required();
    f("used", &QuotaCheck::used, "by the project and those below it now").required();
    f("guaranteed", &QuotaCheck::guaranteed, "what the project has whenever it asks").required();
    f("limit", &QuotaCheck::limit, "what it never passes").required();
  }
};

struct StartGuess {
  double in_seconds = 0, from_seconds = 0, to_seconds = 0;
  int64_t learnt_from = 0;
  bool operator==(const StartGuess&) const = default;
};
template <>
struct Describe<StartGuess> {
  static constexpr std::string_view name = "StartGuess", doc = "When a job will probably start.";
  static void fields(Fields<StartGuess>& f) {
    f("in_seconds", &StartGuess::in_seconds, "half of the times it starts sooner");
    f("from_seconds", &StartGuess::from_seconds, "8 of 10 starts lie between this");
    f("to_seconds", &StartGuess::to_seconds, "... and this");
    f("learnt_from", &StartGuess::learnt_from,
      "past starts that the interval goes by; few: it is rough");
  }
};

struct RetryBody {
  std::string checkpoint;
  bool operator==(const RetryBody&) const = default;
};
template <>
struct Describe<RetryBody> {
  static constexpr std::string_view name = "Retry", doc = "How a job is tried again.";
  static void fields(Fields<RetryBody>& f) {
    f("checkpoint", &RetryBody::checkpoint,
      "id of one of its checkpoints, to go on from; default: the newest")
        .max(64);
  }
};

struct LiveBody {
  std::map<std::string, AnyJson> values;
  bool operator==(const LiveBody&) const = default;
};
template <>
struct Describe<LiveBody> {
  static constexpr std::string_view name = "LiveChanges", doc = "Wanted live parameters.";
  static void fields(Fields<LiveBody>& f) {
    f("values", &LiveBody::values, "name to value").required().min(1).max(100);
  }
};

struct SignInBody {
  std::string code, token;
  bool operator==(const SignInBody&) const = default;
};
template <>
struct Describe<SignInBody> {
  static constexpr std::string_view name = "SignIn", doc = "The code of a link, or a token.";
  static void fields(Fields<SignInBody>& f) {
    f("code", &SignInBody::code, "of a sign-in link; good once").max(256);
    f("token", &SignInBody::token, "a token of the user's").max(256);
    f.one_of();
  }
};

struct SignInCodeBody {
  std::string user;
  bool operator==(const SignInCodeBody&) const = default;
};
template <>
struct Describe<SignInCodeBody> {
  static constexpr std::string_view name = "NewSignInCode", doc = "Asks for a sign-in link.";
  static void fields(Fields<SignInCodeBody>& f) {
    f("user", &SignInCodeBody::user, "for whom; default: oneself. Others need an admin").max(64);
  }
};

struct RedeemBody {
  std::string code, name;
  bool operator==(const RedeemBody&) const = default;
};
template <>
struct Describe<RedeemBody> {
  static constexpr std::string_view name = "RedeemSignInCode", doc = "Asks for a token by a link.";
  static void fields(Fields<RedeemBody>& f) {
    f("code", &RedeemBody::code, "of a sign-in link; good once").min(1).max(256).required();
    f("name", &RedeemBody::name, "of the new token").min(1).max(128).required();
  }
};

struct SignInLink {
  std::string link, user;
  Time expires_at;
  bool operator==(const SignInLink&) const = default;
};
template <>
struct Describe<SignInLink> {
  static constexpr std::string_view name = "SignInLink", doc = "Opens the page, signed in; once.";
  static void fields(Fields<SignInLink>& f) {
    f("link", &SignInLink::link, "address with the code in its fragment");
    f("user", &SignInLink::user, "who is signed in by it");
    f("expires_at", &SignInLink::expires_at, "good until then");
  }
};

struct WhoAmI {
  std::string kind, user, project, role, job_id, server_id, version;
  bool admin = false;
  bool operator==(const WhoAmI&) const = default;
};
template <>
struct Describe<WhoAmI> {
  static constexpr std::string_view name = "WhoAmI", doc = "Whom the token speaks for.";
  static void fields(Fields<WhoAmI>& f) {
    f("kind", &WhoAmI::kind, "user, project, session, job or task");
    f("user", &WhoAmI::user, "user name");
    f("admin", &WhoAmI::admin, "may do everything");
    f("project", &WhoAmI::project, "the token is valid there alone");
    f("role", &WhoAmI::role, "the most it may do");
    f("job_id", &WhoAmI::job_id, "of a job's token");
    f("server_id", &WhoAmI::server_id, "of this installation");
    f("version", &WhoAmI::version, "of the server");
  }
};

// The text of the token is in `token`, and nowhere else, ever.
struct NewTokenResult {
  Token about;
  std::string token;
  bool operator==(const NewTokenResult&) const = default;
};
template <>
struct Describe<NewTokenResult> {
  static constexpr std::string_view name = "NewToken", doc = "A token, shown this once.";
  static void fields(Fields<NewTokenResult>& f) {
    f("about", &NewTokenResult::about, "what it may do");
    f("token", &NewTokenResult::token, "its text");
  }
};

struct NewUserBody {
  std::string name, project = "default";
  Grade role = Grade::member;
  bool admin = false;
  bool operator==(const NewUserBody&) const = default;
};
template <>
struct Describe<NewUserBody> {
  static constexpr std::string_view name = "NewUser", doc = "A person to add.";
  static void fields(Fields<NewUserBody>& f) {
    f("name", &NewUserBody::name, "unique name")
        .required()
        .matches("[a-z0-9][a-z0-9._@-]{0,62}",
                 "a-z, 0-9, '.', '_', '@', '-', at most 63 characters");
    f("project", &NewUserBody::project, "where the role holds").max(64);
    f("role", &NewUserBody::role, "what he may do there");
    f("admin", &NewUserBody::admin, "may do everything everywhere");
  }
};
struct NewUserResult {
  User user;
  std::string link;
  bool operator==(const NewUserResult&) const = default;
};
template <>
struct Describe<NewUserResult> {
  static constexpr std::string_view name = "NewUserResult", doc = "The user and his first link.";
  static void fields(Fields<NewUserResult>& f) {
    f("user", &NewUserResult::user, "who was added");
    f("link", &NewUserResult::link, "signs him in, once, within 72 h");
  }
};

struct UserChange {
  std::optional<bool> disabled;
  bool operator==(const UserChange&) const = default;
};
template <>
struct Describe<UserChange> {
  static constexpr std::string_view name = "UserChange", doc = "What to change of a user.";
  static void fields(Fields<UserChange>& f) {
    f("disabled", &UserChange::disabled, "true: may not sign in any more").required();
  }
};

struct RoleBody {
  Grade role = Grade::viewer;
  bool operator==(const RoleBody&) const = default;
};
template <>
struct Describe<RoleBody> {
  static constexpr std::string_view name = "RoleChange", doc = "A user's role in a project.";
  static void fields(Fields<RoleBody>& f) {
    f("role", &RoleBody::role, "none removes it").required();
  }
};

struct SecretBody {
  std::string value;
  bool operator==(const SecretBody&) const = default;
};
template <>
struct Describe<SecretBody> {
  static constexpr std::string_view name = "SecretValue", doc = "The value of a secret.";
  static void fields(Fields<SecretBody>& f) {
    f("value", &SecretBody::value, "kept encrypted; never shown again").required().max(65'536);
  }
};

struct UploadBody {
  std::string digest;
  int64_t size_bytes = 0;
  bool operator==(const UploadBody&) const = default;
};
template <>
struct Describe<UploadBody> {
  static constexpr std::string_view name = "NewUpload", doc = "An object to be sent.";
  static void fields(Fields<UploadBody>& f) {
    f("digest", &UploadBody::digest, "of the whole")
        .required()
        .matches("sha256:[0-9a-f]{64}", "sha256: and 64 hex digits");
    f("size_bytes", &UploadBody::size_bytes, "of the whole").required().min(0);
  }
};
struct UploadResult {
  std::string id;
  int64_t received_bytes = 0;
  bool operator==(const UploadResult&) const = default;
};
template <>
struct Describe<UploadResult> {
  static constexpr std::string_view name = "Upload", doc = "How far an upload is.";
  static void fields(Fields<UploadResult>& f) {
    f("id", &UploadResult::id, "of the upload");
    f("received_bytes", &UploadResult::received_bytes, "go on from there");
  }
};
struct StoredResult {
  std::string digest;
  int64_t size_bytes = 0;
  bool operator==(const StoredResult&) const = default;
};
template <>
struct Describe<StoredResult> {
  static constexpr std::string_view name = "StoredObject", doc = "An object that is here.";
  static void fields(Fields<StoredResult>& f) {
    f("digest", &StoredResult::digest, "sha256:...");
    f("size_bytes", &StoredResult::size_bytes, "length");
  }
};

struct DatasetVersionBody {
  Manifest manifest;
  std::string in_place;
  std::vector<std::string> tags;
  bool operator==(const DatasetVersionBody&) const = default;
};
template <>
struct Describe<DatasetVersionBody> {
  static constexpr std::string_view name = "NewDatasetVersion", doc = "A version to add.";
  static void fields(Fields<DatasetVersionBody>& f) {
    f("manifest", &DatasetVersionBody::manifest, "its files; their objects are here").required();
    f("in_place", &DatasetVersionBody::in_place, "directory of the node the files stay in")
        .max(4096);
    f("tags", &DatasetVersionBody::tags, "names that point at it").max(64);
  }
};

struct AliasBody {
  int64_t number = 0;
  bool operator==(const AliasBody&) const = default;
};
template <>
struct Describe<AliasBody> {
  static constexpr std::string_view name = "AliasChange", doc = "Where an alias points.";
  static void fields(Fields<AliasBody>& f) {
    f("number", &AliasBody::number, "of the version; 0 removes the alias").required().min(0);
  }
};

struct MetricHistoryPoint {
  int64_t step = 0;
  Time time;
  double value = 0;
  bool operator==(const MetricHistoryPoint&) const = default;
};
template <>
struct Describe<MetricHistoryPoint> {
  static constexpr std::string_view name = "MetricPoint", doc = "One logged value.";
  static void fields(Fields<MetricHistoryPoint>& f) {
    f("step", &MetricHistoryPoint::step, "training step");
    f("time", &MetricHistoryPoint::time, "when");
    f("value", &MetricHistoryPoint::value, "the value");
  }
};
struct MetricHistory {
  std::string key;
  std::vector<MetricHistoryPoint> points;
  bool operator==(const MetricHistory&) const = default;
};
template <>
struct Describe<MetricHistory> {
  static constexpr std::string_view name = "MetricHistory", doc = "A metric over steps.";
  static void fields(Fields<MetricHistory>& f) {
    f("key", &MetricHistory::key, "name of the metric");
    f("points", &MetricHistory::points, "by step; down-sampled keeping extremes");
  }
};

// A backup that was made and put away. `host` and `path`: where, as who put it there says.
struct KeptBackup {
  std::string id, host, path;
  Time created_at;
  int64_t size_bytes = 0;
  bool operator==(const KeptBackup&) const = default;
};
template <>
struct Describe<KeptBackup> {
  static constexpr std::string_view name = "KeptBackup", doc = "A backup and where it was put.";
  static void fields(Fields<KeptBackup>& f) {
    f("id", &KeptBackup::id, "as given to GET /api/v1/backup").required().max(64);
    f("host", &KeptBackup::host, "the machine it lies on").max(253);
    f("path", &KeptBackup::path, "where it lies there").required().max(4096);
    f("created_at", &KeptBackup::created_at, "its state; said by the server");
    f("size_bytes", &KeptBackup::size_bytes, "length; said by the server");
  }
};

// How long the server keeps what goes by itself, in seconds.
struct KeptFor {
  double deleted_runs_seconds = 0, events_seconds = 0;
  double logs_seconds = 0;  // 0: for ever
  bool operator==(const KeptFor&) const = default;
};
template <>
struct Describe<KeptFor> {
  static constexpr std::string_view name = "KeptFor", doc = "How long what goes by itself is kept.";
  static void fields(Fields<KeptFor>& f) {
    f("deleted_runs_seconds", &KeptFor::deleted_runs_seconds, "a deleted run can be restored");
    f("events_seconds", &KeptFor::events_seconds,
      "events, the audit trail and webhooks' deliveries");
    f("logs_seconds", &KeptFor::logs_seconds, "lines of tasks; 0: for ever");
  }
};

struct ServerStatus {
  bool ready = true;
  std::string version, server_id, url, refusing, mend, lent;
  std::optional<KeptBackup> last_backup;
  double uptime_seconds = 0, clock_ahead_seconds = 0;
  bool draining = false;
  int64_t waits_for_tasks = 0;
  std::map<std::string, int64_t> jobs;
  KeptFor kept;
  bool operator==(const ServerStatus&) const = default;
};
template <>
struct Describe<ServerStatus> {
  static constexpr std::string_view name = "ServerStatus", doc = "How the server is.";
  static void fields(Fields<ServerStatus>& f) {
    f("ready", &ServerStatus::ready, "answers and writes");
    f("version", &ServerStatus::version, "of the program");
    f("server_id", &ServerStatus::server_id, "of the installation");
    f("url", &ServerStatus::url, "its address");
    f("refusing", &ServerStatus::refusing, "why it writes nothing, if so");
    f("mend", &ServerStatus::mend, "what to do about that");
    f("last_backup", &ServerStatus::last_backup, "the newest backup that was put away");
    f("clock_ahead_seconds", &ServerStatus::clock_ahead_seconds,
      "its clock less the machine's, whose jumps it leaves out while jobs run");
    f("uptime_seconds", &ServerStatus::uptime_seconds, "since its start");
    f("draining", &ServerStatus::draining,
      "starts no job any more, and ends when no task runs (`hearth down --drain`)");
    f("waits_for_tasks", &ServerStatus::waits_for_tasks,
      "while it is drained: how many tasks still run");
    f("jobs", &ServerStatus::jobs, "how many jobs are in each state");
    f("lent", &ServerStatus::lent, "which nodes a topology file lends, in words");
    f("kept", &ServerStatus::kept, "how long what goes by itself is kept");
  }
};

// RFC 9457; every error of the API.
struct Problem {
  std::string type = "about:blank", title, code, detail, mend, request_id;
  int64_t status = 500;
  std::vector<FieldError> errors;
  bool operator==(const Problem&) const = default;
};
template <>
struct Describe<FieldError> {
  static constexpr std::string_view name = "FieldError", doc = "One mistake in the input.";
  static void fields(Fields<FieldError>& f) {
    f("path", &FieldError::path, "where in the input");
    f("line", &FieldError::line, "from 1; 0: unknown");
    f("found", &FieldError::found, "what stands there");
    f("allowed", &FieldError::allowed, "what may stand there");
    f("mend", &FieldError::mend, "what to do about it");
  }
};

struct CheckResult {
  JobSpec spec;
  bool runnable = false;
  Reason reason;
  std::optional<QuotaCheck> quota;
  std::optional<StartGuess> start;
  std::vector<FieldError> errors;
  bool operator==(const CheckResult&) const = default;
};
template <>
struct Describe<CheckResult> {
  static constexpr std::string_view name = "CheckResult", doc = "What a submit would do.";
  static void fields(Fields<CheckResult>& f) {
    f("spec", &CheckResult::spec, "the job file, decoded");
    f("runnable", &CheckResult::runnable, "it can start some time");
    f("reason", &CheckResult::reason, "why it would wait; code `now` when it would start at once");
    f("quota", &CheckResult::quota, "what it asks for beside what its project may have");
    f("start", &CheckResult::start, "absent: nobody can tell");
    f("errors", &CheckResult::errors,
      "with `report`: what is wrong in the file, and then that alone");
  }
};
template <>
struct Describe<Problem> {
  static constexpr std::string_view name = "Problem", doc = "What went wrong (RFC 9457).";
  static void fields(Fields<Problem>& f) {
    f("type", &Problem::type, "about:blank");
    f("title", &Problem::title, "of the HTTP status");
    f("status", &Problem::status, "HTTP status");
    f("code", &Problem::code, "for programs");
    f("detail", &Problem::detail, "what happened");
    f("mend", &Problem::mend, "what can be done about it");
    f("errors", &Problem::errors, "each mistake in the input");
    f("request_id", &Problem::request_id, "of this request");
  }
};

struct TagsBody {
  std::map<std::string, std::string> tags;
  bool operator==(const TagsBody&) const = default;
};
template <>
struct Describe<TagsBody> {
  static constexpr std::string_view name = "Tags", doc = "Tags to set.";
  static void fields(Fields<TagsBody>& f) {
    f("tags", &TagsBody::tags,
      "name to value, each of at most 5000 bytes; an empty value takes the tag away")
        .required()
        .min(1)
        .max(100)
        .matches({"[^\0]+", 5}, "1 character or more");
  }
};

struct DigestsBody {
  std::vector<std::string> digests;
  bool operator==(const DigestsBody&) const = default;
};
template <>
struct Describe<DigestsBody> {
  static constexpr std::string_view name = "Digests", doc = "Objects that are asked for.";
  static void fields(Fields<DigestsBody>& f) {
    f("digests", &DigestsBody::digests, "of the objects")
        .required()
        .max(10'000)
        .matches("sha256:[0-9a-f]{64}", "sha256: and 64 hex digits");
  }
};
struct StoredObjects {
  std::map<std::string, int64_t> sizes;
  bool operator==(const StoredObjects&) const = default;
};
template <>
struct Describe<StoredObjects> {
  static constexpr std::string_view name = "StoredObjects", doc = "Those that are here.";
  static void fields(Fields<StoredObjects>& f) {
    f("sizes", &StoredObjects::sizes, "digest to size in bytes; kept for an hour");
  }
};

}  // namespace hearth
