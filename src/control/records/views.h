// Saved views: one's own, and those that others share within projects that one may see.
#pragma once

#include <optional>
#include <string>

#include "control/context.h"
#include "db/table.h"
#include "domain/identity.h"
#include "domain/saved_view.h"

namespace hearth::control {

class Access;

constexpr int64_t kMostViews = 1000;  // of one person

class Views {
 public:
  Views(Context context, Access& access) : context_(context), access_(access) {}

  // `page`: of this page alone; "": of all.
  Result<db::ListPage<SavedView>> list(const Identity& who, const std::string& page,
                                       const std::string& project, db::ListQuery query);
  Result<SavedView> get(const Identity& who, const std::string& id);
  // Whoever may look may save; whoever may submit may share. Errors: too_large over kMostViews.
  Result<SavedView> add(const Identity& who, SavedView wanted);
  // All of it but who owns it; one's own alone. Errors: conflict when it is not of the version that
  // the caller saw.
  Result<SavedView> change(const Identity& who, const std::string& id, SavedView wanted,
                           std::optional<int64_t> if_version);
  // One's own; those that are shared are the maintainers' to take away, too.
  Result<void> remove(const Identity& who, const std::string& id);

 private:
  Result<void> may_save(const Identity& who, const SavedView& wanted);

  Context context_;
  Access& access_;
};

}  // namespace hearth::control
