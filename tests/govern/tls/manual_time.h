// A client's time, moved by hand.
//
//   const auto time = std::make_shared<ManualTime>();
//   time->Wait(absl::Seconds(1), {});

#pragma once

#include <headgate/time_source.h>

#include <stop_token>

#include "absl/time/time.h"

namespace headgate::tls {

class ManualTime final : public client::TimeSource {
 public:
  absl::Duration Now() override { return now_; }
  void Wait(absl::Duration duration, const std::stop_token& /*stop*/) override { now_ += duration; }

 private:
  absl::Duration now_;
};

}  // namespace headgate::tls
