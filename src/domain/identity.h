// Who is asking, as found from a token; every service call takes one.
#pragma once

#include <string>

#include "domain/event.h"
#include "domain/project.h"

namespace hearth {

struct Identity {
  TokenKind kind = TokenKind::user;
  std::string user;     // of user and session tokens
  bool admin = false;   // of this user, and not narrowed by the token
  std::string project;  // the token is valid in this project alone; "": in all the user may see
  Grade most = Grade::admin;    // the token allows at most this
  std::string job_id, task_id;  // of job and task tokens
  std::string token_id, address, request_id;

  Actor actor() const {
    Actor a{"user", user, token_id, address, request_id};
    if (kind == TokenKind::job) a.kind = "job", a.name = job_id;
    if (kind == TokenKind::task) a.kind = "task", a.name = task_id;
    return a;
  }
};

// The server itself, for what happens by itself.
inline Actor server_actor() {
  return Actor{"server", "", "", "", ""};
}

}  // namespace hearth
