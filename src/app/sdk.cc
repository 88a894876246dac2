#include "app/sdk.h"

#include "app/embedded.h"
#include "base/bytes.h"
#include "os/files.h"

namespace hearth::app {

Result<std::string> unpack_sdk(const std::string& directory) {
  Sha256 digest;
  for (const EmbeddedFile& file : python_sdk()) {
    digest.update(file.path);
    digest.update(file.bytes);
  }
  const std::string root = directory + "/" + to_hex(digest.finish()).substr(0, 16);
  if (os::exists(root)) return root;
  // Unpacked beside and renamed: a shim of an older server never sees half of it.
  const std::string part = root + ".part";
  TRY(os::remove_tree(part));
  for (const EmbeddedFile& file : python_sdk()) {
    const std::string path = part + "/" + std::string(file.path);
    TRY(os::make_directories(os::parent_of(path), 0755));
    TRY(os::write_file_atomic(path, file.bytes, 0644, os::Sync::no));
  }
  TRY(os::rename_file(part, root));
  return root;
}

}  // namespace hearth::app
