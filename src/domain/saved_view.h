// What a person looks at again: the filters, columns and charts of one page, under a name.
#pragma once

#include <string>

#include "domain/describe.h"

namespace hearth {

struct SavedView {
  std::string id, name, page, project, query, owner;
  bool shared = false;
  Time created_at;
  int64_t version = 0;
  bool operator==(const SavedView&) const = default;
};
template <>
struct Describe<SavedView> {
  static constexpr std::string_view name = "SavedView", doc = "A view of a page, under a name.";
  static void fields(Fields<SavedView>& f) {
    f("id", &SavedView::id, "ULID").output_only();
    f("name", &SavedView::name, "for people").required().min(1).max(128);
    f("page", &SavedView::page, "of which page it is")
        .required()
        .matches("[a-z][a-z0-9-]{0,31}", "a-z, 0-9, '-', at most 32 characters")
        .example("runs");
    f("project", &SavedView::project, "whose things it shows; empty: of all projects").max(63);
    f("query", &SavedView::query, "what the page makes of it").max(32768);
    f("owner", &SavedView::owner, "who saved it").output_only();
    f("shared", &SavedView::shared, "whoever may see the project sees it, too");
    f("created_at", &SavedView::created_at, "when").output_only();
    f("version", &SavedView::version, "counts changes").output_only();
  }
};

}  // namespace hearth
