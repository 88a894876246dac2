#include "app/server.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <deque>
#include <mutex>
#include <thread>

#include <sys/stat.h>
#include <unistd.h>

#include "api/api.h"
#include "app/prometheus.h"
#include "app/sdk.h"
#include "app/version.h"
#include "base/even_clock.h"
#include "base/format.h"
#include "base/id.h"
#include "base/log.h"
#include "client/contexts.h"
#include "control/backup/backup.h"
#include "control/backup/holders.h"
#include "control/backup/last_backup.h"
#include "control/filter_regex.h"
#include "control/notify/notify.h"
#include "control/retention/retention.h"
#include "control/templates.h"
#include "db/sqlite/sqlite.h"
#include "domain/describe.h"
#include "domain/topology.h"
#include "executors/local/local_executor.h"
#include "executors/local/task_folder.h"
#include "executors/mock/mock_executor.h"
#include "net/server.h"
#include "objects/directory/directory.h"
#include "os/files.h"
#include "os/system.h"

namespace hearth {

template <>
struct Describe<app::ServerFile> {
  static constexpr std::string_view name = "ServerFile", doc = "Who runs on a data directory.";
  static void fields(Fields<app::ServerFile>& f) {
    f("pid", &app::ServerFile::pid, "process");
    f("url", &app::ServerFile::url, "address");
    f("server_id", &app::ServerFile::server_id, "of the installation");
    f("version", &app::ServerFile::version, "of the program");
    f("lent", &app::ServerFile::lent, "which nodes a topology file lends it");
  }
};

namespace app {

std::string to_text(const ServerFile& file) {
  return to_json(file) + "\n";
}

Result<ServerFile> read_server_file(const std::string& path) {
  return from_json<ServerFile>(TRY(os::read_file(path, 1 << 16)));
}

namespace {

constexpr Duration kStopGrace = Duration::seconds(5);

struct Address {
  std::string host;
  int port = 0;
};

// "127.0.0.1:8470", "[::1]:8470"
Result<Address> parse_address(const std::string& text) {
  const auto wrong = [&] {
    return Error::invalid(format("--listen '{}' is not an address and a port", text),
                          "write it as 127.0.0.1:8470 or [::1]:8470; port 0 takes a free one");
  };
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) return wrong();
  Address address;
  address.host = text.substr(0, colon);
  if (address.host.starts_with('[') && address.host.ends_with(']'))
    address.host = address.host.substr(1, address.host.size() - 2);
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data() + colon + 1, end, address.port);
  if (parsed.ec != std::errc() || parsed.ptr != end || address.port < 0 || address.port > 65535 ||
      address.host.empty())
    return wrong();
  return address;
}

bool is_loopback(const std::string& host) {
  return host.starts_with("127.") || host == "::1" || host == "localhost";
}

Result<Duration> parse_kept(std::string_view option, const std::string& text) {
  const auto kept = parse_duration(text);
  if (kept.ok() && kept->micros > 0) return *kept;
  return Error::invalid(format("{} '{}' is no time above zero", option, text), "write it as 30d");
}

Result<std::optional<std::pair<int64_t, int64_t>>> parse_uids(const std::string& text) {
  using Uids = std::optional<std::pair<int64_t, int64_t>>;
  if (text.empty()) return Uids();
  int64_t first = 0, last = 0;
  const size_t dash = text.find('-');
  const auto number = [](std::string_view part, int64_t& value) {
    const auto parsed = std::from_chars(part.data(), part.data() + part.size(), value);
    return parsed.ec == std::errc() && parsed.ptr == part.data() + part.size();
  };
  if (dash == std::string::npos || !number(std::string_view(text).substr(0, dash), first) ||
      !number(std::string_view(text).substr(dash + 1), last) || first < 1 || last < first)
    return Error::invalid(format("--task-uids '{}' is not a range of uids", text),
                          "write it as 200000-265535");
  if (geteuid() != 0)
    return Error::invalid("--task-uids needs root", "start the server as root, or leave it out");
  return Uids(std::pair(first, last));
}

class RunningServer : public HearthServer {
 public:
  RunningServer(const cli::UpArgs& args, DataPaths paths) : args_(args), paths_(std::move(paths)) {}
  ~RunningServer() override { stop(); }

  Result<void> open() {
    const Address address = TRY(parse_address(args_.listen));
    if (!is_loopback(address.host) && args_.tls_cert.empty() && !args_.insecure)
      return Error::invalid(
          format("plain HTTP beyond loopback ({}) shows tokens to the network", address.host),
          "give --tls-cert and --tls-key, or --insecure if a proxy does TLS");
    lent_ = TRY(read_lent());
    TRY(db::check_place(paths_.state()));  // before anything is made there
    TRY(control::check_restored(paths_.root));
    TRY(make_data_directories(paths_));
    lock_.emplace(TRY(take_lock()));
    TRY(clear_temporary());
    TRY(executors::check_orders(paths_.work()));
    const std::string key_path = args_.key_file.empty() ? paths_.key() : args_.key_file;
    const std::string key = TRY(load_or_make_key(key_path));
    TRY(open_database());
    TRY(open_objects());
    sdk_ = TRY(unpack_sdk(paths_.sdk()));

    const auto bytes = as_bytes(key);
    access_ = std::make_unique<control::Access>(context(), Bytes(bytes.begin(), bytes.end()));
    const auto first = TRY(access_->bootstrap(os::user_name(geteuid())));
    if (const auto closed = TRY(access_->closed_secrets()); !closed.empty())
      log_warning(
          "the key of this server does not open the secrets {}: set them anew, or give "
          "the key they were sealed with (--key-file)",
          join(closed, ", "));
    TRY(open_services());
    TRY(open_executor());
    TRY(listen(address));
    if (first)
      TRY(write_context(*first));
    else
      TRY(refresh_context());
    return start_all();
  }

  const std::string& url() const override { return url_; }

  Result<std::string> sign_in_link() override {
    const Identity admin = access_->local_admin("");
    const std::string code =
        TRY(access_->make_sign_in_code(admin, admin.user, Duration::seconds(15 * 60)));
    return (args_.public_urls.empty() ? url_ : args_.public_urls.front()) + "/sign-in#" + code;
  }

  Result<void> reload() override { return server_->reload_certificate(); }
  void hold() override {
    draining_ = true;
    jobs_->hold();
  }
  bool held() const override { return draining_; }
  bool idle() override { return count_tasks() == 0; }
  void release() override {
    draining_ = false;
    jobs_->release();
  }

  int64_t stop() override {
    if (!running_) return 0;
    running_ = false;
    const int64_t tasks = count_tasks();
    ignore(os::remove_file(paths_.server_file()));
    server_->stop(kStopGrace);
    notify_->stop();
    retention_->stop();
    jobs_->stop();
    tracking_->stop();
    ingest_->stop();
    return tasks;
  }

 private:
  control::Context context() { return {*database_, *objects_, signals_, clock_, system_random()}; }

  std::string advice() const {
    return control::advice_on_damage(paths_.last_backup(), paths_.root);
  }

  Result<void> open_database() {
    db::SqliteOptions sqlite;
    sqlite.path = paths_.database();
    sqlite.damage_advice = [this] { return advice(); };
    auto opened = db::open_sqlite(sqlite);
    if (opened.ok()) {
      database_ = std::move(*opened);
      return database_->migrate();
    }
    if (opened.error().code == Code::internal) opened.error().mend = advice();
    return std::move(opened).error();
  }

  // Damage of an object stops all writing, as that of the database does: what is built on it is
  // wrong as well.
  Result<void> open_objects() {
    objects::DirectoryOptions options;
    options.clock = &clock_;
    options.damaged = [this](const std::string& digest) -> objects::DirectoryOptions::Advice {
      const std::string whose = control::holders_of(*database_, digest);
      refuse_for(digest, whose);
      return {whose, advice()};
    };
    auto opened = TRY(objects::DirectoryObjects::open(paths_.objects(), options));
    for (const std::string& digest : TRY(opened->damaged())) {
      const std::string whose = control::holders_of(*database_, digest);
      if (!whose.empty()) refuse_for(digest, whose);
    }
    objects_ = std::move(opened);
    return {};
  }
  void refuse_for(const std::string& digest, const std::string& whose) {
    database_->refuse(format("object {} ({}) is damaged; what is left of it lies in {}/damaged",
                             digest, whose.empty() ? "nobody's" : whose, paths_.objects()));
  }

  // Why nothing is written, if so; `internal` when that is damage.
  std::optional<Error> not_ready() {
    if (!database_->refusing().empty()) {
      const auto tried = database_->write([](db::Session&) -> Result<void> { return {}; });
      if (!tried.ok()) {
        Error error = tried.error();
        if (error.mend == advice()) error.code = Code::internal;
        return error;
      }
    }
    if (const std::string why = objects_->refusing(); !why.empty())
      return Error::unavailable(why, "look at the disk (dmesg), then restart the server");
    return std::nullopt;
  }

  Result<os::FileLock> take_lock() {
    auto lock = os::FileLock::acquire(paths_.lock());
    if (lock.ok()) return lock;
    const auto holder = os::lock_holder(paths_.lock());
    if (holder.ok() && *holder)
      return Error::conflict(format("a server already runs on {} (pid {})", paths_.root, **holder),
                             "`hearth status` shows it, `hearth down` stops it");
    return lock;
  }

  Result<std::vector<NodeInfo>> read_lent() const {
    if (args_.topology.empty()) return std::vector<NodeInfo>();
    const std::string text = TRY(os::read_file(args_.topology, kMostDocumentBytes));
    auto file = parse_topology(text);
    if (!file.ok()) return std::move(file).error().with("--topology " + args_.topology);
    return nodes_of(*file);
  }

  Result<void> open_executor() {
    if (args_.mock_executor) {
      executors::MockOptions mock;
      mock.own_thread = true;
      mock.nodes = 2;
      mock.gpus = 8;
      mock.sync = [this](const TaskSpec& spec, const SyncHead& head) {
        return mock_sync(spec, head);
      };
      executor_ = std::make_unique<executors::MockExecutor>(std::move(mock), system_clock());
      return {};
    }
    executors::LocalOptions options;
    options.work_directory = paths_.work();
    options.shim = {TRY(os::own_executable()), "shim"};
    // This very program, also after an upgrade has put another one in its place.
    options.program = "/proc/self/exe";
    options.lent = lent_;
    if (!lent_.empty()) log_info("{}", lent_words(lent_));
    executor_ = TRY(executors::LocalExecutor::open(std::move(options), system_clock()));
    return {};
  }

  // A mock task's states come in as a shim's would.
  Result<SyncAnswer> mock_sync(const TaskSpec& spec, const SyncHead& head) {
    Identity who;
    who.kind = TokenKind::task;
    who.project = spec.project;
    who.job_id = spec.job_id;
    who.task_id = spec.task_id;
    if (head.states.empty() && head.records.empty())
      return ingest_->newest(who, spec.task_id, head);
    return ingest_->sync(who, spec.task_id, head, "");
  }

  Result<void> open_services() {
    control::IngestOptions ingest;
    ingest.directory = paths_.logs();
    ingest_ = std::make_unique<control::Ingest>(context(), ingest);
    control::use_regex_in_filters();
    control::RecordsOptions records;
    records.path_roots = args_.path_roots;
    records_ = std::make_unique<control::Records>(context(), *access_, records);
    control::TrackingOptions tracking;
    tracking.keep_deleted = TRY(parse_kept("--keep-deleted", args_.keep_deleted));
    tracking_ = std::make_unique<control::Tracking>(context(), *access_, tracking);
    control::NotifyOptions notify;
    notify.enabled = args_.webhooks;
    notify.allow_local = args_.webhooks_local;
    notify_ = std::make_unique<control::Notify>(context(), *access_, notify);
    control::RetentionOptions retention;
    retention.event_life = TRY(parse_kept("--keep-events", args_.keep_events));
    if (!args_.keep_logs.empty())
      retention.log_life = TRY(parse_kept("--keep-logs", args_.keep_logs));
    retention_ = std::make_unique<control::Retention>(context(), retention);
    kept_ = {.deleted_runs_seconds = tracking.keep_deleted.seconds(),
             .events_seconds = retention.event_life.seconds(),
             .logs_seconds = retention.log_life.seconds()};
    return {};
  }

  Result<void> listen(const Address& address) {
    net::ServerOptions options;
    net::ServerOptions::Listen tcp, local;
    tcp.address = address.host == "localhost" ? "127.0.0.1" : address.host;
    tcp.port = address.port;
    local.unix_path = paths_.socket();
    options.listen = {tcp, local};
    options.tls_certificate = args_.tls_cert;
    options.tls_key = args_.tls_key;
    options.trusted_proxies = args_.trusted_proxies;
    options.temporary_directory = paths_.temporary();
    server_ = TRY(net::Server::create(std::move(options), late_, signals_));
    const std::string scheme = args_.tls_cert.empty() ? "http" : "https";
    const std::string host =
        address.host == "0.0.0.0" || address.host == "::" ? os::hostname() : address.host;
    url_ = format("{}://{}:{}", scheme,
                  host.find(':') == std::string::npos ? host : "[" + host + "]", server_->port());
    return {};
  }

  Result<void> start_all() {
    control::JobsOptions options;
    options.server_socket = paths_.socket();
    options.server_url = url_;
    options.objects_directory = paths_.objects();
    options.path_roots = args_.path_roots;
    options.task_uids = TRY(parse_uids(args_.task_uids));
    options.clock = &clock_;
    options.part_done = [this](const std::string& run) { return records_->part_done(run); };
    jobs_ = std::make_unique<control::Jobs>(context(), *access_, *executor_, options);
    const control::ClusterView view{[this] { return jobs_->cluster_nodes(); },
                                    [this] { return jobs_->cluster_use(); }};
    capacity_ = std::make_unique<control::Capacity>(context(), *access_, view);
    what_ifs_ = std::make_unique<control::WhatIfs>(context(), *access_, view);
    api::Services services{
        context(),
        *access_,
        *jobs_,
        *capacity_,
        *what_ifs_,
        *ingest_,
        *records_,
        *tracking_,
        control::put_templates(context(), paths_.temporary()),
        prometheus_text,
        [this] { return not_ready(); },
        [this](const std::string& id) { return backup(id); },
        [this](const KeptBackup& kept) { return keep_backup(kept); },
        [this] { return control::last_backup(paths_.last_backup()); },
        [this] { return clock_.ahead(); },
        [this] { return draining_ ? std::optional(count_tasks()) : std::nullopt; }};
    api::Options api_options;
    api_options.url = url_;
    api_options.public_urls = args_.public_urls;
    api_options.version = kVersion;
    api_options.mlflow_artifact_root = args_.mlflow_artifact_root;
    api_options.page_directory = args_.page;
    api_options.kept = kept_;
    api_options.owner_uid = static_cast<int>(geteuid());
    late_.inner = api::make_handler(std::move(services), api_options);
    TRY(ingest_->start());
    TRY(tracking_->start());
    // The shims of an earlier server report as soon as we answer; the loop finds them by recover().
    server_->start();
    running_ = true;
    TRY(jobs_->start());
    notify_->start();
    retention_->start();
    ServerFile file{getpid(), url_, access_->server_id(), std::string(kVersion), lent_words(lent_)};
    return os::write_file_atomic(paths_.server_file(), to_text(file), 0600, os::Sync::no);
  }

  // So that the command line of whoever made the server works at once.
  Result<void> write_context(const control::NewToken& token) {
    auto contexts = TRY(client::load_contexts());
    const std::string id = access_->server_id();
    client::ServerContext context;
    context.url = url_;
    context.token = token.text;
    context.user = token.token.user;
    context.server_id = id;
    context.data = paths_.root;
    if (!args_.tls_cert.empty()) context.ca_file = args_.tls_cert;
    contexts.contexts[id] = std::move(context);
    contexts.current = id;
    return client::save_contexts(contexts);
  }

  // After a start on another port, or of a restored directory: who knew the server still does.
  Result<void> refresh_context() {
    auto contexts = client::load_contexts();
    if (!contexts.ok()) return {};  // the user's own file; a server does not end for it
    const client::Contexts before = *contexts;
    const std::string id = access_->server_id();
    const std::string name =
        client::place_server(*contexts, id, url_, paths_.root, [](const std::string& data) {
          const auto holder = os::lock_holder(DataPaths{data}.lock()).value_or(std::nullopt);
          return holder && *holder != getpid();
        });
    if (!name.empty() && name != id)
      log_warning(
          "{} is of the same installation and stays what commands mean by {}; this server: "
          "hearth --context {}",
          before.contexts.at(id).data, id, name);
    if (*contexts == before) return {};
    const auto saved = client::save_contexts(*contexts);
    if (!saved.ok()) log_warning("{}", saved.error().text());
    return {};
  }

  Result<api::MadeFile> backup(const std::string& id) {
    if (auto why = not_ready(); why && why->code == Code::internal) return std::move(*why);
    auto folder = std::make_shared<os::TemporaryDirectory>(
        TRY(os::TemporaryDirectory::make("backup", paths_.temporary())));
    std::string file = *folder / "hearth-backup.tar";
    KeptBackup made;
    made.id = id;
    made.created_at = clock_.now();
    const auto report = TRY(control::backup(context(), *retention_, paths_.logs(), file, {}));
    if (!report.damaged.empty())  // a backup is whole, or it is none
      return Error::internal(format("{} object(s) are damaged, the first is {}",
                                    report.damaged.size(), report.damaged.front()),
                             advice());
    made.size_bytes = TRY(os::status(file)).st_size;
    const std::lock_guard lock(backups_mutex_);
    backups_.push_back(std::move(made));
    if (backups_.size() > kMostBackups) backups_.pop_front();
    return api::MadeFile{std::move(file), std::move(folder)};
  }

  // Bodies and backups that a server was killed over.
  Result<void> clear_temporary() {
    for (const os::Entry& entry : TRY(os::list_directory(paths_.temporary())))
      TRY(os::remove_tree(paths_.temporary() + "/" + entry.name));
    return {};
  }

  // Somebody has put one of our backups away, whole.
  Result<KeptBackup> keep_backup(const KeptBackup& kept) {
    const std::lock_guard lock(backups_mutex_);
    const auto made = std::ranges::find(backups_, kept.id, &KeptBackup::id);
    if (kept.id.empty() || made == backups_.end())
      return Error::not_found(format("no backup was given out as '{}'", kept.id),
                              "GET /api/v1/backup?id=ID makes one");
    KeptBackup backup = *made;
    backup.host = kept.host;
    backup.path = kept.path;
    TRY(control::keep_last_backup(paths_.last_backup(), backup));
    return backup;
  }

  int64_t count_tasks() {
    int64_t tasks = 0;
    ignore(database_->read([&](db::Session& session) {
      return session.query("SELECT COUNT(*) FROM tasks WHERE state NOT IN ('succeeded', 'failed')",
                           {}, [&](const db::Row& row) -> Result<void> {
                             tasks = row.integer(0);
                             return {};
                           });
    }));
    return tasks;
  }

  // The server is bound before the handler exists: the port is part of what the handler says.
  struct LateHandler : net::Handler {
    std::unique_ptr<net::Handler> inner;
    net::BodyRule rule(const net::RequestHead& head) override { return inner->rule(head); }
    net::Response handle(net::Request& request) override { return inner->handle(request); }
    net::Response malformed(int status, std::string_view detail, const std::string& id) override {
      return inner->malformed(status, detail, id);
    }
  };

  static constexpr size_t kMostBackups = 16;  // given out, of which we may hear

  const cli::UpArgs args_;
  const DataPaths paths_;
  EvenClock clock_{system_clock()};
  Signals signals_;
  std::mutex backups_mutex_;
  std::deque<KeptBackup> backups_;
  std::optional<os::FileLock> lock_;
  std::unique_ptr<db::Database> database_;
  std::unique_ptr<objects::Objects> objects_;
  std::string sdk_, url_;
  std::unique_ptr<control::Access> access_;
  std::unique_ptr<control::Ingest> ingest_;
  std::unique_ptr<executors::Executor> executor_;
  std::unique_ptr<control::Records> records_;
  std::unique_ptr<control::Tracking> tracking_;
  std::unique_ptr<control::Notify> notify_;
  std::unique_ptr<control::Retention> retention_;
  KeptFor kept_;
  std::unique_ptr<control::Jobs> jobs_;
  std::unique_ptr<control::Capacity> capacity_;
  std::unique_ptr<control::WhatIfs> what_ifs_;
  LateHandler late_;
  std::unique_ptr<net::Server> server_;
  std::vector<NodeInfo> lent_;  // by --topology
  bool running_ = false;
  std::atomic<bool> draining_{false};
};

}  // namespace

Result<std::unique_ptr<HearthServer>> HearthServer::start(const cli::UpArgs& args) {
  auto server = std::make_unique<RunningServer>(args, data_paths(args.data));
  TRY(server->open());
  return std::unique_ptr<HearthServer>(std::move(server));
}

}  // namespace app
}  // namespace hearth
