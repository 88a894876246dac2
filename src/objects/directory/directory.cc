#include "objects/directory/directory.h"

#include <algorithm>

#include <unistd.h>

#include "base/format.h"
#include "base/id.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/units.h"

namespace hearth::objects {
namespace {

constexpr size_t kHexBytes = 64;
constexpr std::string_view kSideEnd = ".blocks";
constexpr int64_t kMostSideBytes = int64_t{1} << 30;  // of a side file: objects to 32 TiB
constexpr mode_t kObjectMode = 0400;
constexpr mode_t kFolderMode = 0700;

std::string_view hex_of(std::string_view digest) {
  return digest.substr(digest.find(':') + 1);
}

Result<void> check_digest(const std::string& digest) {
  if (is_digest(digest)) return {};
  return Error::invalid(format("\"{}\" is no digest", digest), "write sha256: and 64 hex digits");
}
Error no_object(const std::string& digest) {
  return Error::not_found(format("object {} is not here", digest));
}
Error mismatch(const std::string& wanted, const std::string& got) {
  return Error::invalid(format("the bytes have the digest {}, not {}", got, wanted),
                        "they changed on their way, or while they were read: send them again");
}

}  // namespace

DirectoryObjects::DirectoryObjects(std::string root, const DirectoryOptions& options,
                                   os::FileLock lock)
    : root_(std::move(root)),
      options_(options),
      lock_(std::move(lock)),
      uploads_(root_ + "/uploads", *options.clock, *options.random,
               {.file = [this](const std::string& path) { return sync_file(path); },
                .folder = [this](const std::string& path) { return sync_folder(path); }}) {}

Result<std::unique_ptr<DirectoryObjects>> DirectoryObjects::open(const std::string& root,
                                                                 const DirectoryOptions& options) {
  TRY(os::make_directories(root, kFolderMode, os::Sync::yes));
  os::FileLock lock = TRY(os::FileLock::acquire(root + "/lock"));
  TRY(os::remove_tree(root + "/tmp"));
  for (const char* name : {"tmp", "uploads", "damaged"})
    TRY(os::make_directories(root + "/" + name, kFolderMode));
  for (int i = 0; i < 256; ++i)
    TRY(os::make_directories(format("{}/{:02x}", root, i), kFolderMode));
  TRY(os::fsync_directory(root));
  return std::unique_ptr<DirectoryObjects>(new DirectoryObjects(root, options, std::move(lock)));
}

// --- places ----------------------------------------------------------------------------------

std::string DirectoryObjects::folder_of(const std::string& digest) const {
  return format("{}/{}", root_, hex_of(digest).substr(0, 2));
}
std::string DirectoryObjects::path_of(const std::string& digest) const {
  return format("{}/{}", folder_of(digest), hex_of(digest));
}
std::string DirectoryObjects::new_temporary() const {
  return format("{}/tmp/{}", root_, new_id(*options_.clock, *options_.random));
}

Result<os::File> DirectoryObjects::open_object(const std::string& digest) const {
  TRY(check_digest(digest));
  auto file = os::File::open(path_of(digest), {.follow_links = false});
  if (!file.ok() && file.error().code == Code::not_found) return no_object(digest);
  return file;
}

// --- writing ---------------------------------------------------------------------------------

std::string DirectoryObjects::refusing() {
  const std::lock_guard lock(mutex_);
  return refusing_;
}

Error DirectoryObjects::sync_failed(Error error) {
  const std::lock_guard lock(mutex_);
  if (refusing_.empty()) {
    refusing_ = format("objects are read-only, as a sync failed: {}", error.detail);
    log_error("{}", refusing_);
  }
  refuses_ = true;
  return error;
}

Result<void> DirectoryObjects::sync_file(const std::string& path) {
  os::File file = TRY(os::File::open_read(path));
  if (auto done = file.sync(); !done.ok()) return sync_failed(std::move(done).error());
  return {};
}
Result<void> DirectoryObjects::sync_folder(const std::string& path) {
  if (auto done = os::fsync_directory(path); !done.ok())
    return sync_failed(std::move(done).error());
  return {};
}

Result<void> DirectoryObjects::writable() {
  if (!refuses_) return {};
  return Error::unavailable(refusing(), "look at the disk, then restart the server");
}

Result<void> DirectoryObjects::room_for(int64_t bytes) {
  TRY(writable());
  const os::Space space = TRY(os::free_space(root_));
  if (space.free_bytes >= bytes && space.free_bytes - bytes >= options_.reserve_bytes) return {};
  return Error::unavailable(
      format("the disk of {} has {} free; {} are to be written and {} stay in reserve", root_,
             format_size(space.free_bytes), format_size(bytes),
             format_size(options_.reserve_bytes)),
      "free some space, or delete runs that are not needed");
}

// Where the bytes of the file may be taken from by rename: the file itself if it is to be moved and
// can only be ours, else a copy. So a move that is cut off leaves the file in one place or the
// other.
Result<std::string> DirectoryObjects::take_in(const std::string& path, bool move) {
  const struct stat status = TRY(os::link_status(path));
  if (!S_ISREG(status.st_mode)) return Error::invalid(format("{} is no regular file", path));
  const struct stat here = TRY(os::status(root_));
  // Another user, or another name of the file, could still write to it.
  if (move && status.st_uid == ::geteuid() && status.st_nlink == 1 &&
      status.st_dev == here.st_dev) {
    TRY(writable());
    return path;
  }
  TRY(room_for(status.st_size));
  std::string temporary = new_temporary();
  TRY(os::copy_file(path, temporary, os::Sync::no));
  return temporary;
}

// Whether the object is there, whole and by a synced name. One that is damaged is set aside.
Result<bool> DirectoryObjects::kept_already(const std::string& digest) {
  const auto file = open_object(digest);
  if (!file.ok() && file.error().code == Code::not_found) return false;
  if (!file.ok()) return Error(file.error());
  if (!verify(*file, digest, Tell::no).ok()) return false;  // its bytes are here: it is healed
  TRY(sync_folder(folder_of(digest)));
  return true;
}

Result<void> DirectoryObjects::write_side_file(const BlockHashes& hashes) {
  if (hashes.size_bytes <= kBlockBytes) return {};
  const std::string temporary = new_temporary();
  os::File file = TRY(os::File::create_new(temporary, kObjectMode));
  const auto write = [&]() -> Result<void> {
    TRY(file.write(hashes.encode()));
    TRY(sync_file(temporary));
    return os::rename_file(temporary, path_of(hashes.digest()) + std::string(kSideEnd));
  };
  auto written = write();
  if (!written.ok()) ignore(os::remove_file(temporary));
  return written;
}

// The file `temporary` becomes the object; on error it stays, or has become it without being
// synced.
Result<Stored> DirectoryObjects::keep(const std::string& temporary, const BlockHashes& hashes) {
  const std::string digest = hashes.digest();
  const auto rename_in = [&]() -> Result<void> {
    TRY(write_side_file(hashes));
    TRY(os::set_mode(temporary, kObjectMode));
    TRY(sync_file(temporary));
    TRY(os::rename_file(temporary, path_of(digest)));
    return sync_folder(folder_of(digest));
  };
  if (TRY(kept_already(digest))) {
    TRY(os::remove_file(temporary));
  } else if (auto done = rename_in(); !done.ok()) {
    return std::move(done).error().with(format("storing object {}", digest));
  }
  return Stored{digest, hashes.size_bytes};
}

Result<Stored> DirectoryObjects::put(std::string_view bytes) {
  TRY(room_for(static_cast<int64_t>(bytes.size())));
  BlockHashes hashes;
  hashes.object = hash_of(bytes);
  hashes.size_bytes = static_cast<int64_t>(bytes.size());
  for (size_t at = 0; at < bytes.size(); at += static_cast<size_t>(kBlockBytes))
    hashes.blocks.push_back(hash_of(bytes.substr(at, static_cast<size_t>(kBlockBytes))));
  if (TRY(kept_already(hashes.digest()))) return Stored{hashes.digest(), hashes.size_bytes};
  const std::string temporary = new_temporary();
  os::File file = TRY(os::File::create_new(temporary));
  const auto write_and_keep = [&]() -> Result<Stored> {
    TRY(file.write(bytes));
    return keep(temporary, hashes);
  };
  auto stored = write_and_keep();
  if (!stored.ok()) ignore(os::remove_file(temporary));
  return stored;
}

Result<Stored> DirectoryObjects::keep_checked(const std::string& temporary,
                                              const std::string& digest) {
  const os::File file = TRY(os::File::open_read(temporary));
  const BlockHashes hashes = TRY(hash_file(file));
  if (!digest.empty() && hashes.digest() != digest) return mismatch(digest, hashes.digest());
  return keep(temporary, hashes);
}

Result<Stored> DirectoryObjects::put_file(const std::string& path, const std::string& digest,
                                          bool move) {
  if (!digest.empty()) TRY(check_digest(digest));
  const std::string source = TRY(take_in(path, move));
  auto stored = keep_checked(source, digest);
  if (!stored.ok() && source != path) ignore(os::remove_file(source));
  if (stored.ok() && move && source != path) TRY(os::remove_file(path));
  return stored;
}

Result<void> DirectoryObjects::remove(const std::string& digest) {
  TRY(check_digest(digest));
  TRY(writable());
  for (const std::string& path : {path_of(digest), path_of(digest) + std::string(kSideEnd)})
    if (auto done = os::remove_file(path); !done.ok() && done.error().code != Code::not_found)
      return done;
  return sync_folder(folder_of(digest));
}

// --- reading ---------------------------------------------------------------------------------

// `file` is the object that was read. Another, whole one may have taken its name meanwhile.
Error DirectoryObjects::set_aside(const os::File& file, const std::string& digest,
                                  std::string_view why, Tell tell) {
  const std::string place =
      format("{}/damaged/{}-{}", root_, hex_of(digest), options_.clock->now().micros);
  const auto read = file.status();
  const auto named = os::link_status(path_of(digest));
  const bool same = read.ok() && named.ok() && read->st_ino == named->st_ino;
  const bool moved = same && os::rename_file(path_of(digest), place).ok();
  ignore(os::remove_file(path_of(digest) + std::string(kSideEnd)));
  // Not synced through sync_folder: reading goes on when syncs fail.
  ignore(os::fsync_directory(root_ + "/damaged"));
  ignore(os::fsync_directory(folder_of(digest)));
  metrics().counter("hearth_objects_damaged_total", "Objects that failed their digest").add();
  DirectoryOptions::Advice advice;
  if (options_.damaged && tell == Tell::yes) advice = options_.damaged(digest);
  if (advice.mend.empty()) advice.mend = "restore it from a backup, or make it anew";
  Error error =
      Error::internal(format("object {}{} is damaged: {}; {}", digest,
                             advice.whose.empty() ? "" : format(" ({})", advice.whose), why,
                             moved ? "it was set aside as " + place : "it is not served"),
                      advice.mend);
  log_error("{}", error.text());
  return error;
}

Result<void> DirectoryObjects::verify(const os::File& file, const std::string& digest, Tell tell) {
  const BlockHashes hashes = TRY(hash_file(file));
  if (hashes.digest() == digest) return {};
  return set_aside(file, digest, "its bytes have another digest", tell);
}

Result<std::vector<std::string>> DirectoryObjects::damaged() const {
  std::vector<std::string> found;
  for (const os::Entry& entry : TRY(os::list_directory(root_ + "/damaged"))) {
    const std::string digest = "sha256:" + entry.name.substr(0, entry.name.find('-'));
    if (!is_digest(digest) || os::exists(path_of(digest))) continue;
    if (found.empty() || found.back() != digest) found.push_back(digest);  // they are sorted
  }
  return found;
}

Result<std::string> DirectoryObjects::read_whole(const os::File& file, const std::string& digest,
                                                 int64_t size) {
  std::string bytes(static_cast<size_t>(size), '\0');
  const size_t got = TRY(file.pread(std::as_writable_bytes(std::span(bytes)), 0));
  bytes.resize(got);
  if (sha256(bytes) != digest) return set_aside(file, digest, "its bytes have another digest");
  return bytes;
}

// From the side file; anew from the object, verified as a whole, if that is not there or damaged.
Result<BlockHashes> DirectoryObjects::block_hashes(const os::File& file, const std::string& digest,
                                                   int64_t size) {
  const std::string side = path_of(digest) + std::string(kSideEnd);
  if (const auto bytes = os::read_file(side, kMostSideBytes); bytes.ok()) {
    auto hashes = BlockHashes::decode(*bytes, digest, size);
    if (hashes.ok()) return hashes;
    log_warning("the block hashes of object {} are damaged and are made anew", digest);
  }
  BlockHashes hashes = TRY(hash_file(file));
  if (hashes.digest() != digest) return set_aside(file, digest, "its bytes have another digest");
  if (!refuses_) ignore(write_side_file(hashes));
  return hashes;
}

Result<std::string> DirectoryObjects::read_range(const os::File& file, const std::string& digest,
                                                 int64_t size, int64_t offset, int64_t length) {
  const BlockHashes hashes = TRY(block_hashes(file, digest, size));
  const int64_t first = offset / kBlockBytes;
  const int64_t last = (offset + length - 1) / kBlockBytes;
  std::string bytes;
  bytes.reserve(static_cast<size_t>(length));
  Bytes block(static_cast<size_t>(kBlockBytes));
  for (int64_t i = first; i <= last; ++i) {
    const int64_t begin = i * kBlockBytes;
    const size_t got = TRY(file.pread(block, begin));
    const std::string_view text = as_text(std::span(block).first(got));
    if (hash_of(text) != hashes.blocks.at(static_cast<size_t>(i)))
      return set_aside(file, digest, format("block {} has another hash", i));
    const auto from = static_cast<size_t>(std::max(offset - begin, int64_t{0}));
    const auto to = static_cast<size_t>(std::min(offset + length - begin, kBlockBytes));
    bytes += text.substr(from, to - from);
  }
  return bytes;
}

Result<std::string> DirectoryObjects::get(const std::string& digest, int64_t offset,
                                          int64_t length) {
  const os::File file = TRY(open_object(digest));
  const int64_t size = TRY(file.size());
  if (offset < 0 || offset > size)
    return Error::invalid(format("offset {} lies outside the object of {} bytes", offset, size));
  if (length < 0 || length > size - offset) length = size - offset;
  if (length > kMostGetBytes)
    return Error::of(Code::too_large,
                     format("{} bytes are read at once, {} are allowed", length, kMostGetBytes));
  if (length == size || size <= kBlockBytes) {
    std::string bytes = TRY(read_whole(file, digest, size));
    if (length == size) return bytes;
    return bytes.substr(static_cast<size_t>(offset), static_cast<size_t>(length));
  }
  if (length == 0) return std::string();
  return read_range(file, digest, size, offset, length);
}

Result<std::string> DirectoryObjects::local_path(const std::string& digest) {
  const os::File file = TRY(open_object(digest));
  TRY(verify(file, digest));
  return path_of(digest);
}

Result<std::optional<int64_t>> DirectoryObjects::have(const std::string& digest) {
  const auto file = open_object(digest);
  if (!file.ok() && file.error().code == Code::not_found) return std::optional<int64_t>();
  if (!file.ok()) return Error(file.error());
  return std::optional<int64_t>(TRY(file->size()));
}

Result<void> DirectoryObjects::list(const std::function<Result<void>(const Stored&)>& each) {
  for (int i = 0; i < 256; ++i) {
    const std::string folder = format("{}/{:02x}", root_, i);
    for (const os::Entry& entry : TRY(os::list_directory(folder))) {
      if (entry.kind != os::EntryKind::file || entry.name.size() != kHexBytes) continue;
      const auto status = os::status(folder + "/" + entry.name);
      if (!status.ok()) continue;  // removed meanwhile
      TRY(each({"sha256:" + entry.name, status->st_size}));
    }
  }
  return {};
}

// --- uploads ---------------------------------------------------------------------------------

Result<Upload> DirectoryObjects::begin_upload(const std::string& digest, int64_t size_bytes) {
  TRY(check_digest(digest));
  TRY(room_for(std::max(size_bytes, int64_t{0})));
  return Upload{TRY(uploads_.begin(digest, size_bytes)), 0};
}

Result<Upload> DirectoryObjects::upload_state(const std::string& id) {
  return Upload{id, TRY(uploads_.state(id)).received_bytes};
}

Result<Upload> DirectoryObjects::append(const std::string& id, int64_t offset,
                                        const std::string& path) {
  TRY(room_for(TRY(os::link_status(path)).st_size));
  return Upload{id, TRY(uploads_.append(id, offset, path)).received_bytes};
}

Result<Stored> DirectoryObjects::finish_upload(const std::string& id) {
  TRY(writable());
  Stored stored;
  const auto take = [&](const std::string& path, const UploadState& upload) -> Result<void> {
    auto put = keep_checked(path, upload.digest);
    // Moved in by a call that was killed before it could forget the upload.
    if (!put.ok() && put.error().code == Code::not_found && TRY(kept_already(upload.digest)))
      put = Stored{upload.digest, upload.size_bytes};
    stored = TRY(std::move(put));
    return {};
  };
  TRY(uploads_.finish(id, take));
  return stored;
}

Result<int64_t> DirectoryObjects::sweep_uploads(Duration idle) {
  TRY(writable());
  return uploads_.sweep(idle);
}

}  // namespace hearth::objects
