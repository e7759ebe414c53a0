// The steps of BuildConfig, and what they share. Included by build*.cc only.

#pragma once

#include <headgate/v1/config.pb.h>

#include <memory>

#include "server/govern/config/config.h"
#include "server/govern/config/defined_names.h"
#include "server/govern/config/findings.h"
#include "server/govern/config/identity_names.h"
#include "server/govern/config/load.h"

namespace headgate::config {

struct Builder {
  const v1::Config& proto;
  Findings& findings;
  NameTable& targets;
  NameTable& profiles;
  NameTable& budgets;
  Config& config;
  // Whether the files that this one names may be looked into.
  OtherFiles other_files = OtherFiles::kIgnored;
  absl::Time now = absl::InfinitePast();
  // The names in the rules that were built so far.
  std::shared_ptr<IdentityNames> identity_names = std::make_shared<IdentityNames>();

  const SourcePositions& positions() const { return findings.positions(); }

  // In this order: each uses what those before it have built.
  void BuildServer();
  void BuildLine();
  void BuildEngine();
  void BuildTargets();
  void BuildProfiles();
  void BuildBudgets();
  void BuildRules();
  void BuildThrottleLog();
  void BuildTls();
  void BuildAccess();
  void BuildCluster();

  PostgresSource BuildSource(const v1::Postgres& from);
  // Warns of keywords that libpq will not take from where the connection string comes from.
  void WarnOfKeywords(const v1::Postgres& from);
  void WarnOfUnchargedBudgets();
  void BuildLogTimes();

  // One budget's controller, if it has one.
  void BuildAuto(const v1::Budget& budget);

  // Says so at the field if it names a health profile that does not exist or cannot be measured.
  void RequireProfile(const google::protobuf::Message& message, int field, const std::string& name);
};

}  // namespace headgate::config
