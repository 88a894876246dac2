// One Summary.Value of an event file: the parts of event_file.h that know TensorFlow's messages.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "track/event_file.h"

namespace hearth::track {

// Its fields, undecoded; views into the message.
struct RawValue {
  std::string_view tag;
  std::string plugin;
  std::optional<double> simple_value;
  std::string_view image, histogram, tensor;
  bool has_image = false, has_histogram = false, has_tensor = false;
};
Result<RawValue> raw_value(std::string_view message);

// False: it is of a kind that is not kept (audio, a plugin's own), or of a form not known.
Result<bool> fill(EventValue& value, const RawValue& raw);

std::string proto_of(const EventValue& value);

}  // namespace hearth::track
