#include "api/fast_answers.h"

#include "base/bytes.h"
#include "base/id.h"

namespace hearth::api {
namespace {

constexpr std::string_view kJobs = "/api/v1/jobs/";

// The job's id, where the request is a plain GET of one job by id with a bearer token.
std::string_view job_asked_for(const net::RequestHead& head) {
  if (head.method != "GET" || !head.query.empty()) return {};
  const std::string_view path = head.path;
  if (!path.starts_with(kJobs)) return {};
  const std::string_view id = path.substr(kJobs.size());
  return is_id(id) && head.headers.get("Authorization") ? id : std::string_view();
}

std::string key_of(const net::RequestHead& head, std::string_view id) {
  std::string key(id);
  key += ' ';
  key += *head.headers.get("Authorization");
  key += ' ';
  key += head.peer;    // an identity names the address it came from
  return sha256(key);  // no token's text is kept
}

}  // namespace

net::Response FastAnswers::Answer::answer() const {
  net::Response response;
  response.headers.add("Content-Type", "application/json");
  response.headers.add("ETag", etag);
  response.body = body;
  return response;
}

std::shared_ptr<const FastAnswers::Answer> FastAnswers::find(const net::RequestHead& head) {
  const std::string_view id = job_asked_for(head);
  if (id.empty()) return nullptr;
  std::shared_ptr<const Answer> found;
  {
    const std::lock_guard lock(mutex_);
    const auto at = answers_.find(key_of(head, id));
    if (at == answers_.end()) return nullptr;
    found = at->second;
  }
  const bool good = context_.clock.steady() < found->good_until &&
                    access_.generation() == found->generation &&
                    context_.signals.version(found->topic) == found->version;
  return good ? found : nullptr;
}

std::optional<FastAnswers::Seen> FastAnswers::look(const Route& route,
                                                   const net::RequestHead& head) {
  const std::string_view id = job_asked_for(head);
  if (id.empty() || route.id != "getJob") return std::nullopt;
  const std::string topic = control::job_topic(std::string(id));
  return Seen{&route, key_of(head, id), topic, context_.signals.version(topic),
              access_.generation()};
}

void FastAnswers::keep(const Seen& seen, const Identity& who, const net::Response& response) {
  const auto* body = std::get_if<std::string>(&response.body);
  if (response.status != 200 || body == nullptr || body->size() > kMostBodyBytes) return;
  // The reason of a queued job changes without a word: it is worked out anew at each look.
  if (body->find("\"state\":\"queued\"") != std::string::npos) return;
  auto answer = std::make_shared<Answer>();
  answer->route = seen.route;
  answer->who = who;
  answer->body = std::make_shared<const std::string>(*body);
  answer->etag = response.headers.get("ETag").value_or("");
  answer->topic = seen.topic;
  answer->version = seen.version;
  answer->generation = seen.generation;
  answer->good_until = context_.clock.steady() + kLife;
  const std::lock_guard lock(mutex_);
  if (answers_.size() >= kMostAnswers && !answers_.contains(seen.key)) answers_.clear();
  answers_[seen.key] = std::move(answer);
}

}  // namespace hearth::api
