#include "control/backup/archive.h"

#include "base/format.h"
#include "control/backup/tar.h"
#include "domain/codec.h"
#include "os/files.h"

namespace hearth::control {
namespace {

constexpr std::string_view kDigestMark = "sha256:";

Result<void> pour_file(const std::string& path, const Pour& pour) {
  os::File file = TRY(os::File::open_read(path));
  Bytes piece(kTarPiece);
  for (;;) {
    const size_t n = TRY(file.read(piece));
    if (n == 0) return {};
    TRY(pour(as_text(std::span(piece).first(n))));
  }
}

}  // namespace

Result<void> Archive::add_file(const std::string& path, const std::string& name) {
  Part part{{.name = name, .digest = {}, .size_bytes = 0}, path};
  Sha256 hash;
  TRY(pour_file(path, [&](std::string_view bytes) -> Result<void> {
    hash.update(bytes);
    part.entry.size_bytes += static_cast<int64_t>(bytes.size());
    return {};
  }));
  part.entry.digest = hash.finish_text();
  parts_.push_back(std::move(part));
  return {};
}

void Archive::add_object(const std::string& path, const std::string& digest, int64_t size_bytes) {
  const std::string hex = digest.substr(kDigestMark.size());
  parts_.push_back({{std::string(kObjectFolder) + hex, digest, size_bytes}, path});
  ++report_.objects;
}

Result<void> Archive::add_logs(const std::string& directory, const std::string& folder) {
  if (!os::exists(directory)) return {};
  for (const os::Entry& entry : TRY(os::list_directory(directory))) {
    const std::string name = std::string(kLogFolder) + entry.name;
    if (entry.kind != os::EntryKind::file || name.size() > kMostTarName) continue;
    const std::string copy = format("{}/{}", folder, entry.name);
    const auto copied = os::copy_file(format("{}/{}", directory, entry.name), copy, os::Sync::no);
    if (!copied.ok() && copied.error().code == Code::not_found) continue;  // sealed just now
    TRY(copied);
    TRY(add_file(copy, name));
  }
  return {};
}

Result<void> Archive::write(const std::string& to, const Progress& progress) {
  for (const Part& part : parts_) {
    index_.files.push_back(part.entry);
    report_.bytes += part.entry.size_bytes;
  }
  os::File file = TRY(os::File::create_new(to, 0600));
  TarWriter tar(file);
  const std::string index = to_json(index_);
  TRY(tar.add(std::string(kIndexName), static_cast<int64_t>(index.size()), index_.created_at,
              [&](const Pour& pour) { return pour(index); }));
  int64_t done = 0;
  for (const Part& part : parts_) {
    Sha256 hash;
    TRY(tar.add(part.entry.name, part.entry.size_bytes, index_.created_at, [&](const Pour& pour) {
      return pour_file(part.path, [&](std::string_view bytes) -> Result<void> {
        hash.update(bytes);
        done += static_cast<int64_t>(bytes.size());
        return pour(bytes);
      });
    }));
    if (hash.finish_text() != part.entry.digest)
      return Error::internal(part.path + " changed while it was copied", "try again");
    if (progress) progress(done, report_.bytes);
  }
  TRY(tar.finish());
  TRY(file.sync());
  return file.close();
}

}  // namespace hearth::control
