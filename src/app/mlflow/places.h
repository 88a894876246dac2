// Where a store's files lie on this disk.
#pragma once

#include <string>
#include <vector>

#include "app/mlflow/store.h"

namespace hearth::app::mlflow {

class Places {
 public:
  // `roots`: directories that hold EXPERIMENT/RUN/artifacts, tried where a URI leads nowhere.
  // `base`: what relative paths start at.
  Places(std::vector<std::string> roots, std::string base)
      : roots_(std::move(roots)), base_(std::move(base)) {}

  static bool reaches(const std::string& uri);
  // The regular files below the holder's directory; what is left out is told by `problem`.
  Result<FileList> files(const Holder& holder, const std::function<void(Error)>& problem) const;
  Result<Fetched> fetch(const Holder& holder, const StoreFile& file) const;

 private:
  // "": there is none.
  std::string directory_of(const Holder& holder) const;
  const std::vector<std::string> roots_;
  const std::string base_;
};

}  // namespace hearth::app::mlflow
