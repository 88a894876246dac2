#include <cstdio>

#include "api/api.h"
#include "app/commands.h"

namespace hearth::app {

int openapi() {
  std::printf("%s\n", api::openapi_document().c_str());
  return 0;
}

}  // namespace hearth::app
