// The steps of BuildConfig, and what they share. Included by build*.cc only.

#pragma once

#include <headgate/v1/config.pb.h>

#include "server/config/config.h"
#include "server/config/findings.h"
#include "server/config/load.h"
#include "server/config/names.h"

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
  // Of what libpq will not take from where the connection string comes from.
  void WarnOfKeywords(const v1::Postgres& from);
  void WarnOfUnchargedBudgets();
  void BuildLogTimes();

  // One budget's controller, if it has one.
  void BuildAuto(const v1::Budget& budget);

  // Says so at the field if it names a health profile that does not exist or cannot be measured.
  void RequireProfile(const google::protobuf::Message& message, int field, const std::string& name);
};

}  // namespace headgate::config
