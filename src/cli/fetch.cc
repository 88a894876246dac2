#include "cli/fetch.h"

#include "base/bytes.h"
#include "base/format.h"
#include "os/files.h"
#include "os/paths.h"

namespace hearth::cli {

Result<Manifest> fetch_manifest(Server& server, const std::string& digest) {
  const std::string text = TRY(server.api().get("/api/v1/objects/" + digest));
  if (sha256(text) != digest)
    return Error::internal(format("what came for the manifest {} has another digest", digest));
  return from_json<Manifest>(text, Origin::server, client::Client::kMostAnswerBytes);
}

Result<int64_t> fetch_tree(Server& server, const Manifest& manifest, const std::string& into) {
  TRY(os::make_directory(into));
  int64_t bytes = 0;
  for (const ManifestFile& file : manifest.files) {
    Download what;
    what.path = "/api/v1/objects/" + file.digest;
    what.file = TRY(os::safe_join(into, file.path));
    what.digest = file.digest;
    what.label = file.path;
    what.size_bytes = file.size_bytes;
    TRY(os::make_directories(os::parent_of(what.file)));
    bytes += TRY(download(server, what));
    if (file.executable) TRY(os::set_mode(what.file, 0755));
  }
  return bytes;
}

}  // namespace hearth::cli
