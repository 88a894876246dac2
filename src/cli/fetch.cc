#include "cli/fetch.h"

#include <map>
#include <optional>
#include <span>

#include <sys/stat.h>

#include "base/bytes.h"
#include "base/format.h"
#include "base/units.h"
#include "os/files.h"
#include "os/paths.h"

namespace hearth::cli {
namespace {

constexpr size_t kPieceBytes = 1 << 20;

Error in_the_way(const std::string& path, const std::string& why) {
  return Error::of(Code::exists, format("{} is there already{}", path, why),
                   "--out takes another place, --force writes over it");
}

// Whether the file there is the one that is asked for.
Result<bool> is_same(const Download& what) {
  const auto status = os::status(what.file);
  if (!status.ok() || !S_ISREG(status->st_mode) || what.digest.empty()) return false;
  if (what.size_bytes > 0 && status->st_size != what.size_bytes) return false;
  Progress progress("Reading " + what.label, status->st_size);
  return TRY(hash_file(what.file, progress)).digest == what.digest;
}

// Before anything is written: what lies in the directory is of the tree, and as it is there.
Result<void> check_directory(const std::string& into, const std::vector<Download>& files) {
  if (!S_ISDIR(TRY(os::status(into)).st_mode)) return in_the_way(into, ", and is no folder");
  std::map<std::string, const Download*> known;
  for (const Download& file : files) known[file.file] = &file;
  return os::walk(into, [&](const os::Found& found) -> Result<bool> {
    if (found.kind == os::EntryKind::directory) return true;
    const std::string path = TRY(os::safe_join(into, found.path));
    const auto file = known.find(path);
    if (file == known.end()) return in_the_way(path, ", and is no file of this version");
    if (!TRY(is_same(*file->second))) return in_the_way(path, ", and is another file");
    return false;
  });
}

}  // namespace

Result<Hashed> hash_file(const std::string& path, Progress& progress) {
  os::File file = TRY(os::File::open_read(path));
  Bytes piece(kPieceBytes);
  Sha256 hash;
  Hashed found;
  for (;;) {
    const size_t n = TRY(file.read(piece));
    if (n == 0) break;
    hash.update(std::span(piece).first(n));
    found.bytes += static_cast<int64_t>(n);
    progress.add(static_cast<int64_t>(n));
  }
  found.digest = hash.finish_text();
  return found;
}

Result<std::optional<int64_t>> fetch_file(Server& server, const Download& what, Present present) {
  if (os::exists(what.file)) {
    if (TRY(is_same(what))) return std::optional<int64_t>();
    if (present == Present::kept) return in_the_way(what.file, ", and is another file");
  }
  return std::optional(TRY(download(server, what)));
}

std::string fetched_words(std::optional<int64_t> bytes) {
  return bytes ? format_size(*bytes) : "there already, and the same";
}

Result<Manifest> fetch_manifest(Server& server, const std::string& digest) {
  const std::string text = TRY(server.api().get("/api/v1/objects/" + digest));
  if (sha256(text) != digest)
    return Error::internal(format("what came for the manifest {} has another digest", digest));
  return from_json<Manifest>(text, Origin::server, client::Client::kMostAnswerBytes);
}

Result<std::optional<int64_t>> fetch_tree(Server& server, const Manifest& manifest,
                                          const std::string& into, Present present) {
  std::vector<Download> files;
  for (const ManifestFile& file : manifest.files) {
    Download& what = files.emplace_back();
    what.path = "/api/v1/objects/" + file.digest;
    what.file = TRY(os::safe_join(into, file.path));
    what.digest = file.digest;
    what.label = file.path;
    what.size_bytes = file.size_bytes;
  }
  if (os::exists(into) && present == Present::kept) TRY(check_directory(into, files));
  TRY(os::make_directories(into, 0755));
  std::optional<int64_t> bytes;
  for (size_t i = 0; i < files.size(); ++i) {
    TRY(os::make_directories(os::parent_of(files[i].file)));
    if (const auto one = TRY(fetch_file(server, files[i], present)))
      bytes = bytes.value_or(0) + *one;
    if (manifest.files[i].executable) TRY(os::set_mode(files[i].file, 0755));
  }
  return bytes;
}

}  // namespace hearth::cli
