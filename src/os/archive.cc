// Packing and unpacking by libarchive: GNU tar, whose names are bytes as they are (pax would
// convert them by the locale, and the digest with them).
#include "os/archive.h"

#include <algorithm>
#include <cerrno>
#include <memory>

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/format.h"
#include "base/units.h"
#include "os/bundle_names.h"
#include "os/files.h"
#include "os/paths.h"

namespace hearth::os {
namespace {

constexpr size_t kBufferBytes = 256 << 10;
// Best ratio per second for source text; the same on every machine, or the digests would differ.
constexpr const char* kLevel = "6";

using Reader = std::unique_ptr<struct archive, int (*)(struct archive*)>;
using Item = std::unique_ptr<archive_entry, void (*)(archive_entry*)>;

std::string words_of(struct archive* archive) {
  const char* const words = archive_error_string(archive);
  return words != nullptr ? words : "no reason given";
}

// --- packing ---------------------------------------------------------------------------------

class Packer {
 public:
  Packer(const std::string& directory, const BundleBounds& bounds, File to)
      : directory_(directory),
        bounds_(bounds),
        to_(std::move(to)),
        buffer_(kBufferBytes),
        archive_(archive_write_new(), archive_write_free) {}

  Result<BundleInfo> run(const BundlePlan& plan) {
    root_ = Fd(::open(directory_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!root_) return Error::from_errno(format("opening {}", directory_), errno);
    TRY(begin());
    for (const BundleEntry& entry : plan.entries) TRY(add(entry));
    TRY(check(archive_write_close(archive_.get())));
    TRY(to_.sync());
    info_.digest = digest_.finish_text();
    info_.files = static_cast<int64_t>(plan.entries.size());
    info_.left_out_links = plan.left_out_links;
    return info_;
  }

 private:
  Result<void> begin() {
    TRY(check(archive_write_add_filter_zstd(archive_.get())));
    TRY(check(
        archive_write_set_filter_option(archive_.get(), "zstd", "compression-level", kLevel)));
    TRY(check(archive_write_set_format_gnutar(archive_.get())));
    TRY(check(archive_write_set_bytes_in_last_block(archive_.get(), 1)));
    return check(archive_write_open(archive_.get(), this, nullptr, &Packer::took, nullptr));
  }

  // A failed write of ours says more than libarchive's words for it.
  Result<void> check(int answer) {
    if (failed_) return *failed_;
    if (answer == ARCHIVE_OK) return {};
    return Error::internal(format("packing {}: {}", directory_, words_of(archive_.get())));
  }

  static la_ssize_t took(struct archive*, void* self, const void* bytes, size_t size) {
    return static_cast<Packer*>(self)->write({static_cast<const char*>(bytes), size});
  }

  la_ssize_t write(std::string_view bytes) {
    if (auto written = to_.write(bytes); !written.ok()) {
      failed_ = std::move(written).error();
      return -1;
    }
    digest_.update(bytes);
    info_.packed_bytes += static_cast<int64_t>(bytes.size());
    return static_cast<la_ssize_t>(bytes.size());
  }

  Result<void> add(const BundleEntry& entry) {
    const Item item(archive_entry_new(), archive_entry_free);
    archive_entry_set_mtime(item.get(), 0, 0);
    if (entry.kind == EntryKind::file) return add_file(entry, item);
    const bool folder = entry.kind == EntryKind::directory;
    archive_entry_set_pathname(item.get(), (entry.path + (folder ? "/" : "")).c_str());
    archive_entry_set_filetype(item.get(), folder ? AE_IFDIR : AE_IFLNK);
    archive_entry_set_perm(item.get(), folder ? 0755 : 0777);
    if (!folder) archive_entry_set_symlink(item.get(), entry.target.c_str());
    return check(archive_write_header(archive_.get(), item.get()));
  }

  Result<void> add_file(const BundleEntry& entry, const Item& item) {
    auto fd =
        open_beneath(root_.get(), entry.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, Links::refuse);
    if (!fd.ok() && fd.error().code == Code::not_found) return changed(entry);
    if (!fd.ok()) return std::move(fd).error().with(format("packing {}", directory_));
    File file = TRY(File::adopt(std::move(*fd), directory_ + "/" + entry.path));
    const struct stat status = TRY(file.status());
    if (!S_ISREG(status.st_mode)) return changed(entry);
    info_.content_bytes += status.st_size;
    if (info_.content_bytes > bounds_.bytes) return changed(entry);  // it was less when counted
    archive_entry_set_pathname(item.get(), entry.path.c_str());
    archive_entry_set_filetype(item.get(), AE_IFREG);
    archive_entry_set_perm(item.get(), (status.st_mode & 0100) != 0 ? 0755 : 0644);
    archive_entry_set_size(item.get(), status.st_size);
    TRY(check(archive_write_header(archive_.get(), item.get())));
    int64_t left = status.st_size;
    while (left > 0) {
      const size_t want = static_cast<size_t>(std::min<int64_t>(left, kBufferBytes));
      const size_t got = TRY(file.read(std::span(buffer_).first(want)));
      if (got == 0) return changed(entry);
      const la_ssize_t put = archive_write_data(archive_.get(), buffer_.data(), got);
      if (put != static_cast<la_ssize_t>(got)) {
        TRY(check(ARCHIVE_FATAL));
      }
      left -= static_cast<int64_t>(got);
    }
    return {};
  }

  Error changed(const BundleEntry& entry) const {
    return Error::conflict(format("{}/{} changed while it was packed", directory_, entry.path),
                           "wait until nothing writes there, then try again");
  }

  const std::string& directory_;
  const BundleBounds& bounds_;
  File to_;
  Fd root_;
  Bytes buffer_;
  Sha256 digest_;
  BundleInfo info_;
  std::optional<Error> failed_;
  Reader archive_;  // last: its destructor may still write
};

// --- unpacking -------------------------------------------------------------------------------

class Unpacker {
 public:
  Unpacker(File from, const std::string& into, const BundleBounds& bounds)
      : from_(std::move(from)),
        into_(into),
        bounds_(bounds),
        buffer_(kBufferBytes),
        input_(kBufferBytes),
        archive_(archive_read_new(), archive_read_free) {}

  Result<BundleInfo> run() {
    TRY(make_directories(into_));
    root_ = Fd(::open(into_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!root_) return Error::from_errno(format("opening {}", into_), errno);
    archive_read_support_filter_zstd(archive_.get());
    archive_read_support_format_tar(archive_.get());
    TRY(check(archive_read_open(archive_.get(), this, nullptr, &Unpacker::give, nullptr)));
    for (;;) {
      archive_entry* item = nullptr;
      const int answer = archive_read_next_header(archive_.get(), &item);
      if (answer == ARCHIVE_EOF) break;
      TRY(check(answer));
      TRY(take(item));
    }
    // What stands behind the end belongs to the digest too.
    while (give_more() > 0) {
    }
    if (failed_) return *failed_;
    info_.digest = digest_.finish_text();
    return info_;
  }

 private:
  Result<void> check(int answer) {
    if (failed_) return *failed_;
    if (answer == ARCHIVE_OK || answer == ARCHIVE_WARN) return {};
    return Error::invalid(format("{} is no bundle: {}", from_.path(), words_of(archive_.get())));
  }

  static la_ssize_t give(struct archive*, void* self, const void** bytes) {
    auto* const unpacker = static_cast<Unpacker*>(self);
    *bytes = unpacker->input_.data();
    return unpacker->give_more();
  }

  la_ssize_t give_more() {
    auto got = from_.read(input_);
    if (!got.ok()) {
      failed_ = std::move(got).error();
      return -1;
    }
    digest_.update(std::span<const std::byte>(input_).first(*got));
    info_.packed_bytes += static_cast<int64_t>(*got);
    return static_cast<la_ssize_t>(*got);
  }

  Error wrong(std::string_view name, std::string_view what) const {
    return Error::invalid(format("{}: '{}' {}", from_.path(), name, what));
  }

  Result<void> take(archive_entry* item) {
    const char* text = archive_entry_pathname(item);
    if (text == nullptr) text = archive_entry_pathname_utf8(item);
    if (text == nullptr) return wrong("?", "has a name that cannot be read");
    const auto joined = safe_join("", text);
    if (!joined.ok()) return wrong(text, "leads out of the folder");
    if (++info_.files > bounds_.files)
      return Error::of(Code::too_large,
                       format("{} has more than {} files", from_.path(), bounds_.files));
    if (joined->empty()) return {};  // "./"
    const std::string path = joined->substr(1);
    if (archive_entry_hardlink(item) != nullptr) return wrong(path, "is a hard link");
    const auto type = archive_entry_filetype(item);
    if (type == AE_IFDIR) return inside(path, make_directories_beneath(into_, path));
    if (type != AE_IFREG && type != AE_IFLNK)
      return wrong(path, "is neither a file, a folder nor a link");
    const size_t slash = path.rfind('/');
    if (slash != std::string::npos)
      TRY(inside(path, make_directories_beneath(into_, path.substr(0, slash))));
    return type == AE_IFREG ? take_file(item, path) : take_link(item, path);
  }

  // An archive that leads out is a wrong archive.
  Result<void> inside(const std::string& path, Result<void> done) const {
    if (!done.ok() && done.error().code == Code::denied) return wrong(path, "lies below a link");
    return done;
  }

  Result<void> take_link(archive_entry* item, const std::string& path) {
    const char* target = archive_entry_symlink(item);
    if (target == nullptr) target = archive_entry_symlink_utf8(item);
    if (target == nullptr || !link_stays_inside(path, target))
      return wrong(path, "is a link that may lead out of the folder");
    // Its parent was made or checked just now, and only this process knows of the folder.
    auto made = make_symlink(target, into_ + "/" + path);
    if (!made.ok() && made.error().code == Code::exists) return wrong(path, "is there twice");
    return made;
  }

  Result<void> take_file(archive_entry* item, const std::string& path) {
    const mode_t mode = (archive_entry_perm(item) & 0100) != 0 ? 0755 : 0644;
    auto fd = open_beneath(root_.get(), path, O_WRONLY | O_CREAT | O_EXCL, mode, Links::refuse);
    if (!fd.ok() && fd.error().code == Code::exists) return wrong(path, "is there twice");
    if (!fd.ok()) return fd.error();
    File file = TRY(File::adopt(std::move(*fd), into_ + "/" + path, true));
    for (;;) {
      const la_ssize_t got = archive_read_data(archive_.get(), buffer_.data(), buffer_.size());
      if (got < 0) {
        TRY(check(ARCHIVE_FATAL));
      }
      if (got == 0) break;
      info_.content_bytes += got;
      if (info_.content_bytes > bounds_.bytes)
        return Error::of(Code::too_large, format("{} has more than {} unpacked", from_.path(),
                                                 format_size(bounds_.bytes)));
      TRY(file.write(as_text(std::span(buffer_).first(static_cast<size_t>(got)))));
    }
    return file.close();
  }

  File from_;
  const std::string& into_;
  const BundleBounds& bounds_;
  Fd root_;
  Bytes buffer_, input_;
  Sha256 digest_;
  BundleInfo info_;
  std::optional<Error> failed_;
  Reader archive_;
};

}  // namespace

Result<BundleInfo> bundle_directory(const std::string& directory, const std::string& to,
                                    const BundleBounds& bounds,
                                    const std::function<void(const BundleContents&)>& counted) {
  const BundlePlan plan = TRY(plan_bundle(directory, bounds));
  if (counted) counted(plan.contents);
  auto done = Packer(directory, bounds, TRY(File::create_new(to, 0600))).run(plan);
  if (!done.ok()) ignore(remove_file(to));
  return done;
}

Result<std::vector<std::string>> bundle_names(const std::string& directory,
                                              const BundleBounds& bounds) {
  const BundlePlan plan = TRY(plan_bundle(directory, bounds));
  std::vector<std::string> names;
  for (const BundleEntry& entry : plan.entries)
    names.push_back(entry.path + (entry.kind == EntryKind::directory ? "/" : ""));
  return names;
}

Result<BundleInfo> extract_bundle(const std::string& archive, const std::string& into,
                                  const BundleBounds& bounds) {
  return Unpacker(TRY(File::open_read(archive)), into, bounds).run();
}

}  // namespace hearth::os
