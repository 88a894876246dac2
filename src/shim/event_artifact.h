// Images, texts and histograms of event files as the files that they become: the same form as those
// that the SDK writes (python/PROTOCOL.md, section 7).
#pragma once

#include <string>
#include <vector>

#include "track/event_file.h"

namespace hearth::shim {

struct MadeFile {
  std::string path;  // tensorboard/TAG-0000000003.png
  std::string name;
  std::string kind;  // image, text, histogram
  std::string bytes;
};
// None for values that hold nothing. `key` is the tag with its prefix.
std::vector<MadeFile> files_of(const track::EventValue& value, const std::string& key);

}  // namespace hearth::shim
