#include "api/answer.h"
#include "control/records/views.h"

namespace hearth::api {
namespace {

control::Views views(Call& call) {
  return {call.services.context, call.services.access};
}

}  // namespace

void add_view_routes(RouteTable& table) {
  table
      .add("GET", "/api/v1/views", "listViews", "views",
           "One's own saved views, and those that are shared where one may look",
           [](Call& call) -> Result<net::Response> {
             const auto page =
                 TRY(views(call).list(call.who, call.query("page"), call.query("project"),
                                      TRY(call.list_query(type_of<SavedView>()))));
             return json_list(page.items, page.next_cursor);
           })
      .lists<SavedView>()
      .asks("page", "of this page alone: runs")
      .asks("project", "of this project alone")
      .pages();
  table
      .add("POST", "/api/v1/views", "createView", "views", "Saves a view",
           [](Call& call) -> Result<net::Response> {
             return versioned(TRY(views(call).add(call.who, TRY(call.body<SavedView>()))), 201);
           })
      .takes<SavedView>()
      .answers<SavedView>(201)
      .makes();
  table
      .add("GET", "/api/v1/views/{view}", "getView", "views", "One saved view",
           [](Call& call) -> Result<net::Response> {
             return versioned(TRY(views(call).get(call.who, call.at("view"))));
           })
      .answers<SavedView>();
  table
      .add("PUT", "/api/v1/views/{view}", "changeView", "views", "Changes one's own saved view",
           [](Call& call) -> Result<net::Response> {
             const auto wanted = TRY(call.body<SavedView>());
             return versioned(
                 TRY(views(call).change(call.who, call.at("view"), wanted, TRY(call.if_match()))));
           })
      .takes<SavedView>()
      .answers<SavedView>()
      .versioned();
  table
      .add("DELETE", "/api/v1/views/{view}", "deleteView", "views", "Deletes a saved view",
           [](Call& call) -> Result<net::Response> {
             TRY(views(call).remove(call.who, call.at("view")));
             return no_content();
           })
      .nothing();
}

}  // namespace hearth::api
