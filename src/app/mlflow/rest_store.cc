// A server that speaks MLflow's REST API: MLflow's own, or another Hearth.
#include <cstdlib>
#include <limits>

#include "app/mlflow/store.h"
#include "base/bytes.h"
#include "base/format.h"
#include "base/id.h"
#include "client/client.h"
#include "domain/codec.h"
#include "domain/scalar.h"
#include "net/client.h"
#include "os/files.h"

namespace hearth::app::mlflow {
namespace {

using Texts = std::map<std::string, std::string>;
using client::Query;

constexpr size_t kMostAnswerBytes = 256 << 20;
constexpr int kPage = 1000;             // experiments, runs, models of one answer
constexpr int kModelPage = 50;          // logged models of one answer
constexpr int64_t kPointPage = 25'000;  // points of one answer
constexpr int kMostFolders = 100;       // one in the other
constexpr int kMostPages = 10'000;      // of one list
constexpr int kTries = 6;               // of a call that broke off, or that a busy server refused
constexpr Duration kFirstPause = Duration::millis(250);

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// As MLflow's own client: user and password win over the token.
std::string authorization() {
  const std::string user = variable("MLFLOW_TRACKING_USERNAME");
  const std::string password = variable("MLFLOW_TRACKING_PASSWORD");
  if (!user.empty() && !password.empty())
    return "Basic " + to_base64(as_bytes(user + ":" + password));
  const std::string token = variable("MLFLOW_TRACKING_TOKEN");
  return token.empty() ? "" : "Bearer " + token;
}

std::string text(const Node& object, std::string_view name) {
  const Node* found = object.find(name);
  return found == nullptr || found->kind == Node::Kind::null ? "" : found->text;
}
int64_t whole(const Node& object, std::string_view name) {
  return integer_of(text(object, name)).value_or(0);
}
double real(const Node& object, std::string_view name) {
  const std::string word = text(object, name);
  return with_infinity(real_of(word).value_or(std::numeric_limits<double>::quiet_NaN()));
}
Time time(const Node& object, std::string_view name) {
  return time_of_millis(whole(object, name));
}
const std::vector<Node>& items(const Node& object, std::string_view name) {
  static const std::vector<Node> none;
  const Node* found = object.find(name);
  return found == nullptr ? none : found->items;
}
const Node& part(const Node& object, std::string_view name) {
  static const Node none;
  const Node* found = object.find(name);
  return found == nullptr ? none : *found;
}
Texts pairs(const Node& object, std::string_view name) {
  Texts all;
  for (const Node& one : items(object, name)) all[text(one, "key")] = text(one, "value");
  return all;
}
LoggedModelStatus status_word(const std::string& word) {
  if (word == "LOGGED_MODEL_PENDING") return LoggedModelStatus::pending;
  if (word == "LOGGED_MODEL_READY") return LoggedModelStatus::ready;
  if (word == "LOGGED_MODEL_UPLOAD_FAILED") return LoggedModelStatus::failed;
  return model_status(integer_of(word).value_or(0));
}

class RestStore : public Store {
 public:
  RestStore(std::string url, const StoreOptions& options)
      : url_(std::move(url)), authorization_(authorization()), keep_on_(options.keep_on) {
    while (url_.ends_with('/')) url_.pop_back();
    certificate_ = variable("MLFLOW_TRACKING_SERVER_CERT_PATH");
  }

  Result<void> open() {
    folder_ = TRY(os::TemporaryDirectory::make("hearth-import"));
    return {};
  }
  std::string words() const override { return "the server " + url_; }
  // The server brings them out of wherever it keeps them.
  bool reaches(const std::string&) const override { return true; }

  Result<std::vector<ImportedExperiment>> experiments() override {
    std::vector<ImportedExperiment> all;
    TRY(pages("POST", "experiments/search",
              {{"view_type", "\"ALL\""}, {"max_results", limit(kPage)}},
              [&](const Node& page) -> Result<void> {
                for (const Node& one : items(page, "experiments")) {
                  ImportedExperiment experiment;
                  experiment.id = text(one, "experiment_id");
                  experiment.name = text(one, "name");
                  experiment.artifact_location = text(one, "artifact_location");
                  experiment.deleted = text(one, "lifecycle_stage") == "deleted";
                  experiment.created_at = time(one, "creation_time");
                  experiment.updated_at = time(one, "last_update_time");
                  experiment.tags = pairs(one, "tags");
                  all.push_back(std::move(experiment));
                }
                return {};
              }));
    return all;
  }

  Result<void> each_run(const ImportedExperiment& experiment,
                        const std::function<Result<void>(StoreRun&&)>& each) override {
    return pages("POST", "runs/search",
                 {{"experiment_ids", "[" + json_quote(experiment.id) + "]"},
                  {"run_view_type", "\"ALL\""},
                  {"max_results", limit(kPage)}},
                 [&](const Node& page) -> Result<void> {
                   for (const Node& one : items(page, "runs")) {
                     auto run = run_of(one);
                     if (run.ok())
                       TRY(each(std::move(*run)));
                     else
                       problem(std::move(run).error());
                   }
                   return {};
                 });
  }

  Result<std::vector<StoreLoggedModel>> logged_models(
      const ImportedExperiment& experiment) override {
    marked_ = {};
    std::vector<StoreLoggedModel> all;
    auto done = pages("POST", "logged-models/search",
                      {{"experiment_ids", "[" + json_quote(experiment.id) + "]"},
                       {"max_results", limit(kModelPage)}},
                      [&](const Node& page) -> Result<void> {
                        for (const Node& one : items(page, "models"))
                          all.push_back(logged_model(one));
                        return {};
                      });
    // MLflow 2 has none.
    if (!done.ok() && done.error().code == Code::not_found) return all;
    TRY(done);
    return all;
  }

  Result<std::vector<ImportedModel>> models() override {
    std::vector<ImportedModel> all;
    TRY(pages("GET", "registered-models/search", {{"max_results", limit(kPage)}},
              [&](const Node& page) -> Result<void> {
                for (const Node& one : items(page, "registered_models")) {
                  ImportedModel model;
                  model.name = text(one, "name");
                  model.description = text(one, "description");
                  model.created_at = time(one, "creation_timestamp");
                  model.updated_at = time(one, "last_updated_timestamp");
                  model.tags = pairs(one, "tags");
                  for (const Node& alias : items(one, "aliases"))
                    model.aliases[text(alias, "alias")] = text(alias, "version");
                  all.push_back(std::move(model));
                }
                return {};
              }));
    return all;
  }

  Result<std::vector<ImportedVersion>> versions(const std::string& model) override {
    std::vector<ImportedVersion> all;
    const char quote = model.find('\'') == std::string::npos ? '\'' : '"';
    TRY(pages(
        "GET", "model-versions/search",
        {{"filter", format("name={}{}{}", quote, model, quote)}, {"max_results", limit(kPage)}},
        [&](const Node& page) -> Result<void> {
          for (const Node& one : items(page, "model_versions")) all.push_back(version_of(one));
          return {};
        }));
    return all;
  }

  Result<FileList> files(const Holder& holder) override {
    FileList list;
    if (holder.kind == Holder::Kind::version) {
      list.elsewhere = format("they lie at {}", holder.uri);
      return list;
    }
    auto done = list_below(holder, "", 0, list.files);
    if (done.ok()) return list;
    if (is_lasting(done.error())) return std::move(done).error();
    list.files.clear();
    list.elsewhere = format("{} does not give them: {}", url_, done.error().detail);
    return list;
  }

  Result<Fetched> fetch(const Holder& holder, const StoreFile& file) override {
    const bool of_run = holder.kind == Holder::Kind::run;
    const std::string path = of_run
                                 ? "/get-artifact"
                                 : format("/ajax-api/2.0/mlflow/logged-models/{}/artifacts/files",
                                          client::path_part(holder.id));
    const Query query = of_run ? Query{{"run_uuid", holder.id}, {"path", file.path}}
                               : Query{{"artifact_file_path", file.path}};
    const std::string target = folder_->path() + "/" + new_id();
    Error last;
    for (int attempt = 0; attempt < kTries; ++attempt) {
      if (attempt > 0) TRY(pause(attempt));
      os::File out = TRY(
          os::File::open(target, {.read = false, .write = true, .create = true, .truncate = true}));
      Result<void> written;
      net::ClientRequest request = ask("GET", path, query);
      request.total_time = Duration{0};
      request.sink = [&](std::string_view piece) {
        written = out.write(piece);
        return written.ok();
      };
      const auto answer = [&] {
        const std::lock_guard lock(files_mutex_);
        return files_http_.send(request);
      }();
      TRY(written);
      if (answer.ok() && answer->status < 300) return Fetched{target, true};
      last = answer.ok() ? refusal(*answer, path) : answer.error();
      if (!is_passing(last)) break;
    }
    ignore(os::remove_file(target));
    return std::move(last).with(format("{} of {}", file.path, holder.id));
  }

 protected:
  Result<void> read_series(const StoreRun& run,
                           const std::function<void(ImportedSeries&&)>& each) override {
    for (const std::string& key : keys_[run.record.id]) {
      ImportedSeries series;
      series.key = key;
      TRY(pages(
          "GET", "metrics/get-history",
          {{"run_id", run.record.id}, {"metric_key", key}, {"max_results", limit(kPointPage)}},
          [&](const Node& page) -> Result<void> {
            for (const Node& one : items(page, "metrics")) {
              series.values.push_back(real(one, "value"));
              series.times_ms.push_back(whole(one, "timestamp"));
              series.steps.push_back(whole(one, "step"));
            }
            return {};
          }));
      each(std::move(series));
    }
    keys_.erase(run.record.id);
    return {};
  }

 private:
  static std::string limit(int64_t most) { return std::to_string(most); }
  static bool is_passing(const Error& error) {
    return error.code == Code::busy || error.code == Code::unavailable ||
           error.code == Code::timeout || error.code == Code::unreachable;
  }
  // Of the server as a whole, not of these files.
  static bool is_lasting(const Error& error) {
    return error.code == Code::unauthenticated || error.code == Code::gone || is_passing(error);
  }
  Result<void> pause(int attempt) const {
    for (int64_t left = kFirstPause.micros << attempt; left > 0; left -= kFirstPause.micros) {
      if (keep_on_ && !keep_on_()) return Error::of(Code::gone, "stopped");
      std::this_thread::sleep_for(kFirstPause.chrono());
    }
    return {};
  }

  net::ClientRequest ask(const std::string& method, const std::string& path,
                         const Query& query) const {
    net::ClientRequest request;
    request.method = method;
    request.url = url_ + path;
    char separator = '?';
    for (const auto& [name, value] : query) {
      request.url += separator + net::percent_encode(name) + "=" + net::percent_encode(value);
      separator = '&';
    }
    if (!authorization_.empty()) request.headers.set("Authorization", authorization_);
    request.ca_file = certificate_;
    request.most_answer_bytes = kMostAnswerBytes;
    request.keep_on = keep_on_;
    return request;
  }

  static Error refusal(const net::Answer& answer, const std::string& path) {
    Error error = client::problem_of(answer);
    const auto body = parse_json(answer.body, kMostAnswerBytes);
    const std::string said = body.ok() ? text(*body, "message") : "";
    if (!said.empty()) error.detail = said;
    error.detail = format("{}: {} (HTTP {})", path, error.detail, answer.status);
    if (answer.status == 401 || answer.status == 403)
      error.mend =
          "set MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD";
    return error;
  }

  Result<Node> call(const std::string& method, const std::string& path, const Query& query,
                    const std::string& body) {
    Error last;
    for (int attempt = 0; attempt < kTries; ++attempt) {
      if (attempt > 0) TRY(pause(attempt));
      net::ClientRequest request = ask(method, path, query);
      request.body = body;
      if (!body.empty()) request.headers.set("Content-Type", "application/json");
      auto answer = http_.send(request);
      if (answer.ok() && answer->status < 300) {
        answered_ = true;
        auto parsed = parse_json(answer->body, kMostAnswerBytes);
        if (parsed.ok()) return parsed;
        return Error::invalid(format("{}{} answered something that is no JSON", url_, path),
                              "is this the address of an MLflow server?");
      }
      last = answer.ok() ? refusal(*answer, path) : std::move(answer).error();
      // A server that was never there is said at once.
      if (!is_passing(last) || (!answered_ && last.code == Code::unreachable)) break;
    }
    if (last.code == Code::unreachable) {
      last.detail = format("no server answers at {}", url_);
      last.mend = "is it running, and is this its address?";
    }
    return last;
  }

  // Every page of a list. `fields`: texts of a query; JSON values of a body.
  Result<void> pages(const std::string& method, const std::string& path, Query fields,
                     const std::function<Result<void>(const Node&)>& each) {
    std::string token;
    for (int count = 0; count < kMostPages; ++count) {
      Query query;
      std::string body;
      if (method == "GET") {
        query = fields;
        if (!token.empty()) query.emplace_back("page_token", token);
      } else {
        for (const auto& [name, value] : fields)
          body += format("{}{}:{}", body.empty() ? "{" : ",", json_quote(name), value);
        if (!token.empty()) body += ",\"page_token\":" + json_quote(token);
        body += "}";
      }
      const Node page = TRY(call(method, "/api/2.0/mlflow/" + path, query, body));
      TRY(each(page));
      const std::string next = text(page, "next_page_token");
      if (next.empty()) return {};
      if (next == token)
        return Error::internal(format("{}{} gives the same page again and again", url_, path));
      token = next;
    }
    return Error::of(Code::too_large,
                     format("{}{} gives more than {} pages", url_, path, kMostPages));
  }

  Result<StoreRun> run_of(const Node& node) {
    const Node& info = part(node, "info");
    const Node& data = part(node, "data");
    StoreRun run;
    ImportedRun& record = run.record;
    record.id = text(info, "run_id");
    if (record.id.empty()) record.id = text(info, "run_uuid");
    record.experiment_id = text(info, "experiment_id");
    record.name = text(info, "run_name");
    record.user = text(info, "user_id");
    auto status = run_status(text(info, "status"));
    if (!status.ok()) return std::move(status).error().with("run " + record.id);
    record.status = *status;
    record.started_at = time(info, "start_time");
    record.finished_at = time(info, "end_time");
    record.deleted = text(info, "lifecycle_stage") == "deleted";
    record.params = pairs(data, "params");
    record.tags = pairs(data, "tags");
    run.artifact_uri = text(info, "artifact_uri");
    const Node& inputs = part(node, "inputs");
    for (const Node& one : items(inputs, "dataset_inputs")) {
      const Node& set = part(one, "dataset");
      record.datasets.push_back({text(set, "name"), text(set, "digest"), text(set, "source_type"),
                                 text(set, "source"), text(set, "schema"), text(set, "profile"),
                                 pairs(one, "tags")});
    }
    for (const Node& one : items(inputs, "model_inputs"))
      record.model_inputs.push_back({text(one, "model_id"), 0});
    for (const Node& one : items(part(node, "outputs"), "model_outputs"))
      record.model_outputs.push_back({text(one, "model_id"), whole(one, "step")});
    auto& keys = keys_[record.id];
    keys.clear();
    for (const Node& one : items(data, "metrics")) keys.push_back(text(one, "key"));
    return run;
  }

  StoreLoggedModel logged_model(const Node& node) {
    const Node& info = part(node, "info");
    const Node& data = part(node, "data");
    StoreLoggedModel model;
    ImportedLoggedModel& record = model.record;
    record.id = text(info, "model_id");
    record.experiment_id = text(info, "experiment_id");
    record.name = text(info, "name");
    record.model_type = text(info, "model_type");
    record.run_id = text(info, "source_run_id");
    record.status = status_word(text(info, "status"));
    record.status_message = text(info, "status_message");
    record.created_at = time(info, "creation_timestamp_ms");
    record.updated_at = time(info, "last_updated_timestamp_ms");
    record.tags = pairs(info, "tags");
    record.params = pairs(data, "params");
    model.artifact_uri = text(info, "artifact_uri");
    for (const Node& one : items(data, "metrics")) {
      ImportedSeries point;
      point.key = text(one, "key");
      point.model_id = record.id;
      point.dataset_name = text(one, "dataset_name");
      point.dataset_digest = text(one, "dataset_digest");
      point.times_ms = {whole(one, "timestamp")};
      point.steps = {whole(one, "step")};
      point.values = {real(one, "value")};
      const std::string run_id = text(one, "run_id");
      marked_.add(run_id.empty() ? record.run_id : run_id, point);
    }
    return model;
  }

  static ImportedVersion version_of(const Node& one) {
    ImportedVersion version;
    version.model = text(one, "name");
    version.number = whole(one, "version");
    version.description = text(one, "description");
    version.stage = text(one, "current_stage");
    version.source = text(one, "source");
    version.run_id = text(one, "run_id");
    version.run_link = text(one, "run_link");
    version.logged_model_id = text(one, "model_id");
    version.user = text(one, "user_id");
    version.tags = pairs(one, "tags");
    version.created_at = time(one, "creation_timestamp");
    version.updated_at = time(one, "last_updated_timestamp");
    return version;
  }

  Result<void> list_below(const Holder& holder, const std::string& folder, int depth,
                          std::vector<StoreFile>& into) {
    if (depth > kMostFolders)
      return Error::invalid(
          format("{}: folders within folders, {} deep", folder.substr(0, 200), depth));
    const bool of_run = holder.kind == Holder::Kind::run;
    const std::string path =
        of_run ? "artifacts/list"
               : format("logged-models/{}/artifacts/directories", client::path_part(holder.id));
    Query query;
    if (of_run) query.emplace_back("run_id", holder.id);
    if (!folder.empty()) query.emplace_back(of_run ? "path" : "artifact_directory_path", folder);
    std::vector<std::string> folders;
    TRY(pages("GET", path, query, [&](const Node& page) -> Result<void> {
      for (const Node& one : items(page, "files")) {
        if (text(one, "is_dir") == "true")
          folders.push_back(text(one, "path"));
        else
          into.push_back({text(one, "path"), whole(one, "file_size")});
      }
      return {};
    }));
    for (const std::string& one : folders) TRY(list_below(holder, one, depth + 1, into));
    return {};
  }

  std::string url_, authorization_, certificate_;
  std::function<bool()> keep_on_;
  net::Client http_;
  std::mutex files_mutex_;  // fetch() is called by several threads
  net::Client files_http_;
  bool answered_ = false;
  std::map<std::string, std::vector<std::string>> keys_;  // metrics of the runs of this page
  std::optional<os::TemporaryDirectory> folder_;
};

}  // namespace

Result<std::unique_ptr<Store>> open_rest_store(const std::string& url,
                                               const StoreOptions& options) {
  auto store = std::make_unique<RestStore>(url, options);
  TRY(store->open());
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace hearth::app::mlflow
