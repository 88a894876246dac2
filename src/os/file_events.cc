#include "os/file_events.h"

#include <atomic>
#include <filesystem>

namespace hearth::os {
namespace {
std::atomic<FileObserver*> g_observer{nullptr};
}  // namespace

std::string_view name_of(FileOp op) {
  switch (op) {
    case FileOp::create:
      return "create";
    case FileOp::write:
      return "write";
    case FileOp::truncate:
      return "truncate";
    case FileOp::sync:
      return "sync";
    case FileOp::rename:
      return "rename";
    case FileOp::unlink:
      return "unlink";
    case FileOp::make_directory:
      return "make_directory";
    case FileOp::remove_directory:
      return "remove_directory";
    case FileOp::make_symlink:
      return "make_symlink";
    case FileOp::sync_directory:
      return "sync_directory";
  }
  return "?";
}

void set_file_observer(FileObserver* observer) {
  const std::lock_guard lock(file_observer_mutex());
  g_observer.store(observer, std::memory_order_release);
}

bool file_observed() {
  return g_observer.load(std::memory_order_acquire) != nullptr;
}
FileObserver* file_observer() {
  return g_observer.load(std::memory_order_acquire);
}

std::recursive_mutex& file_observer_mutex() {
  static std::recursive_mutex mutex;
  return mutex;
}

std::string absolute_path(std::string_view path) {
  std::error_code ignored;
  std::string text = std::filesystem::absolute(path, ignored).lexically_normal().string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

}  // namespace hearth::os
