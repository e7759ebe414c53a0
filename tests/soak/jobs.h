// Jobs as they come in production: Checks one by one, in batches and on streams, most of them
// reported, some retried, some never heard of again. There are more of them than any table has
// places for.
//
// Each function acts once; call them again and again, each from one thread.
//
//   Jobs jobs(state, 1);
//   while (!state.stopping()) jobs.CheckOnce();

#pragma once

#include <headgate/v1/throttler_service.grpc.pb.h>

#include <cstdint>
#include <memory>
#include <random>
#include <string>

#include "tests/soak/soak_state.h"

namespace headgate::soak {

class Jobs {
 public:
  Jobs(SoakState& state, uint64_t number);

  void CheckOnce();   // and Report, or retry, or neither
  void BatchOnce();   // a few of them are no Checks
  void StreamOnce();  // several messages; now and then the caller is gone in the middle

 private:
  v1::CheckRequest NewCheck();
  double Share() { return std::uniform_real_distribution<>(0, 1)(random_); }
  // Counts an answer to `check`; whether it was let through.
  bool Note(const v1::CheckRequest& check, const v1::Decision& decision, int64_t asked_ns);
  void RetryOnce(const v1::CheckRequest& check, const v1::Decision& decision);
  void AddReport(const v1::CheckRequest& check, const v1::Decision& decision,
                 v1::ReportRequest& reports);
  void Send(const v1::ReportRequest& reports);

  SoakState& state_;
  const uint64_t number_;  // in identities
  uint64_t jobs_ = 0;
  std::mt19937_64 random_;
  const std::unique_ptr<v1::ThrottlerService::Stub> stub_;
  double refunds_ = 0;  // that the next Report will grant, of the budget "rows"
};

}  // namespace headgate::soak
