// A throttle log whose scans last until they are told to go on, and find nothing. Thread-safe.
//
//   WaitingStore store;
//   ... a thread reads the log ...
//   store.AwaitScan();
//   store.GoOn();
#pragma once

#include <atomic>

#include "absl/synchronization/notification.h"
#include "server/remember/throttle_log/store.h"

namespace headgate::rpc {

class WaitingStore final : public throttle_log::Store {
 public:
  absl::Status Append(absl::Span<const throttle_log::Row>, int64_t) override {
    return absl::OkStatus();
  }
  absl::Status Scan(const throttle_log::ScanFilter&,
                    absl::FunctionRef<bool(const throttle_log::Row&)>) const override {
    if (scans_.fetch_add(1) == 0) entered_.Notify();
    go_on_.WaitForNotification();
    return absl::OkStatus();
  }
  absl::Status Maintain(absl::Time) override { return absl::OkStatus(); }
  throttle_log::StoreState State() const override { return {}; }

  void AwaitScan() { entered_.WaitForNotification(); }
  int scans() const { return scans_.load(); }  // that began
  void GoOn() { go_on_.Notify(); }

 private:
  mutable std::atomic<int> scans_{0};
  mutable absl::Notification entered_;
  mutable absl::Notification go_on_;
};

}  // namespace headgate::rpc
