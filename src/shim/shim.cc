#include "shim/shim.h"

#include "shim/layout.h"

namespace hearth::shim {}
