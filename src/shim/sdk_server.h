// The socket at which the user's process reports (python/PROTOCOL.md). A thread of its own.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "domain/codec.h"
#include "os/files.h"
#include "shim/spool.h"

namespace hearth::shim {

// What is to be saved: a line of the spool's saves.jsonl.
struct SaveWish {
  std::string kind;  // checkpoint, artifact, model
  std::string path;  // checkpoint, model: absolute; artifact: relative to the working directory
  std::string name;  // model, artifact
  std::string kind_of_artifact;
  std::optional<int64_t> step;
};
std::string to_line(const SaveWish& wish);
Result<SaveWish> wish_of(const std::string& line);

class SdkServer {
 public:
  static constexpr size_t kMostLineBytes = 1 << 20;
  static constexpr size_t kMostClients = 1024;
  static constexpr size_t kMostSessions = 100'000;

  struct Hooks {
    std::function<void(const std::string& line)> save;  // stands in the spool already
    std::function<void(std::string words)> complain;
    std::function<void(const std::map<std::string, double>& values)> metric =
        {};  // is in the spool
  };
  // uid >= 0: the socket is this user's. Errors: the socket cannot be made.
  static Result<std::unique_ptr<SdkServer>> start(const std::string& path, int64_t uid,
                                                  Spool& spool, Hooks hooks);
  ~SdkServer();
  // The process has ended: takes what lies in the socket (for at most so long while others hold
  // it).
  void finish(Duration at_most);

 private:
  struct Client {
    os::Fd fd;
    std::string buffer;
    std::string session;    // "" before hello
    int64_t number = 0;     // of the next record
    bool skipping = false;  // a line that is too long
    int64_t flush = -1;     // asked for
  };
  SdkServer(Spool& spool, Hooks hooks) : spool_(spool), hooks_(std::move(hooks)) {}
  void run();
  bool accept_one();
  bool read(Client& client);
  bool take_lines(Client& client);
  bool take(Client& client, std::string_view line);
  bool hello(Client& client, const Node& node);
  Result<void> record(const Node& node);
  Result<void> save(std::string_view kind, const Node& node);
  void answer_flushes();
  void wrong(std::string_view what);

  Spool& spool_;
  const Hooks hooks_;
  std::string path_;
  os::Fd listener_, wake_;
  std::list<Client> clients_;
  std::map<std::string, int64_t> sessions_;  // records spooled of each
  bool complained_ = false;
  Time finish_by_;
  std::atomic<bool> finishing_{false};
  std::thread thread_;
};

}  // namespace hearth::shim
