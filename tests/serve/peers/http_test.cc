// What callers ask over HTTP, of targets that another server decides for.

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/serve/peers/peers_fixture.h"
#include "tests/testing/http_caller.h"

namespace headgate::peers {
namespace {

TEST(OverHttp, CheckAndReportGoToWhoeverDecides) {
  Servers servers(2, {.http = true});
  Peer caller(nullptr);
  caller.other_way = std::make_shared<HttpCaller>(servers[0].http_port());
  v1::CheckResponse decided;
  ASSERT_TRUE(
      CallRpc(caller, &v1::ThrottlerService::Stub::Check, CheckAt("t1", "job:etl", 5), decided)
          .ok());
  EXPECT_EQ(decided.decision().verdict(), v1::VERDICT_ALLOWED);
  EXPECT_EQ(servers[1].permits(), 1U);
  v1::ReportRequest request;
  v1::PermitReport& report = *request.add_reports();
  report.set_permit_id(decided.decision().permit_id());
  report.set_actual_cost(2);
  v1::ReportResponse reported;
  ASSERT_TRUE(CallRpc(caller, &v1::ThrottlerService::Stub::Report, request, reported).ok());
  ASSERT_EQ(reported.results_size(), 1);
  EXPECT_EQ(reported.results(0).outcome(), v1::REPORT_OUTCOME_SETTLED);
  EXPECT_EQ(servers[1].permits(), 0U);
}

TEST(OverHttp, WhatFrenosClientsAskIsAnsweredByWhoeverDecides) {
  Servers servers(2, {.http = true});
  HttpCaller caller(servers[0].http_port());
  for (const char* target : {"t0", "t1"}) {
    const auto answer = caller.client().Get(absl::StrCat("/check/job:etl/postgresql/", target));
    EXPECT_EQ(answer->status, 200) << target << ": " << answer->body;
    EXPECT_NE(answer->body.find("\"Threshold\":1"), std::string::npos) << answer->body;
  }
  EXPECT_EQ(caller.client().Head("/check/job:etl/postgresql/t1")->status, 200);
  EXPECT_EQ(caller.client().Head("/check/job:etl/postgresql/elsewhere")->status, 404);
}

// It would end the connection that all share: a path is bytes, what servers tell each other is
// text.
TEST(OverHttp, APathThatIsNoTextDisturbsNobodyWhoseCallIsUnderWay) {
  Servers servers(2, {.http = true});
  HttpCaller caller(servers[0].http_port());
  for (const char* path : {"/check/%ff/postgresql/t1", "/check/job%c3:etl/postgresql/t1"}) {
    const auto answer = caller.client().Get(path);
    EXPECT_EQ(answer->status, 400) << path << ": " << answer->body;
    EXPECT_NE(answer->body.find("identity"), std::string::npos) << answer->body;
  }
  EXPECT_EQ(caller.client().Head("/check/job:etl/postgresql/t1%ff")->status, 400);
}

}  // namespace
}  // namespace headgate::peers
