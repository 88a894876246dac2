// Saves what a task leaves: hashes files, sends them by digest, and only then writes the record
// that makes a checkpoint, an artifact or a model exist. A thread of its own; waits for a server
// that is away, and a wish that was not done lies in the spool for whoever comes next.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "domain/dataset.h"
#include "shim/link.h"
#include "shim/sdk_server.h"
#include "shim/spool.h"

namespace hearth::shim {

struct SaverPaths {
  std::string work;         // absolute
  std::string checkpoints;  // absolute, below work
  std::string made;         // absolute: artifacts that we made lie here
};

class Saver {
 public:
  static constexpr int kMostChanges = 3;  // of a file while it is sent
  static constexpr size_t kMostArtifacts = 10'000;

  Saver(const TaskSpec& spec, Spool& spool, SaverPaths paths,
        std::function<void(std::string)> complain);
  ~Saver();
  void start();
  // A wish that stands in the spool already.
  void add(const std::string& line);
  // Writes the wish into the spool and adds it.
  Result<void> wish(const SaveWish& wish);
  // The process has ended: also does the outputs of the job file (models only of one that
  // succeeded).
  Result<void> add_outputs(bool succeeded);
  // Returns when all is saved; or kHurry after hurry() first said yes, with what was not giving up.
  static constexpr Duration kHurry = Duration::seconds(60);
  void finish(const std::function<bool()>& hurry);
  void give_up();  // the server wants nothing any more

 private:
  struct Sent {
    std::string digest;
    int64_t size_bytes = 0;
  };
  void run();
  Result<void> save(const std::string& line);
  Result<void> save_checkpoint(const SaveWish& wish);
  Result<void> save_artifact(const SaveWish& wish);
  Result<void> save_model(const SaveWish& wish);
  Result<Sent> send_file(int folder, const std::string& relative, bool& executable);
  Result<Sent> send_folder(int folder, const std::string& relative, const std::string& prefix,
                           bool top_files_alone);
  Result<std::string> relative_to(const std::string& root, const std::string& path) const;
  void prune_checkpoints();
  bool keep_on(Duration pause);

  const TaskSpec& spec_;
  Spool& spool_;
  const SaverPaths paths_;
  const std::function<void(std::string)> complain_;
  ServerLink link_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> queue_;
  std::map<std::string, std::string> artifacts_;  // path -> digest: those that are there
  bool busy_ = false, finishing_ = false;
  std::atomic<bool> given_up_{false};
  std::thread thread_;
};

}  // namespace hearth::shim
