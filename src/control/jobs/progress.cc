#include "control/jobs/progress.h"

namespace hearth::control {

std::optional<Time> Progress::ends_at(const std::string& attempt_id, const PartDone& now) {
  const auto [at, first] = begun_.try_emplace(attempt_id, now);
  PartDone& begun = at->second;
  // It went back: its run counts anew.
  if (now.part < begun.part) begun = now;
  const double came = now.part - begun.part, took = (now.at - begun.at).seconds();
  if (came < kLeastPart || took <= 0) return std::nullopt;
  return now.at + Duration::seconds(took * (1 - now.part) / came);
}

}  // namespace hearth::control
