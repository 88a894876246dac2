// Takes connections from one listener and hands them to the I/O threads in turn.
#pragma once

#include <memory>
#include <vector>

#include "net/connection.h"
#include "net/core.h"
#include "net/io_thread.h"
#include "net/listener.h"
#include "net/loop.h"

namespace hearth::net {

class Acceptor : public std::enable_shared_from_this<Acceptor> {
 public:
  // Runs on threads[0]; the listener stays the caller's.
  Acceptor(Core& core, std::vector<std::shared_ptr<IoThread>> threads, Listener& listener);
  void start();
  void stop();  // on threads[0]; no connection is taken after it

 private:
  enum class Accepted { one, none, pause, stopped };
  static Task<void> run(std::shared_ptr<Acceptor> self);
  Accepted accept_one();
  void hand_over(int socket, Peer peer);
  void refuse(int socket, Bound bound);

  Core& core_;
  const std::vector<std::shared_ptr<IoThread>> threads_;
  const bool is_unix_;
  Descriptor descriptor_;
  Timer pause_;
  size_t next_ = 0;
  bool short_ = false;  // of descriptors or memory; said once
  bool stopped_ = false;
};

}  // namespace hearth::net
