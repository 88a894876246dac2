#include "cli/what_if.h"

#include "base/format.h"
#include "base/units.h"
#include "cli/amounts.h"
#include "cli/connect.h"
#include "domain/what_if.h"

namespace hearth::cli {
namespace {

// "vision:gpus=8": the project, and the amounts into what `member` is of its quota.
Result<void> take_quota(std::map<std::string, WhatIfQuota>& quotas, const std::string& text,
                        Amounts WhatIfQuota::* member) {
  const size_t colon = text.find(':');
  if (colon == std::string::npos || colon == 0)
    return Error::invalid(format("'{}' is not PROJECT:WHAT=N", text),
                          "name the project and the amount, such as vision:gpus=8");
  return take_amounts(quotas.at(text.substr(0, colon)).*member, text.substr(colon + 1));
}

Result<WhatIf> question_of(Server& server, const SimulateArgs& args) {
  WhatIf question;
  if (!args.days.empty()) question.days = TRY(number_of(args.days, "--days"));
  for (const std::string& text : args.add) {
    const size_t equal = text.rfind('=');
    WhatIfNodes& more = question.add.emplace_back();
    more.like = text.substr(0, equal);
    if (equal == std::string::npos) continue;
    more.count = static_cast<int64_t>(TRY(number_of(text.substr(equal + 1), "--add")));
  }
  question.without = args.without;
  // What is not named of a quota stays as it is.
  for (const auto* texts : {&args.guarantees, &args.limits}) {
    for (const std::string& text : *texts) {
      const std::string project = text.substr(0, text.find(':'));
      if (question.quotas.contains(project)) continue;
      const auto now = TRY(server.api().get_as<QuotaStatus>("/api/v1/projects/" +
                                                            client::path_part(project) + "/quota"));
      question.quotas[project] = {now.quota.guaranteed, now.quota.limit, now.quota.weight};
    }
  }
  for (const std::string& text : args.guarantees)
    TRY(take_quota(question.quotas, text, &WhatIfQuota::guaranteed));
  for (const std::string& text : args.limits)
    TRY(take_quota(question.quotas, text, &WhatIfQuota::limit));
  if (question.add.empty() && question.without.empty() && question.quotas.empty())
    return Error::invalid("nothing is changed",
                          "say --add NODE=N, --without NODE, --guarantee-of or --limit-of");
  return question;
}

std::string seconds(const WaitSpread& of, double WaitSpread::* which) {
  return of.jobs == 0 ? "-" : format_duration(Duration::seconds(of.*which));
}

void print_answer(const WhatIfAnswer& answer) {
  put(format("{} that came from {} to {}, replayed twice in {:.1f} s\n", plural(answer.jobs, "job"),
             when(answer.first), when(answer.last), answer.seconds));
  if (answer.left_out > 0)
    put(format(
        "({} left out, and those that never began)\n",
        answer.left_out == 1 ? "an older one is" : format("{} older ones are", answer.left_out)));
  Table table({"", "AS IT IS", "", "", "CHANGED", "", ""});
  table.row({"", "mean", "half under", "99 % under", "mean", "half under", "99 % under"});
  const auto row = [&](const std::string& name, const WaitSpread& now, const WaitSpread& then) {
    std::vector<std::string> cells = {name};
    for (const WaitSpread* of : {&now, &then})
      for (const auto which : {&WaitSpread::mean, &WaitSpread::p50, &WaitSpread::p99})
        cells.push_back(seconds(*of, which));
    table.row(std::move(cells));
  };
  row("waited", answer.now.waits, answer.then.waits);
  row("completed in", answer.now.completion, answer.then.completion);
  for (const auto& [project, now] : answer.now.by_project) {
    const auto then = answer.then.by_project.find(project);
    if (answer.now.by_project.size() > 1 && then != answer.then.by_project.end())
      row("waited, " + project, now, then->second);
  }
  for (const auto& [gpus, now] : answer.now.by_gpus) {
    const auto then = answer.then.by_gpus.find(gpus);
    if (answer.now.by_gpus.size() > 1 && then != answer.then.by_gpus.end())
      row(format("waited, {} GPU{}", gpus, gpus == "1" ? "" : "s"), now, then->second);
  }
  table.print("");
  if (const int64_t more = answer.jobs - answer.now.waits.jobs; more > 0)
    put(format(
        "{} fit nowhere, now or with the change: the times are of those that ran both ways\n",
        plural(more, "job")));
  const auto facts = [](const WhatIfOutcome& one) {
    return format("{}, {:.1f} % used, {}, {} that fit nowhere", plural(one.gpus, "GPU"),
                  100 * one.gpus_used, plural(one.evictions, "eviction"),
                  plural(one.never_started, "job"));
  };
  put("as it is: " + facts(answer.now) + "\nchanged:  " + facts(answer.then) + "\n");
}

}  // namespace

Result<int> ask_what_if(const Globals& globals, const SimulateArgs& args) {
  if (!args.jobs.empty() || !args.nodes.empty() || !args.cluster.empty() || !args.fill.empty() ||
      !args.svg.empty() || !args.projects.empty())
    return Error::invalid(
        "--jobs, --nodes, --cluster, --projects, --fill and --svg do not go with --what-if",
        "it replays the server's own jobs on its own machines; take them out");
  Server server = TRY(Server::open(globals));
  const WhatIf question = TRY(question_of(server, args));
  const std::string answer =
      TRY(server.api().send("POST", "/api/v1/what-if", request_json(question)));
  if (globals.json)
    print_json(answer);
  else
    print_answer(
        TRY(from_json<WhatIfAnswer>(answer, Origin::server, client::Client::kMostAnswerBytes)));
  return kExitOk;
}

}  // namespace hearth::cli
