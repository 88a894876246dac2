#include "db/sqlite/shim_vfs.h"

#include "base/format.h"

namespace hearth::db {

// SQLite's C callbacks: each finds its object and goes on.
struct ShimCalls {
  using File = ShimVfs::File;
  static File& file(sqlite3_file* f) { return *reinterpret_cast<File*>(f); }
  static ShimVfs& shim(sqlite3_vfs* v) { return *static_cast<ShimVfs*>(v->pAppData); }
  static sqlite3_vfs* base(sqlite3_vfs* v) { return shim(v).base_; }

  static int close(sqlite3_file* f) {
    const int settled = file(f).vfs->settle(file(f));
    const int code = file(f).methods()->xClose(file(f).real());
    return code == SQLITE_OK ? settled : code;
  }
  static int read(sqlite3_file* f, void* to, int size, sqlite3_int64 offset) {
    return file(f).vfs->read(file(f), to, size, offset);
  }
  static int write(sqlite3_file* f, const void* from, int size, sqlite3_int64 offset) {
    return file(f).vfs->write(file(f), from, size, offset);
  }
  static int truncate(sqlite3_file* f, sqlite3_int64 size) {
    return file(f).vfs->truncate(file(f), size);
  }
  static int sync(sqlite3_file* f, int flags) { return file(f).vfs->sync(file(f), flags); }
  static int file_size(sqlite3_file* f, sqlite3_int64* size) {
    if (const int code = file(f).vfs->settle(file(f)); code != SQLITE_OK) return code;
    return file(f).methods()->xFileSize(file(f).real(), size);
  }
  static int lock(sqlite3_file* f, int level) {
    return file(f).methods()->xLock(file(f).real(), level);
  }
  static int unlock(sqlite3_file* f, int level) {
    return file(f).methods()->xUnlock(file(f).real(), level);
  }
  static int check_reserved_lock(sqlite3_file* f, int* held) {
    return file(f).methods()->xCheckReservedLock(file(f).real(), held);
  }
  static int file_control(sqlite3_file* f, int op, void* argument) {
    return file(f).methods()->xFileControl(file(f).real(), op, argument);
  }
  static int sector_size(sqlite3_file* f) { return file(f).methods()->xSectorSize(file(f).real()); }
  static int device_characteristics(sqlite3_file* f) {
    return file(f).methods()->xDeviceCharacteristics(file(f).real());
  }
  static int shm_map(sqlite3_file* f, int page, int size, int extend, void volatile** at) {
    return file(f).methods()->xShmMap(file(f).real(), page, size, extend, at);
  }
  static int shm_lock(sqlite3_file* f, int offset, int n, int flags) {
    return file(f).methods()->xShmLock(file(f).real(), offset, n, flags);
  }
  static void shm_barrier(sqlite3_file* f) { file(f).methods()->xShmBarrier(file(f).real()); }
  static int shm_unmap(sqlite3_file* f, int remove) {
    return file(f).methods()->xShmUnmap(file(f).real(), remove);
  }

  static int open(sqlite3_vfs* v, const char* path, sqlite3_file* f, int flags, int* out_flags) {
    // Version 2: shared memory, but no memory-mapped reads, which would go past read().
    static const sqlite3_io_methods methods = {
        .iVersion = 2,
        .xClose = close,
        .xRead = read,
        .xWrite = write,
        .xTruncate = truncate,
        .xSync = sync,
        .xFileSize = file_size,
        .xLock = lock,
        .xUnlock = unlock,
        .xCheckReservedLock = check_reserved_lock,
        .xFileControl = file_control,
        .xSectorSize = sector_size,
        .xDeviceCharacteristics = device_characteristics,
        .xShmMap = shm_map,
        .xShmLock = shm_lock,
        .xShmBarrier = shm_barrier,
        .xShmUnmap = shm_unmap,
        .xFetch = nullptr,
        .xUnfetch = nullptr,
    };
    File& opened = file(f);
    opened = File{.base = {},
                  .vfs = &shim(v),
                  .path = path,
                  .flags = flags,
                  .made = false,
                  .folder_synced = false,
                  .held = false};
    int there = 1;
    if (path != nullptr && (flags & SQLITE_OPEN_CREATE) != 0)
      base(v)->xAccess(base(v), path, SQLITE_ACCESS_EXISTS, &there);
    const int code = base(v)->xOpen(base(v), path, opened.real(), flags, out_flags);
    // SQLite closes a file that has methods, also one whose open failed.
    if (opened.methods() != nullptr) opened.base.pMethods = &methods;
    if (code != SQLITE_OK) return code;
    opened.made = there == 0;
    opened.vfs->opened(opened);
    return SQLITE_OK;
  }
  static int remove(sqlite3_vfs* v, const char* path, int sync_folder) {
    return shim(v).remove(path, sync_folder);
  }
  static int access(sqlite3_vfs* v, const char* path, int flags, int* out) {
    return base(v)->xAccess(base(v), path, flags, out);
  }
  static int full_path(sqlite3_vfs* v, const char* path, int size, char* out) {
    return base(v)->xFullPathname(base(v), path, size, out);
  }
  static int randomness(sqlite3_vfs* v, int size, char* out) {
    return base(v)->xRandomness(base(v), size, out);
  }
  static int pause(sqlite3_vfs* v, int micros) { return base(v)->xSleep(base(v), micros); }
  static int time(sqlite3_vfs* v, double* out) { return base(v)->xCurrentTime(base(v), out); }
  static int last_error(sqlite3_vfs* v, int size, char* out) {
    return base(v)->xGetLastError(base(v), size, out);
  }
  static int time_millis(sqlite3_vfs* v, sqlite3_int64* out) {
    return base(v)->xCurrentTimeInt64(base(v), out);
  }

  static sqlite3_vfs table(ShimVfs& shim) {
    const sqlite3_vfs& base = *shim.base_;
    sqlite3_vfs made{};  // no extensions are loaded through it: xDl* stay empty
    made.iVersion = 2;
    made.szOsFile = static_cast<int>(sizeof(File)) + base.szOsFile;
    made.mxPathname = base.mxPathname;
    made.zName = shim.name_.c_str();
    made.pAppData = &shim;
    made.xOpen = open;
    made.xDelete = remove;
    made.xAccess = access;
    made.xFullPathname = full_path;
    made.xRandomness = randomness;
    made.xSleep = pause;
    made.xCurrentTime = time;
    made.xGetLastError = last_error;
    made.xCurrentTimeInt64 = time_millis;
    return made;
  }
};

ShimVfs::ShimVfs(const std::string& base, const std::string& kind)
    : base_(sqlite3_vfs_find(base.empty() ? nullptr : base.c_str())),
      name_(format("hearth-{}-{}", kind, static_cast<const void*>(this))) {
  CHECK(base_ != nullptr);
  vfs_ = ShimCalls::table(*this);
  CHECK(sqlite3_vfs_register(&vfs_, 0) == SQLITE_OK);
}

ShimVfs::~ShimVfs() {
  sqlite3_vfs_unregister(&vfs_);
}

int ShimVfs::read(File& file, void* to, int size, int64_t offset) {
  return file.methods()->xRead(file.real(), to, size, offset);
}
int ShimVfs::write(File& file, const void* from, int size, int64_t offset) {
  return file.methods()->xWrite(file.real(), from, size, offset);
}
int ShimVfs::truncate(File& file, int64_t size) {
  return file.methods()->xTruncate(file.real(), size);
}
int ShimVfs::sync(File& file, int flags) {
  return file.methods()->xSync(file.real(), flags);
}
int ShimVfs::remove(const char* path, int sync_folder) {
  return base_->xDelete(base_, path, sync_folder);
}

}  // namespace hearth::db
