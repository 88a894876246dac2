#include "domain/wire/protocol.h"

#include "base/format.h"

namespace hearth {
namespace {

// The two ways out when nothing is spoken by both. Nothing is lost meanwhile: a shim keeps what it
// cannot send.
std::string mend_for(bool they_are_newer) {
  return they_are_newer
             ? "start the version of Hearth that started the task, or a newer one, on this data "
               "directory; the task goes on meanwhile and keeps what it says"
             : "start the version of Hearth that ran before, let its tasks end (`hearth down "
               "--drain`), then upgrade one release after the other";
}

}  // namespace

std::string ProtocolRange::text() const {
  return oldest == newest ? format("{}", newest) : format("{} to {}", oldest, newest);
}

Result<int64_t> agree(const SyncHello& hello, ProtocolRange ours) {
  const bool told = hello.newest_protocol > 0;
  const ProtocolRange theirs{told ? hello.oldest_protocol : hello.protocol,
                             told ? hello.newest_protocol : hello.protocol};
  const auto common = common_protocol(theirs, ours);
  if (!common)
    return Error::of(Code::unsupported,
                     format("this task's shim speaks shim protocol {}, this server speaks {}",
                            theirs.text(), ours.text()),
                     mend_for(theirs.oldest > ours.newest));
  if (!ours.contains(hello.protocol))
    return Error::of(
        Code::unsupported,
        format("this request is written in shim protocol {}, this server speaks {}", hello.protocol,
               ours.text()),
        format("nothing is to be done: the shim tries another version and comes to {}", *common));
  return *common;
}

Result<void> check_order_protocol(int64_t version, ProtocolRange ours) {
  if (ours.contains(version)) return {};
  return Error::of(
      Code::unsupported,
      format("it is written in shim protocol {}, this program speaks {}", version, ours.text()),
      mend_for(version > ours.newest));
}

}  // namespace hearth
