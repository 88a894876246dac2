// What lies where in the data directory of a server.
#pragma once

#include <string>

#include "base/result.h"

namespace hearth::app {

struct DataPaths {
  std::string root;
  std::string state() const { return root + "/state"; }  // 0700
  std::string database() const { return state() + "/hearth.db"; }
  std::string key() const { return state() + "/secrets.key"; }
  std::string objects() const { return root + "/objects"; }
  std::string last_backup() const { return state() + "/last_backup.json"; }
  std::string logs() const { return state() + "/logs"; }  // open segments
  std::string temporary() const { return root + "/tmp"; }
  std::string work() const { return root + "/work"; }
  std::string sdk() const { return root + "/sdk"; }
  std::string socket() const { return root + "/api.sock"; }
  std::string lock() const { return root + "/server.lock"; }
  std::string server_file() const { return root + "/server.json"; }  // who runs, for `down`
  std::string server_log() const { return root + "/server.log"; }    // of `up --detach`
};

// `given`, else $XDG_DATA_HOME/hearth or ~/.local/share/hearth, as root /var/lib/hearth; absolute.
DataPaths data_paths(const std::string& given);

// Makes the directories. Errors name the directory and the mend (not writable, no space).
Result<void> make_data_directories(const DataPaths& paths);

// The 32 bytes that seal the secrets; made at the first start.
Result<std::string> load_or_make_key(const std::string& path);

}  // namespace hearth::app
