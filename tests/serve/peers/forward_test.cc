#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>
#include <grpcpp/client_context.h>
#include <headgate/v1/agent_service.grpc.pb.h>

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/serve/peers/peers_fixture.h"

namespace headgate::peers {
namespace {

double DebtAt(OneOfSeveral& server, const std::string& target) {
  const auto explained =
      server.engine.Explain({.identity = "job:etl", .target = target}, server.clock.Read());
  return explained.ok() ? explained->buckets.at(0).debt : -1;
}

TEST(Forward, CheckIsChargedAtTheOwnerAlone) {
  Servers servers(2);
  const v1::Decision decision = servers[0].Decide(CheckAt("t1", "job:etl", 40));
  EXPECT_EQ(decision.verdict(), v1::VERDICT_ALLOWED);
  EXPECT_TRUE(decision.has_permit_id());
  EXPECT_EQ(DebtAt(servers[1], "t1"), 40);
  EXPECT_EQ(DebtAt(servers[0], "t1"), 0);
}

// The owner grants it, and is given it back, whichever server is asked.
TEST(Forward, LeaseIsTheOwnersAndCountedThere) {
  Servers servers(2);
  v1::CheckRequest ask = CheckAt("t1", "job:etl", 60);
  ask.mutable_lease()->set_least(5);
  const v1::Decision first = servers[0].Decide(ask);
  EXPECT_EQ(first.lease().amount(), 60);
  const auto spend = [](const v1::Decision& lease, double spent, v1::PermitReport& report) {
    report.set_permit_id(lease.permit_id());
    report.mutable_lease_use()->set_spent(spent);
    report.mutable_lease_use()->set_pieces(3);
    report.mutable_lease_use()->set_identity("job:etl");
    report.mutable_lease_use()->set_target("t1");
    v1::PieceCount& count = *report.mutable_lease_use()->add_counts();
    count.set_verdict(v1::VERDICT_ALLOWED);
    count.set_pieces(3);
    count.set_cost(spent);
  };
  spend(first, 20, *ask.mutable_lease()->mutable_returned());
  const v1::Decision second = servers[0].Decide(ask);
  EXPECT_EQ(second.lease().returned().outcome(), v1::REPORT_OUTCOME_SETTLED);
  EXPECT_EQ(DebtAt(servers[1], "t1"), 80);
  v1::ReportRequest last;
  spend(second, 10, *last.add_reports());
  const v1::ReportResponse settled =
      AnswerOf(servers[0].caller, &v1::ThrottlerService::Stub::Report, last);
  EXPECT_EQ(settled.results(0).outcome(), v1::REPORT_OUTCOME_SETTLED);
  EXPECT_EQ(DebtAt(servers[1], "t1"), 30);
  int64_t pieces = 0;
  servers[1].recorder.Collect({}, [&](const auto& key, const auto& counts) {
    EXPECT_EQ(key.identity, "job:etl");
    pieces += counts.checks;
  });
  EXPECT_EQ(pieces, 6);
  servers[0].recorder.Collect({},
                              [](const auto& key, const auto&) { ADD_FAILURE() << key.identity; });
}

TEST(Forward, AnswerIsWhatTheOwnerSays) {
  Servers servers(2);
  EXPECT_EQ(servers[0].Decide(CheckAt("t1", "job:etl", 90)).verdict(), v1::VERDICT_ALLOWED);
  const v1::Decision forwarded = servers[0].Decide(CheckAt("t1", "job:etl", 50));
  const v1::Decision direct = servers[1].Decide(CheckAt("t1", "job:etl", 50));
  EXPECT_EQ(forwarded.verdict(), v1::VERDICT_DENIED);
  EXPECT_EQ(forwarded.SerializeAsString(), direct.SerializeAsString());
}

TEST(Forward, OwnTargetsAndUnknownOnesAreDecidedWhereTheyCome) {
  Servers servers(2);
  EXPECT_EQ(servers[0].Decide(CheckAt("t0", "job:etl", 40)).verdict(), v1::VERDICT_ALLOWED);
  EXPECT_EQ(DebtAt(servers[0], "t0"), 40);
  EXPECT_EQ(servers[0].Try(CheckAt("t9", "job:etl", 1)).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST(Forward, ErrorsAreTheOwnersWithTheirDetails) {
  Servers servers(2);
  const grpc::Status forwarded = servers[0].Try(CheckAt("t1", "not an identity", 1));
  const grpc::Status direct = servers[1].Try(CheckAt("t1", "not an identity", 1));
  EXPECT_EQ(FieldAtFault(forwarded), "identity");
  EXPECT_EQ(forwarded.error_message(), direct.error_message());
  EXPECT_EQ(forwarded.error_details(), direct.error_details());
}

TEST(Forward, BatchIsSplitByOwnerAndPutTogetherInOrder) {
  Servers servers(3);
  v1::BatchCheckRequest batch;
  *batch.add_checks() = CheckAt("t2", "job:etl", 30);
  *batch.add_checks() = CheckAt("t0", "job:etl", 10);
  *batch.add_checks() = CheckAt("t1", "job:etl", 20);
  *batch.add_checks() = CheckAt("t9", "job:etl", 1);
  *batch.add_checks() = CheckAt("t2", "two words", 1);
  *batch.add_checks() = CheckAt("t2", "job:etl", 90);
  const v1::BatchCheckResponse response =
      AnswerOf(servers[0].caller, &v1::ThrottlerService::Stub::BatchCheck, batch);
  ASSERT_EQ(response.results_size(), 6);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(response.results(i).decision().verdict(), v1::VERDICT_ALLOWED) << i;
  }
  EXPECT_EQ(response.results(0).decision().predicted_cost(), 30);
  EXPECT_EQ(response.results(1).decision().predicted_cost(), 10);
  EXPECT_EQ(response.results(2).decision().predicted_cost(), 20);
  EXPECT_EQ(response.results(3).error().field(), "checks[3].target");
  EXPECT_EQ(response.results(4).error().field(), "checks[4].identity");
  EXPECT_EQ(response.results(5).decision().verdict(), v1::VERDICT_DENIED);
  EXPECT_EQ(DebtAt(servers[2], "t2"), 30);
}

// Whatever it takes to say whose it is comes on top.
TEST(Forward, BatchAsLargeAsAServerReadsIsHandedOverInParts) {
  InProcessOptions options;
  options.rpc.max_message_bytes = int64_t{1} << 20;  // what calls are read by, too
  Servers servers(2, std::move(options));
  v1::BatchCheckRequest batch;
  constexpr size_t kMost = size_t{1} << 20;
  while (batch.ByteSizeLong() < kMost - 1'100) {
    v1::CheckRequest& check = *batch.add_checks() = CheckAt("t1", "job:etl", 0);
    for (int tag = 0; tag < 8; ++tag) {
      (*check.mutable_tags())[absl::StrCat("tag", tag)] = std::string(120, 'x');
    }
  }
  const size_t half = (kMost - batch.ByteSizeLong()) / 2 - 6;
  for (const int place : {0, 1}) batch.mutable_checks(place)->set_pattern(std::string(half, 'p'));
  ASSERT_LE(batch.checks_size(), 1'000);
  ASSERT_GT(batch.ByteSizeLong(), kMost - 20);
  const v1::BatchCheckResponse response =
      AnswerOf(servers[0].caller, &v1::ThrottlerService::Stub::BatchCheck, batch);
  ASSERT_EQ(response.results_size(), batch.checks_size());
  for (const v1::CheckResult& result : response.results()) {
    ASSERT_FALSE(result.has_error()) << result.error().message();
  }
}

// As deep as a server reads them: within one message more they would be too deep for the next one,
// and end the connection that all share.
TEST(Forward, WhatIsNestedAsDeepAsAServerReadsDisturbsNobody) {
  constexpr int kUnknownField = 1000;
  constexpr int kDeep = 98;  // below a Check of a batch
  const auto fill = [](google::protobuf::Message& message) {
    auto* fields = message.GetReflection()->MutableUnknownFields(&message);
    for (int depth = 0; depth < kDeep; ++depth) fields = fields->AddGroup(kUnknownField);
  };
  Servers servers(2);
  for (const bool within_a_duration : {false, true}) {
    v1::CheckRequest check = CheckAt("t1", "job:etl", 1);
    if (within_a_duration) {
      fill(*check.mutable_max_wait());
    } else {
      fill(check);
    }
    v1::CheckResponse decided;
    const grpc::Status status =
        CallRpc(servers[0].caller, &v1::ThrottlerService::Stub::Check, check, decided);
    EXPECT_TRUE(status.ok()) << status.error_message();
    v1::BatchCheckRequest batch;
    *batch.add_checks() = check;
    batch.mutable_checks(0)->clear_max_wait();
    v1::BatchCheckResponse answers;
    const grpc::Status all =
        CallRpc(servers[0].caller, &v1::ThrottlerService::Stub::BatchCheck, batch, answers);
    ASSERT_TRUE(all.ok()) << all.error_message();
    EXPECT_EQ(answers.results(0).error().message(), "");
  }
}

TEST(Forward, StreamsAreSplitLikeBatches) {
  Servers servers(2);
  Context context;
  const auto stream = v1::ThrottlerService::Stub(servers[0].caller.channel).CheckStream(&context);
  for (int i = 1; i <= 3; ++i) {
    v1::CheckStreamRequest request;
    request.set_number(static_cast<uint64_t>(i));
    *request.add_checks() = CheckAt("t1", "job:etl", i);
    *request.add_checks() = CheckAt("t0", "job:etl", i);
    ASSERT_TRUE(stream->Write(request));
    v1::CheckStreamResponse response;
    ASSERT_TRUE(stream->Read(&response));
    EXPECT_EQ(response.number(), static_cast<uint64_t>(i));
    ASSERT_EQ(response.results_size(), 2);
    EXPECT_EQ(response.results(0).decision().predicted_cost(), i);
    EXPECT_EQ(response.results(1).decision().predicted_cost(), i);
  }
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(DebtAt(servers[1], "t1"), 6);
}

TEST(Forward, ReportGoesToWhoeverIssuedThePermit) {
  Servers servers(3);
  v1::ReportRequest request;
  for (const char* target : {"t2", "t0", "t1"}) {
    v1::PermitReport& report = *request.add_reports();
    report.set_permit_id(servers[0].Decide(CheckAt(target, "job:etl", 40)).permit_id());
    report.set_actual_cost(10);
  }
  request.add_reports()->set_permit_id(12345);
  request.add_reports();
  const v1::ReportResponse response =
      AnswerOf(servers[1].caller, &v1::ThrottlerService::Stub::Report, request);
  ASSERT_EQ(response.results_size(), 5);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(response.results(i).outcome(), v1::REPORT_OUTCOME_SETTLED) << i;
    EXPECT_EQ(DebtAt(servers[i], absl::StrCat("t", i)), 10) << i;
  }
  EXPECT_EQ(response.results(3).error().code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(response.results(3).error().field(), "reports[3].permit_id");
  EXPECT_EQ(response.results(4).error().code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST(Forward, AnswerSaysWhoTheOwnerIs) {
  Servers servers(2);
  const auto hint_of = [&](const v1::CheckRequest& check) -> std::string {
    Context context;
    v1::CheckResponse response;
    EXPECT_TRUE(v1::ThrottlerService::Stub(servers[0].caller.channel)
                    .Check(&context, check, &response)
                    .ok());
    const auto& metadata = context.GetServerTrailingMetadata();
    const auto found = metadata.find(kOwnerKey);
    return found == metadata.end() ? "" : std::string(found->second.data(), found->second.size());
  };
  EXPECT_EQ(hint_of(CheckAt("t1", "job:etl", 1)), servers[1].address() + " t1");
  EXPECT_EQ(hint_of(CheckAt("t0", "job:etl", 1)), "");
}

// What it tells is no call that is handed on: it asks the owner.
TEST(Forward, AnAgentIsToldWhoTheOwnerIs) {
  Servers servers(2);
  const auto end_of = [](OneOfSeveral& server, v1::WatchRequest request) {
    Context context;
    const auto stream = v1::AgentService::Stub(server.caller.channel).Watch(&context);
    request.mutable_state()->set_yields(true);
    stream->Write(request);
    stream->WritesDone();
    v1::WatchResponse response;
    while (stream->Read(&response)) {
    }
    const grpc::Status status = stream->Finish();
    const auto& metadata = context.GetServerTrailingMetadata();
    const auto found = metadata.find(kOwnerKey);
    return std::make_pair(status, found == metadata.end()
                                      ? ""
                                      : std::string(found->second.data(), found->second.size()));
  };
  v1::WatchRequest request;
  request.set_target("t1");
  const auto [elsewhere, hint] = end_of(servers[0], request);
  EXPECT_EQ(elsewhere.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(DetailsOf(elsewhere).reason, "OTHER_OWNER");
  EXPECT_EQ(hint, servers[1].address() + " t1");
  const auto [here, no_hint] = end_of(servers[1], request);
  EXPECT_TRUE(here.ok()) << here.error_message();
  EXPECT_EQ(no_hint, "");
}

TEST(Forward, ManyAtOnceAreAllAnswered) {
  Servers servers(2);
  grpc::CompletionQueue queue;
  constexpr int kCalls = 300;
  struct Call {
    Context context;
    v1::CheckResponse response;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<v1::CheckResponse>> reader;
  };
  std::vector<Call> calls(kCalls);
  v1::ThrottlerService::Stub stub(servers[0].caller.channel);
  for (Call& call : calls) {
    call.reader = stub.AsyncCheck(&call.context, CheckAt("t1", "job:etl", 0.25), &queue);
    call.reader->Finish(&call.response, &call.status, &call);
  }
  void* tag = nullptr;
  bool ok = false;
  for (int i = 0; i < kCalls; ++i) ASSERT_TRUE(queue.Next(&tag, &ok));
  for (const Call& call : calls) {
    ASSERT_TRUE(call.status.ok()) << call.status.error_message();
    EXPECT_EQ(call.response.decision().verdict(), v1::VERDICT_ALLOWED);
  }
  EXPECT_EQ(DebtAt(servers[1], "t1"), 75);
  EXPECT_TRUE(WaitUntil([&] { return servers[0].forwarder->taken_bytes() == 0; }));
}

}  // namespace
}  // namespace headgate::peers
