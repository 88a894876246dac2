// The door to Boost.JSON: its values, and the parser of events that codec.h reads JSON with. A
// described struct (codec.h) needs none of it; include this in .cc files only (0.6 s each).
#pragma once

#include <boost/json.hpp>
#include <boost/json/basic_parser_impl.hpp>
