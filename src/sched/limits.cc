#include "sched/limits.h"

namespace hearth::sched {
namespace {

bool chooses_model(const Ask& ask) {
  return ask.any_gpu() && count_bits(ask.models) > 1;
}

// Those that are known, of a job that may choose.
std::vector<size_t> models_of(const Cluster::State& state, const Ask& ask) {
  if (!chooses_model(ask)) return {};
  const size_t known = state.cells.models().size();
  const ModelMask all = known >= kMostModels ? ~ModelMask{0} : (ModelMask{1} << known) - 1;
  std::vector<size_t> found;
  for (const size_t model : bits(ask.models & all)) found.push_back(model);
  return found;
}

Amounts of_model(const Queued& queued, size_t model) {
  Amounts amounts = queued.amounts;
  amounts.resize(kModels + model + 1);
  amounts[kModels + model] = queued.ask.milli_gpus;
  return amounts;
}

}  // namespace

std::optional<Ask> within_limits(const Cluster::State& state, int32_t payer, const Queued& queued) {
  const Ask& ask = queued.ask;
  if (payer >= 0 && state.quotas.over_limit(payer, queued.amounts)) return std::nullopt;
  if (payer < 0 || !chooses_model(ask)) return ask;
  Ask allowed = ask;
  allowed.models = 0;
  for (const size_t model : models_of(state, ask)) {
    if (!state.quotas.over_limit(payer, of_model(queued, model)))
      allowed.models |= ModelMask{1} << model;
  }
  if (allowed.models == 0) return std::nullopt;
  for (Group& group : allowed.groups) {
    if (group.need.gpus > 0) group.need.models &= allowed.models;
  }
  // The same classes of tasks are found again in the cache.
  if (count_bits(allowed.models) == static_cast<int64_t>(state.cells.models().size())) return ask;
  return allowed;
}

std::optional<OverLimit> over_limit(const Cluster::State& state, int32_t payer,
                                    const Queued& queued) {
  auto over = state.quotas.over_limit(payer, queued.amounts);
  for (const size_t model : models_of(state, queued.ask)) {
    if (!over) over = state.quotas.over_limit(payer, of_model(queued, model));
  }
  return over;
}

std::vector<std::vector<Raise>> limits_on(const Cluster::State& state, int32_t payer,
                                          const Queued& queued) {
  std::vector<std::vector<Raise>> limits;
  if (!chooses_model(queued.ask)) limits.push_back(state.quotas.raises(payer, queued.amounts));
  for (const size_t model : models_of(state, queued.ask))
    limits.push_back(state.quotas.raises(payer, of_model(queued, model)));
  return limits;
}

}  // namespace hearth::sched
