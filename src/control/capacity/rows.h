// What quotas, pools and nodes have in common: rows of which there is one a name.
#pragma once

#include <optional>

#include "base/format.h"
#include "base/id.h"
#include "control/check_version.h"
#include "control/context.h"
#include "db/table.h"
#include "domain/capacity.h"
#include "domain/identity.h"

namespace hearth::control {

inline Error no_such_node(const std::string& name) {
  return Error::not_found(format("there is no node '{}'", name),
                          "`hearth node list` shows those there are");
}

// No guarantee is above its limit, whether a quota is set or only asked about. `path`: what stands
// before the names of its fields.
Result<void> check_limits(const Amounts& guaranteed, const Amounts& limit, const std::string& path);

// Writes `row` in place of `before`, or as the first of its name, with who and when.
template <typename T>
Result<void> put_row(db::Session& session, Context& context, const Identity& who,
                     const std::optional<T>& before, T& row) {
  row.changed_by = who.user;
  row.changed_at = context.clock.now();
  row.id = before ? before->id : new_id(context.clock, context.random);
  row.version = before ? before->version : 0;
  return before ? db::Table<T>::update(session, row) : db::Table<T>::insert(session, row);
}

}  // namespace hearth::control
