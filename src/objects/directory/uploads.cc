#include "objects/directory/uploads.h"

#include <cstring>

#include "base/bytes.h"
#include "base/format.h"
#include "base/id.h"

namespace hearth::objects {
namespace {

constexpr uint32_t kMagic = 0x31505548;  // "HUP1"
constexpr size_t kCopyBytes = 1 << 20;
constexpr std::string_view kStateEnd = ".state";

struct Head {
  uint32_t magic = kMagic;
  uint32_t crc = 0;  // of all below
  int64_t size_bytes = 0;
  std::array<std::byte, 32> digest{};
};
struct Part {
  int64_t received_bytes = 0;
  int64_t time = 0;
  uint32_t crc = 0;  // of all above
  uint32_t zero = 0;
};
static_assert(sizeof(Head) == 48 && sizeof(Part) == 24);

template <typename T>
std::string_view raw(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
uint32_t crc_of(const Head& head) {
  return crc32c(as_bytes(raw(head).substr(8)));
}
uint32_t crc_of(const Part& part) {
  return crc32c(as_bytes(raw(part).substr(0, 16)));
}

Error unknown(const std::string& id) {
  return Error::not_found(format("there is no upload {}", id),
                          "it may be finished or expired: ask whether the object is there, else "
                          "begin again");
}

// The head and the last part that is whole; a torn one behind it does not count.
Result<UploadState> parse(std::string_view bytes) {
  Head head;
  if (bytes.size() < sizeof head) return Error::internal("the upload's state is damaged");
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.magic != kMagic || head.crc != crc_of(head))
    return Error::internal("the upload's state is damaged");
  UploadState state;
  state.digest = "sha256:" + to_hex(head.digest);
  state.size_bytes = head.size_bytes;
  for (bytes.remove_prefix(sizeof head); bytes.size() >= sizeof(Part);
       bytes.remove_prefix(sizeof(Part))) {
    Part part;
    std::memcpy(&part, bytes.data(), sizeof part);
    if (part.crc != crc_of(part) || part.received_bytes < state.received_bytes ||
        part.received_bytes > state.size_bytes)
      break;
    state.received_bytes = part.received_bytes;
    state.touched = {part.time};
  }
  return state;
}

// Where in the state file the next part belongs: behind the last whole one.
int64_t parts_end(std::string_view bytes) {
  size_t end = sizeof(Head);
  for (; end + sizeof(Part) <= bytes.size(); end += sizeof(Part)) {
    Part part;
    std::memcpy(&part, bytes.data() + end, sizeof part);
    if (part.crc != crc_of(part)) break;
  }
  return static_cast<int64_t>(end);
}

Result<int64_t> copy_behind(const std::string& from, os::File& to, int64_t offset, int64_t room) {
  const os::File source = TRY(os::File::open(from, {.follow_links = false}));
  Bytes buffer(kCopyBytes);
  int64_t copied = 0;
  for (;;) {
    const size_t got = TRY(source.pread(buffer, copied));
    if (got == 0) return copied;
    if (static_cast<int64_t>(got) > room - copied)
      return Error::of(Code::too_large, "more bytes come than the upload announced");
    TRY(to.pwrite(as_text(std::span(buffer).first(got)), offset + copied));
    copied += static_cast<int64_t>(got);
  }
}

}  // namespace

// One thread at an upload at a time.
class Uploads::Claim {
 public:
  static Result<Claim> make(Uploads& uploads, const std::string& id) {
    if (!is_id(id)) return unknown(id);
    const std::lock_guard lock(uploads.mutex_);
    if (!uploads.claimed_.insert(id).second)
      return Error::of(Code::busy, format("another request is at upload {}", id), "try again");
    return Claim(uploads, id);
  }
  Claim(Claim&& other) noexcept
      : uploads_(std::exchange(other.uploads_, nullptr)), id_(other.id_) {}
  Claim& operator=(Claim&&) = delete;
  ~Claim() {
    if (uploads_ == nullptr) return;
    const std::lock_guard lock(uploads_->mutex_);
    uploads_->claimed_.erase(id_);
  }

 private:
  Claim(Uploads& uploads, std::string id) : uploads_(&uploads), id_(std::move(id)) {}
  Uploads* uploads_;
  std::string id_;
};

Uploads::Uploads(std::string folder, Clock& clock, Random& random, Syncs syncs)
    : folder_(std::move(folder)), clock_(clock), random_(random), syncs_(std::move(syncs)) {}

Result<std::vector<std::string>> Uploads::ids() const {
  std::vector<std::string> ids;
  for (const os::Entry& entry : TRY(os::list_directory(folder_)))
    if (entry.name.ends_with(kStateEnd))
      ids.push_back(entry.name.substr(0, entry.name.size() - kStateEnd.size()));
  return ids;
}

Result<std::string> Uploads::begin(const std::string& digest, int64_t size_bytes) {
  if (size_bytes < 0 || size_bytes > kMostUploadBytes)
    return Error::invalid(
        format("an upload has {} bytes, 0 to {} are allowed", size_bytes, kMostUploadBytes));
  if (TRY(ids()).size() >= kMostUploads)
    return Error::of(Code::busy, format("{} uploads are open, no more are allowed", kMostUploads),
                     "finish some, or wait until they expire");
  Head head;
  head.size_bytes = size_bytes;
  const Bytes hash = TRY(from_hex(std::string_view(digest).substr(digest.find(':') + 1)));
  CHECK(hash.size() == head.digest.size());
  std::ranges::copy(hash, head.digest.begin());
  head.crc = crc_of(head);
  const std::string id = new_id(clock_, random_);
  os::File file = TRY(os::File::create_new(state_path(id)));
  Part part{.time = clock_.now().micros};
  part.crc = crc_of(part);
  TRY(file.write(raw(head)));
  TRY(file.write(raw(part)));
  TRY(syncs_.file(state_path(id)));
  TRY(os::File::create_new(data_path(id)));
  TRY(syncs_.folder(folder_));
  return id;
}

Result<UploadState> Uploads::state(const std::string& id) const {
  if (!is_id(id)) return unknown(id);
  auto bytes = os::read_file(state_path(id), kMostStateBytes);
  if (!bytes.ok() && bytes.error().code == Code::not_found) return unknown(id);
  return parse(TRY(std::move(bytes)));
}

Result<void> Uploads::record(const std::string& id, int64_t received_bytes) {
  Part part{.received_bytes = received_bytes, .time = clock_.now().micros};
  part.crc = crc_of(part);
  const std::string path = state_path(id);
  os::File file = TRY(os::File::open(path, {.write = true}));
  TRY(file.pwrite(raw(part), parts_end(TRY(os::read_file(path, kMostStateBytes)))));
  return syncs_.file(path);
}

Result<UploadState> Uploads::append(const std::string& id, int64_t offset,
                                    const std::string& path) {
  const Claim claim = TRY(Claim::make(*this, id));
  UploadState now = TRY(state(id));
  if (offset != now.received_bytes)
    return Error::conflict(
        format("upload {} stands at {} bytes, not at {}", id, now.received_bytes, offset),
        "go on from there");
  os::File data = TRY(os::File::open(data_path(id), {.write = true}));
  if (TRY(data.size()) > offset) TRY(data.truncate(offset));  // what was never acknowledged
  const int64_t copied = TRY(copy_behind(path, data, offset, now.size_bytes - offset));
  if (copied == 0) return now;
  TRY(syncs_.file(data_path(id)));
  now.received_bytes += copied;
  TRY(record(id, now.received_bytes));
  return now;
}

Result<void> Uploads::finish(
    const std::string& id,
    const std::function<Result<void>(const std::string&, const UploadState&)>& take) {
  const Claim claim = TRY(Claim::make(*this, id));
  const UploadState now = TRY(state(id));
  if (now.received_bytes != now.size_bytes)
    return Error::conflict(
        format("upload {} has {} of {} bytes", id, now.received_bytes, now.size_bytes),
        "send the rest first");
  const auto size = os::status(data_path(id));
  if (size.ok() && size->st_size > now.size_bytes) {
    os::File data = TRY(os::File::open(data_path(id), {.write = true}));
    TRY(data.truncate(now.size_bytes));
  }
  Result<void> taken = take(data_path(id), now);
  if (taken.ok() || taken.error().code == Code::invalid) TRY(forget(id));
  return taken;
}

Result<void> Uploads::forget(const std::string& id) {
  for (const std::string& path : {data_path(id), state_path(id)})
    if (auto done = os::remove_file(path); !done.ok() && done.error().code != Code::not_found)
      return done;
  return {};
}

Result<int64_t> Uploads::sweep(Duration idle) {
  int64_t dropped = 0;
  for (const std::string& id : TRY(ids())) {
    const auto claim = Claim::make(*this, id);
    if (!claim.ok()) continue;
    const auto now = state(id);
    if (now.ok() && clock_.now() - now->touched < idle) continue;
    TRY(forget(id));
    ++dropped;
  }
  return dropped;
}

}  // namespace hearth::objects
