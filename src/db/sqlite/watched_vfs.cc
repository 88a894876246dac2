#include "db/sqlite/watched_vfs.h"

#include <cerrno>

namespace hearth::db {
namespace {

std::string_view path_of(const char* path) {
  return path == nullptr ? "" : path;
}

// What the kernel would have left for who asks why.
int refused(int code) {
  errno = code == SQLITE_FULL ? ENOSPC : EIO;
  return code;
}

}  // namespace

void WatchedVfs::opened(File& file) {
  if (!file.is(SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL)) return;
  watcher_.before({.what = file.made ? Change::create : Change::open, .path = path_of(file.path)});
}

int WatchedVfs::write(File& file, const void* from, int size, int64_t offset) {
  const int code =
      watcher_.before({.what = Change::write,
                       .path = path_of(file.path),
                       .offset = offset,
                       .bytes = {static_cast<const std::byte*>(from), static_cast<size_t>(size)}});
  return code == SQLITE_OK ? ShimVfs::write(file, from, size, offset) : refused(code);
}

int WatchedVfs::truncate(File& file, int64_t size) {
  const int code =
      watcher_.before({.what = Change::truncate, .path = path_of(file.path), .offset = size});
  return code == SQLITE_OK ? ShimVfs::truncate(file, size) : refused(code);
}

int WatchedVfs::sync(File& file, int flags) {
  const int code = watcher_.before({.what = Change::sync, .path = path_of(file.path)});
  if (code != SQLITE_OK) return refused(code);
  const int done = ShimVfs::sync(file, flags);
  // SQLite's unix VFS syncs the folder with the first sync of a journal or WAL that it made.
  if (file.made && !file.folder_synced && !file.is(SQLITE_OPEN_MAIN_DB)) {
    file.folder_synced = true;
    watcher_.before({.what = Change::sync_folder, .path = path_of(file.path)});
  }
  return done;
}

int WatchedVfs::remove(const char* path, int sync_folder) {
  const int code = watcher_.before({.what = Change::remove, .path = path});
  if (code != SQLITE_OK) return refused(code);
  const int done = ShimVfs::remove(path, sync_folder);
  if (sync_folder != 0) watcher_.before({.what = Change::sync_folder, .path = path});
  return done;
}

}  // namespace hearth::db
