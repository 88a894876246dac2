// Every state change with its actor, appended in the transaction that makes it.
#pragma once

#include <array>
#include <string>

#include "domain/describe.h"

namespace hearth {

struct Actor {
  std::string kind;  // user, job, task, server
  std::string name;  // user name, job or task id
  std::string token_id, address, request_id;
  bool operator==(const Actor&) const = default;
};
template <>
struct Describe<Actor> {
  static constexpr std::string_view name = "Actor", doc = "Who did it.";
  static void fields(Fields<Actor>& f) {
    f("kind", &Actor::kind, "user, job, task or server");
    f("name", &Actor::name, "user name, or id of the job or task");
    f("token_id", &Actor::token_id, "the token that was used");
    f("address", &Actor::address, "where the request came from");
    f("request_id", &Actor::request_id, "of the request");
  }
};

struct Event {
  int64_t seq = 0;  // in commit order, without gaps
  Time time;
  Actor actor;
  std::string project;
  std::string kind;     // "job.submitted": noun, dot, what happened
  std::string id;       // of the noun it is about
  int64_t version = 0;  // of that noun after it
  AnyJson changed;      // the fields that changed, as an object
  bool operator==(const Event&) const = default;
};
template <>
struct Describe<Event> {
  static constexpr std::string_view name = "Event", doc = "One state change.";
  static void fields(Fields<Event>& f) {
    f("seq", &Event::seq, "in commit order");
    f("time", &Event::time, "when");
    f("actor", &Event::actor, "who");
    f("project", &Event::project, "project name");
    f("kind", &Event::kind, "noun, dot, what happened");
    f("id", &Event::id, "of the noun it is about");
    f("version", &Event::version, "of that noun after it");
    f("changed", &Event::changed, "the fields that changed");
  }
};

enum class DeliveryState { waiting, delivered, failed };
template <>
struct Words<DeliveryState> {
  static constexpr std::string_view name = "DeliveryState";
  static constexpr std::array<std::string_view, 3> words{"waiting", "delivered", "failed"};
};

// A row of the outbox, written in the transaction of its event; sent and tried again from there.
struct Delivery {
  std::string id, project, job_id, url, secret, event_kind;
  AnyJson body;
  DeliveryState state = DeliveryState::waiting;
  int64_t tries = 0;
  int64_t last_status = 0;
  std::string last_error;
  Time created_at, next_try_at, finished_at;
  int64_t version = 0;
  bool operator==(const Delivery&) const = default;
};
template <>
struct Describe<Delivery> {
  static constexpr std::string_view name = "Delivery", doc = "A webhook call and how it went.";
  static void fields(Fields<Delivery>& f) {
    f("id", &Delivery::id, "ULID; the webhook-id header");
    f("project", &Delivery::project, "project name");
    f("job_id", &Delivery::job_id, "what it is about");
    f("url", &Delivery::url, "where it goes");
    f("secret", &Delivery::secret, "name of the secret that signs it");
    f("event_kind", &Delivery::event_kind, "what happened");
    f("body", &Delivery::body, "what is sent");
    f("state", &Delivery::state, "waiting, delivered or failed for good");
    f("tries", &Delivery::tries, "so far");
    f("last_status", &Delivery::last_status, "HTTP status of the last try");
    f("last_error", &Delivery::last_error, "why the last try failed");
    f("created_at", &Delivery::created_at, "when");
    f("next_try_at", &Delivery::next_try_at, "when it is tried next");
    f("finished_at", &Delivery::finished_at, "when it was delivered or given up");
    f("version", &Delivery::version, "counts changes");
  }
};

}  // namespace hearth
