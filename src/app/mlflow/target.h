// The server that an import writes to: its import API, called with patience. A server that is
// restarted meanwhile, or says that it is busy, is asked again.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "client/client.h"
#include "domain/wire/imports.h"

namespace hearth::app::mlflow {

class Target {
 public:
  Target(client::Client& api, std::string project, std::function<bool()> keep_on)
      : api_(api), project_(std::move(project)), keep_on_(std::move(keep_on)) {}

  // How long a server may be away before the import gives up.
  static constexpr Duration kPatience = Duration::seconds(180);
  // Of one call.
  static constexpr size_t kMostPoints = 20'000;

  template <typename Answer, typename Body>
  Result<Answer> send(const std::string& noun, const Body& body) {
    const std::string text = TRY(patiently(
        [&] { return api_.send("POST", "/api/v1/imports/" + noun, to_json(body), in_project()); }));
    return from_json<Answer>(text, Origin::server, client::Client::kMostAnswerBytes);
  }
  // In as many calls as it takes.
  Result<void> send_points(const std::string& run_id, const std::vector<ImportedSeries>& series);
  Result<std::vector<ImportCounts>> counts(const std::vector<std::string>& run_ids);
  // Of a run or a logged model.
  Result<std::vector<Artifact>> files(const std::string& holder);
  // `place` as in mlflow-artifacts:/PLACE.
  Result<void> put_file(const std::string& place, const std::string& file);
  template <typename T>
  Result<std::vector<T>> list(const std::string& path) {
    return patiently([&] { return api_.list<T>(path, in_project()); });
  }
  bool stopped() const { return !keep_on_(); }

 private:
  client::Query in_project() const { return {{"project", project_}}; }
  Result<void> wait(Time since, int attempt) const;

  template <typename Call>
  auto patiently(const Call& call) -> decltype(call()) {
    const Time since = system_clock().steady();
    for (int attempt = 0;; ++attempt) {
      if (stopped()) return Error::of(Code::gone, "stopped");
      auto answer = call();
      if (answer.ok() || !is_passing(answer.error())) return answer;
      if (system_clock().steady() - since > kPatience) return answer;
      TRY(wait(since, attempt));
    }
  }
  static bool is_passing(const Error& error);

  client::Client& api_;
  const std::string project_;
  const std::function<bool()> keep_on_;
};

}  // namespace hearth::app::mlflow
