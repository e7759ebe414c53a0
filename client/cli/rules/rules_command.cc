// headgate rules: the rules of the configuration in force.

#include <headgate/v1/status_service.grpc.pb.h>

#include "absl/status/statusor.h"
#include "client/cli/commands.h"
#include "client/cli/connection/connection.h"
#include "client/cli/connection/fetch_pages.h"
#include "client/cli/output/proto_text.h"
#include "client/cli/output/table.h"
#include "client/cli/output/zone_text.h"

namespace headgate::cli {
namespace {

constexpr int kRulesInPage = 1000;

std::string RulesText(const v1::ListRulesResponse& rules, const Console& console) {
  Table table(Titles("RULE,WHICH CHECKS,WHAT IT DOES,UNTIL"));
  std::vector<absl::Time> times;
  for (const v1::RuleStatus& rule : rules.rules()) {
    const bool all = rule.match().empty();
    if (rule.has_expires_at()) times.push_back(FromProto(rule.expires_at()));
    table.Add(
        {{rule.name()},
         {all ? "(all)" : rule.match(), all ? Paint::kDim : Paint::kPlain},
         {rule.action()},
         {rule.has_expires_at() ? TimeText(FromProto(rule.expires_at()), console.zone) : ""}});
  }
  return TimesAre(console.zone, times) + table.Text(console.colours);
}

Table RulesCsv(const v1::ListRulesResponse& rules) {
  Table table(Titles("rule,match,action,expires_at"));
  for (const v1::RuleStatus& rule : rules.rules()) {
    table.Add({{rule.name()},
               {rule.match()},
               {rule.action()},
               {Rfc3339(rule.has_expires_at(), rule.expires_at())}});
  }
  return table;
}

}  // namespace

int RunRules(const Globals& globals, const RulesArguments&, const Console& console) {
  Connection connection(globals);
  v1::ListRulesRequest request;
  request.set_target(globals.target);
  const absl::StatusOr<v1::ListRulesResponse> rules =
      FetchPages(connection, &v1::StatusService::Stub::ListRules, request,
                 {.max_in_page = kRulesInPage}, [](const auto& page) { return page.rules_size(); });
  if (!rules.ok()) return ToInt(console.Fail(rules.status()));
  const auto text = [&] {
    return rules->rules().empty() ? "no rules are configured: nothing is limited\n"
                                  : RulesText(*rules, console);
  };
  return console.Print(*rules, text, [&] { return RulesCsv(*rules); });
}

}  // namespace headgate::cli
