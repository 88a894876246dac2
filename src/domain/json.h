// The door to Boost.JSON for those who want its values; the codec of described structs (codec.h)
// needs none of it.
#pragma once

#include <boost/json.hpp>
