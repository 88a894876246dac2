#include <charconv>

#include "api/answer.h"

namespace hearth::api {
namespace {

constexpr int64_t kMostPartBytes = 64 << 20;

Result<net::Response> get_object(Call& call) {
  const std::string digest = call.at("digest");
  if (!is_digest(digest)) return Error::invalid("an object is named sha256: and 64 hex digits");
  if (call.request.method == "HEAD") {
    const auto size = TRY(call.services.records.have_object(call.who, digest));
    if (!size) return Error::not_found("object " + digest + " is not here");
    net::Response response;
    response.headers.set("X-Object-Size", std::to_string(*size));
    return response;
  }
  const std::string file = TRY(call.services.records.open_object(call.who, digest));
  return file_answer(call.request, file, digest, "application/octet-stream", "");
}

net::Response upload_answer(const objects::Upload& upload, int status) {
  return json(UploadResult{upload.id, upload.received_bytes}, status);
}

Result<net::Response> append(Call& call) {
  const std::string text(call.request.headers.get("Upload-Offset").value_or(""));
  int64_t offset = -1;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), offset);
  if (failure != std::errc() || end != text.data() + text.size() || offset < 0)
    return Error::invalid("the header Upload-Offset is missing or wrong",
                          "give the byte this part begins at");
  return upload_answer(TRY(call.services.records.append_upload(call.who, call.at("upload"), offset,
                                                               call.request.body_file)),
                       200);
}

}  // namespace

void add_object_routes(RouteTable& table) {
  table
      .add("GET", "/api/v1/objects/{digest}", "getObject", "objects",
           "An object's bytes; HEAD asks whether it is here and keeps it for an hour", get_object)
      .answers_bytes("application/octet-stream");
  table
      .add("POST", "/api/v1/objects/have", "haveObjects", "objects",
           "Which of many objects are here; those are kept for an hour",
           [](Call& call) -> Result<net::Response> {
             const auto body = TRY(call.body<DigestsBody>());
             return json(
                 StoredObjects{TRY(call.services.records.have_objects(call.who, body.digests))});
           })
      .takes<DigestsBody>()
      .answers<StoredObjects>();
  table
      .add("POST", "/api/v1/uploads", "createUpload", "objects", "Begins or finds an upload",
           [](Call& call) -> Result<net::Response> {
             const auto body = TRY(call.body<UploadBody>());
             return upload_answer(
                 TRY(call.services.records.begin_upload(call.who, body.digest, body.size_bytes)),
                 201);
           })
      .takes<UploadBody>()
      .answers<UploadResult>(201);
  table
      .add("GET", "/api/v1/uploads/{upload}", "getUpload", "objects", "How far it is",
           [](Call& call) -> Result<net::Response> {
             return upload_answer(
                 TRY(call.services.records.upload_state(call.who, call.at("upload"))), 200);
           })
      .answers<UploadResult>();
  table
      .add("PATCH", "/api/v1/uploads/{upload}", "appendUpload", "objects", "The next bytes of it",
           append)
      .takes_bytes("application/octet-stream", kMostPartBytes)
      .to_file()
      .answers<UploadResult>()
      .asks_header("Upload-Offset", "the byte this part begins at: where the upload stands",
                   Kind::integer)
      .from(0, INT64_MAX)
      .must();
  table
      .add("POST", "/api/v1/uploads/{upload}/finish", "finishUpload", "objects",
           "Checks the digest; from then on the object is here",
           [](Call& call) -> Result<net::Response> {
             const auto stored =
                 TRY(call.services.records.finish_upload(call.who, call.at("upload")));
             return json(StoredResult{stored.digest, stored.size_bytes});
           })
      .answers<StoredResult>();
}

}  // namespace hearth::api
