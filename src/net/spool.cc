#include "net/spool.h"

#include <cerrno>

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/format.h"

namespace hearth::net {

Spool::~Spool() {
  remove();
}

Result<void> Spool::write(const std::string& directory, std::string_view data) {
  if (file_ < 0) {
    std::string path = directory + "/hearth-body-XXXXXX";
    file_ = mkostemp(path.data(), O_CLOEXEC);
    if (file_ < 0)
      return Error::from_errno(format("a temporary file in {} cannot be made", directory), errno);
    path_ = std::move(path);
  }
  while (!data.empty()) {
    const ssize_t n = ::write(file_, data.data(), data.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Error::from_errno(format("{} cannot be written", path_), errno);
    data.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

Result<std::string> Spool::finish() {
  if (file_ < 0) return std::string();
  const int failed = ::close(file_);
  const int saved = errno;
  file_ = -1;
  if (failed != 0) return Error::from_errno(format("{} cannot be written", path_), saved);
  return path_;
}

void Spool::remove() {
  if (file_ >= 0) ::close(file_);
  file_ = -1;
  if (!path_.empty()) ::unlink(path_.c_str());
  path_.clear();
}

}  // namespace hearth::net
