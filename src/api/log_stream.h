// The log of a job's tasks as one stream of lines.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/route.h"

namespace hearth::api {

enum class LogForm { text, events };

struct LogRequest {
  std::string job_id;
  std::optional<int64_t> rank;
  int64_t attempt = 0;  // 0: the last one, -1: all
  std::optional<Time> since;
  std::string grep;
  bool timestamps = false;
  bool follow = false;
  LogForm form = LogForm::text;
  std::map<std::string, int64_t> after;  // task id -> last seq the client has
};

// Pieces of a log on demand; reads as it is asked, so a log of any length needs little memory.
class LogStream {
 public:
  LogStream(Services& services, Identity who, LogRequest request);
  net::Chunk next();

 private:
  struct Source {
    Task task;
    int64_t after = 0;
    bool end = false;
  };
  Result<void> refresh();  // the tasks, and whether the job is over
  bool wanted(const Task& task) const;
  void add(const Source& source, const control::LogPage& page, std::string& out) const;

  Services& services_;
  const Identity who_;
  const LogRequest request_;
  std::vector<Source> sources_;
  bool job_over_ = false;
  int64_t shown_attempt_ = 0;
};

}  // namespace hearth::api
