// Answers kept in memory for callers who ask for one job again and again (`wait`, dashboards):
// the I/O thread gives them without a worker and without the database.
//
// An answer is good for the very caller it was made for (its token) as long as the job's topic has
// not been notified, no right has changed, and for a second at most.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "api/route.h"

namespace hearth::api {

class FastAnswers {
 public:
  static constexpr size_t kMostAnswers = 4'096;
  static constexpr size_t kMostBodyBytes = 16 << 10;  // of one answer
  static constexpr Duration kLife = Duration::seconds(1);

  struct Answer {
    const Route* route = nullptr;
    Identity who;
    std::shared_ptr<const std::string> body;
    std::string etag, topic;
    uint64_t version = 0;     // of the topic, before the job was read
    uint64_t generation = 0;  // of the rights, likewise
    Time good_until;
    net::Response answer() const;
  };
  // What was the case before a handler ran; given to keep() after it.
  struct Seen {
    const Route* route;
    std::string key, topic;
    uint64_t version, generation;
  };

  FastAnswers(control::Context context, control::Access& access)
      : context_(context), access_(access) {}

  // Never blocks for long: no database, a lock held for a look-up.
  std::shared_ptr<const Answer> find(const net::RequestHead& head);
  // Nothing when the request is not of a kind that is kept.
  std::optional<Seen> look(const Route& route, const net::RequestHead& head);
  void keep(const Seen& seen, const Identity& who, const net::Response& response);

 private:
  control::Context context_;
  control::Access& access_;
  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const Answer>> answers_;
};

}  // namespace hearth::api
