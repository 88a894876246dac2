#include "control/records/records.h"

#include "control/records/state.h"

namespace hearth::control {

Records::Records(Context context, Access& access, RecordsOptions options)
    : state_(std::make_unique<State>(context, access, std::move(options))) {}
Records::~Records() = default;

}  // namespace hearth::control
