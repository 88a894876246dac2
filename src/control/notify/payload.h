// What a webhook's body says.
#pragma once

#include "domain/job.h"

namespace hearth::control {

struct WebhookJob {
  std::string id, name, project, owner, run_id;
  JobState state = JobState::queued;
  std::map<std::string, std::string> labels;
  int64_t attempts = 0;
  std::optional<Failure> failure;
  Time created_at, started_at, finished_at;
  bool operator==(const WebhookJob&) const = default;
};

// The envelope that Standard Webhooks recommends.
struct WebhookBody {
  std::string type;  // "job.failed"
  Time timestamp;
  WebhookJob data;
  bool operator==(const WebhookBody&) const = default;
};

}  // namespace hearth::control

namespace hearth {

template <>
struct Describe<control::WebhookJob> {
  using T = control::WebhookJob;
  static constexpr std::string_view name = "WebhookJob", doc = "The job that a webhook tells of.";
  static void fields(Fields<T>& f) {
    f("id", &T::id, "ULID");
    f("name", &T::name, "the spec's name and a counter");
    f("project", &T::project, "project name");
    f("owner", &T::owner, "who submitted it");
    f("run_id", &T::run_id, "its record");
    f("state", &T::state, "where it is");
    f("labels", &T::labels, "of the job file");
    f("attempts", &T::attempts, "tries so far");
    f("failure", &T::failure, "how it failed");
    f("created_at", &T::created_at, "when it was submitted");
    f("started_at", &T::started_at, "when the user's process first started");
    f("finished_at", &T::finished_at, "when it ended");
  }
};
template <>
struct Describe<control::WebhookBody> {
  using T = control::WebhookBody;
  static constexpr std::string_view name = "WebhookBody", doc = "What is posted to a webhook.";
  static void fields(Fields<T>& f) {
    f("type", &T::type, "noun, dot, what happened");
    f("timestamp", &T::timestamp, "when it happened");
    f("data", &T::data, "the job");
  }
};

}  // namespace hearth
