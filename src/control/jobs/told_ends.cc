#include "control/jobs/told_ends.h"

namespace hearth::control {

std::optional<Time> ToldEnds::ends_at(const std::string& attempt_id, const PartDone& now) {
  const auto known = attempts_.find(attempt_id);
  if (known == attempts_.end() || now.at < known->second.began) return std::nullopt;
  std::optional<PartDone>& first = known->second.first;
  if (!first || now.part < first->part) first = now;  // less than before: it counts anew
  const double came = now.part - first->part, took = (now.at - first->at).seconds();
  if (came < kLeastPart || took <= 0) return std::nullopt;
  return now.at + Duration::seconds(took * (1 - now.part) / came);
}

}  // namespace hearth::control
