#include "cli/guarantees.h"

#include <algorithm>
#include <set>

#include "base/format.h"
#include "cli/amounts.h"

namespace hearth::cli {
namespace {

using All = std::map<std::string, double>;
using Below = std::map<std::string, std::vector<const QuotaStatus*>>;  // by the project above

All sum_below(const Below& below, const std::string& parent) {
  All sum;
  const auto found = below.find(parent);
  if (found == below.end()) return sum;
  for (const QuotaStatus* one : found->second) {
    All own = flat(one->quota.guaranteed);
    for (const auto& [what, amount] : sum_below(below, one->quota.project))
      own[what] = std::max(own[what], amount);
    for (const auto& [what, amount] : own) sum[what] += amount;
  }
  return sum;
}

}  // namespace

std::map<std::string, double> guaranteed_in_all(const std::vector<QuotaStatus>& quotas) {
  std::set<std::string> known;
  for (const QuotaStatus& one : quotas) known.insert(one.quota.project);
  Below below;  // a project whose parent may not be seen counts as one at the top
  for (const QuotaStatus& one : quotas)
    below[known.contains(one.parent) ? one.parent : ""].push_back(&one);
  return sum_below(below, "");
}

std::map<std::string, double> there_now(const std::vector<NodeStatus>& nodes,
                                        const std::map<std::string, double>& asked) {
  All there;
  for (const auto& [what, amount] : asked) there[what] = 0;
  for (const NodeStatus& one : nodes) {
    if (!one.node.ready) continue;
    for (auto& [what, amount] : there) {
      if (what == "cpus") amount += one.node.cpus;
      if (what == "memory_bytes") amount += static_cast<double>(one.node.memory_bytes);
      for (const Gpu& gpu : one.node.gpus)
        if (gpu.healthy &&
            (what == "gpus" ||
             (what.starts_with(kOfModel) && names_model(what.substr(kOfModel.size()), gpu.model))))
          amount += 1;
    }
  }
  return there;
}

std::string beyond_what_is_there(const Amounts& changed, const std::vector<QuotaStatus>& quotas,
                                 const std::vector<NodeStatus>& nodes) {
  All asked = flat(changed);
  const All all = guaranteed_in_all(quotas);
  for (auto& [what, amount] : asked)
    if (const auto found = all.find(what); found != all.end())
      amount = std::max(amount, found->second);
  All there = there_now(nodes, asked);
  std::erase_if(asked, [&](const auto& one) { return one.second <= there[one.first] + 1e-9; });
  if (asked.empty()) return "";
  std::erase_if(there, [&](const auto& one) { return !asked.contains(one.first); });
  return format(
      "Warning: the projects are guaranteed {} in all, and the cluster has {} now.\n"
      "  Until nodes come that have the rest, who asks for it waits.",
      words_of(amounts_of(asked)), words_of(amounts_of(there)));
}

}  // namespace hearth::cli
