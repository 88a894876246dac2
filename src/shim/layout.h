// What lies where in a task's directory (see README.md).
#pragma once

#include <string>

namespace hearth::shim {

struct Layout {
  std::string root;  // absolute
  std::string task() const { return root + "/task.json"; }
  std::string lock() const { return root + "/lock"; }
  std::string work() const { return root + "/work"; }
  std::string temporary() const { return root + "/tmp"; }
  std::string spool() const { return root + "/spool"; }
  std::string spent() const { return root + "/spent"; }  // a spool that the server has
  std::string params() const { return root + "/params.json"; }
  std::string live() const { return root + "/live.json"; }
  std::string socket() const { return root + "/sdk.sock"; }
  std::string events() const { return root + "/events.json"; }  // how far event files were read
  std::string made() const { return root + "/made"; }           // images and texts out of them
  std::string exit() const { return root + "/exit.json"; }
  std::string cgroup() const { return root + "/cgroup"; }  // the name of the task's control group
};

}  // namespace hearth::shim
