#include "control/templates.h"

#include "base/format.h"
#include "base/log.h"
#include "db/tables.h"
#include "os/archive.h"
#include "os/files.h"

namespace hearth::control {
namespace {

Result<void> keep_pinned(Context& context, const std::string& digest, const std::string& holder) {
  bool pinned = false;
  TRY(context.database.read([&](db::Session& session) {
    return session.query("SELECT 1 FROM pins WHERE digest = $1 AND holder = $2", {digest, holder},
                         [&](const db::Row&) -> Result<void> {
                           pinned = true;
                           return {};
                         });
  }));
  if (pinned) return {};
  return context.database.write([&](db::Session& session) -> Result<void> {
    TRY(db::unpin(session, holder));  // of an earlier version of the program
    return db::pin(session, digest, holder, context.clock.now());
  });
}

// The digest of its code.
Result<std::string> put_code(Context& context, const TemplateFolder& folder,
                             const std::string& temporary) {
  const auto work = TRY(os::TemporaryDirectory::make("template", temporary));
  const std::string code = work / "code", packed = work / "code.tar.zst";
  for (const TemplateFile& file : folder.files) {
    const std::string path = format("{}/{}", code, file.name);
    TRY(os::make_directories(os::parent_of(path), 0755));
    TRY(os::write_file_atomic(path, file.bytes, 0644, os::Sync::no));
  }
  const os::BundleInfo bundle = TRY(os::bundle_directory(code, packed));
  // Pinned before it is looked for: so it is not collected in between.
  TRY(keep_pinned(context, bundle.digest, "template:" + folder.about.name));
  if (!TRY(context.objects.have(bundle.digest)))
    TRY(context.objects.put_file(packed, bundle.digest, true));
  return bundle.digest;
}

}  // namespace

std::vector<JobTemplate> put_templates(Context context, const std::string& temporary) {
  std::vector<JobTemplate> all;
  for (const TemplateFolder& folder : job_templates()) {
    if (!folder.is_whole) continue;
    JobTemplate made = folder.about;
    if (folder.files.size() > 1) {
      const auto digest = put_code(context, folder, temporary);
      if (!digest.ok()) {
        log_warning("the template {} is not offered: {}", made.name, digest.error().text());
        continue;
      }
      made.code_digest = *digest;
    }
    all.push_back(std::move(made));
  }
  return all;
}

}  // namespace hearth::control
