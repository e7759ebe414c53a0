// What JSON costs, by server/serve/json and by protobuf's own json_util: microseconds of CPU for
// each message that is read and for each that is written, of the API's own messages. Each figure is
// the least of several rounds, which take turns. ADR 25 says what follows from it.

#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/type_resolver_util.h>
#include <headgate/v1/throttle_log_service.pb.h>
#include <headgate/v1/throttler_service.pb.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/serve/json/json_reader.h"
#include "server/serve/json/json_writer.h"

namespace headgate::bench {
namespace {

using google::protobuf::Message;

constexpr int kRounds = 15;
constexpr double kRoundUs = 20'000;

double NowUs() {
  timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return 1e6 * static_cast<double>(now.tv_sec) + 1e-3 * static_cast<double>(now.tv_nsec);
}

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "benchmark is broken: %s\n", what.c_str());
  std::exit(1);
}

double RoundUs(const std::function<void()>& run) {
  const double begin_us = NowUs();
  int times = 0;
  double took_us = 0;
  do {
    run();
    ++times;
    took_us = NowUs() - begin_us;
  } while (took_us < kRoundUs);
  return took_us / times;
}

v1::CheckRequest CheckOf(int i) {
  v1::CheckRequest check;
  check.set_identity(absl::StrCat("job-", i, ":vcopier:vreplication:online-ddl"));
  check.set_target("main");
  check.set_pattern("DELETE FROM events WHERE created_at < $1");
  check.set_estimated_cost(12.5);
  (*check.mutable_tags())["team"] = "payments";
  check.mutable_max_wait()->set_seconds(60);
  return check;
}

v1::CheckResponse DeniedCheck() {
  v1::CheckResponse response;
  v1::Decision& decision = *response.mutable_decision();
  decision.set_verdict(v1::VERDICT_DENIED);
  decision.set_reason(v1::REASON_CAPACITY);
  decision.set_message("budget \"orders\" of job-7 has 12.5 of 100 left, and 90 were asked for");
  decision.mutable_retry_after()->set_nanos(250'000'000);
  return response;
}

v1::QueryThrottleLogResponse Sums(int count) {
  v1::QueryThrottleLogResponse response;
  for (int i = 0; i < count; ++i) {
    v1::LogSum& sum = *response.add_sums();
    sum.mutable_from()->set_seconds(1'700'000'000 + 10 * i);
    sum.set_identity(absl::StrCat("job-", i, ":online-ddl"));
    sum.set_allowed(1000 + i);
    sum.set_denied(17);
    sum.set_allowed_cost(12'345.678);
    sum.set_denied_cost(0.1);
  }
  return response;
}

void Compare(const char* name, const Message& message) {
  std::string text;
  json::JsonWriter writer;
  writer.Append(message, text);
  json::JsonReader reader(1 << 17);
  const std::unique_ptr<Message> read(message.New());
  google::protobuf::util::JsonPrintOptions print;
  print.preserve_proto_field_names = true;
  std::string written;
  const std::vector<std::function<void()>> runs = {
      [&] {
        read->Clear();
        if (reader.Read(text, *read).has_value()) Fail("it is not read");
      },
      [&] {
        read->Clear();
        if (!google::protobuf::util::JsonStringToMessage(text, read.get()).ok()) Fail("it differs");
      },
      [&] {
        written.clear();
        writer.Append(message, written);
      },
      [&] {
        written.clear();
        if (!google::protobuf::util::MessageToJsonString(message, &written, print).ok()) {
          Fail("it is not written");
        }
      }};
  std::vector<double> us(runs.size(), std::numeric_limits<double>::infinity());
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < runs.size(); ++i) us[i] = std::min(us[i], RoundUs(runs[i]));
  }
  std::printf("%-26s %8zu %9.2f %9.2f %5.1f %9.2f %9.2f %5.1f\n", name, text.size(), us[0], us[1],
              us[1] / us[0], us[2], us[3], us[3] / us[2]);
}

void Run() {
  std::printf("%-26s %8s %9s %9s %5s %9s %9s %5s\n", "", "bytes", "read us", "json_util", "x",
              "write us", "json_util", "x");
  Compare("a Check", CheckOf(7));
  Compare("a denial", DeniedCheck());
  v1::BatchCheckRequest batch;
  for (int i = 0; i < 100; ++i) *batch.add_checks() = CheckOf(i);
  Compare("a batch of 100", batch);
  Compare("1,000 sums of the log", Sums(1000));
}

}  // namespace
}  // namespace headgate::bench

int main() { headgate::bench::Run(); }
