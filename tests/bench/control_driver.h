// The engine's side of the control bench: whom jobs ask, and the controller that sets the one
// budget's rate.
//
// Thread-safe, but for Watch.

#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "server/decide/engine/engine.h"
#include "server/decide/line/waiting_lines.h"
#include "server/observe/control/control_loop.h"
#include "server/observe/health/check_activity.h"
#include "server/observe/health/health_sink.h"
#include "server/observe/health/work_listener.h"
#include "server/serve/rpc/line_thread.h"
#include "tests/bench/control_recorder.h"
#include "tests/load/batch_workers.h"

namespace headgate {

// What the controller held to be right at some time.
struct FoundRate {
  absl::Time at;
  double rate = 0;
};

// The engine's side: who sets the rate of the one budget.
class Driver final : public health::WorkListener, public health::HealthSink {
 public:
  Driver(engine::Engine& engine, Clock& clock)
      : engine_(engine), clock_(clock), cores_(std::thread::hardware_concurrency()) {
    engine_.AttachLine(&lines_);
    Forget();
  }

  // A controller that knows nothing.
  void Forget() {
    std::lock_guard lock(mutex_);
    (void)engine_.SetLearntControl("", "", engine_.ReadLearntControl("").adoption);
    loop_ = std::make_unique<control::ControlLoop>(
        control::ControlSpec{.target = "",
                             .budgets = {{"batch", ""}},
                             .options = {.cores = cores_, .max_rate = 2 * cores_, .seed = 1}},
        engine_);
    found_.clear();
  }
  // Whether the controller sees what happens, and jobs may work.
  void Let(bool see) {
    std::lock_guard lock(mutex_);
    sees_ = see;
    seen_.notify_all();
    // Those who wait stay where they are; the controller's next step opens it again.
    if (!see) (void)engine_.SetAutoRate("", "batch", {.rate = 1, .shut = true}, clock_.Read());
  }

  health::WorkWish OnWork(const absl::StatusOr<health::WorkCounters>& sample, Now now) override {
    std::lock_guard lock(mutex_);
    if (!sees_) return {.after = absl::Milliseconds(100)};
    if (recorder_ != nullptr) return recorder_->Take(sample, engine_, now);
    const health::WorkWish wish = loop_->OnWork(sample, now);
    const health::ControllerSnapshot snapshot = loop_->Snapshot()[0];
    found_.push_back({absl::Now(), snapshot.rate});
    words_ = snapshot.explanation;
    return wish;
  }
  void OnHealth(std::string_view, std::string_view, const engine::Health&, Now) override {}
  // As the agent beside the database would have it told.
  void Tell(const control::Yielding& told) {
    std::lock_guard lock(mutex_);
    loop_->OnYielding(told, clock_.Read());
  }

  // Waits in line, as SDKs do.
  absl::StatusOr<load::Turn> Ask(int worker, int64_t rows, const std::stop_token& stop,
                                 const std::string& pattern = "chunk") {
    const std::string identity = absl::StrCat("worker-", worker, ":batch");
    while (!stop.stop_requested()) {
      if (!WaitToBeSeen(stop)) break;
      const Now now = clock_.Read();
      const engine::CheckRequest request = {.identity = identity,
                                            .estimated_cost = static_cast<double>(rows),
                                            .pattern = pattern,
                                            .waits = true};
      engine::CheckAnswer answer;
      if (absl::Status asked = engine_.Check(request, now, answer); !asked.ok()) return asked;
      activity_->Note();
      if (answer.verdict == engine::Verdict::kAllowed) return Granted(answer, rows);
      const auto turn = std::make_shared<Turn>();
      uint64_t ticket = 0;
      const line::Wait wait = {.waiter = turn,
                               .until_ns = now.monotonic_ns + absl::ToInt64Nanoseconds(kSlice)};
      if (lines_.Enter({request, answer, now}, wait, &ticket) != line::Entered::kWaits) {
        return absl::InternalError("control: no place in the line");
      }
      if (!turn->WaitFor(stop) && lines_.Leave(ticket, clock_.Read())) break;
      turn->Wait();
      if (turn->answer.verdict == engine::Verdict::kAllowed) return Granted(turn->answer, rows);
    }
    return absl::CancelledError();
  }

  // In the place of the controller; null: of nothing any more.
  void Record(std::unique_ptr<ControlRecorder> recorder) {
    std::lock_guard lock(mutex_);
    recorder_ = std::move(recorder);
  }
  void Watch(std::shared_ptr<health::CheckActivity> activity) { activity_ = std::move(activity); }
  double cores() const { return cores_; }
  // That was last advised; 0: none was.
  int64_t advised_rows() const { return advised_rows_.load(std::memory_order_relaxed); }
  std::vector<FoundRate> found() {
    std::lock_guard lock(mutex_);
    return found_;
  }
  std::string words() {
    std::lock_guard lock(mutex_);
    return words_;
  }

 private:
  static constexpr absl::Duration kSlice = absl::Seconds(30);

  // One worker's, in the line.
  class Turn final : public line::Waiter {
   public:
    void Answer(int, const line::Decided& decided) override {
      std::lock_guard lock(mutex_);
      answer = decided.answer;
      has_come_ = true;
      come_.notify_all();
    }
    // False: the worker is stopped first.
    bool WaitFor(const std::stop_token& stop) {
      std::unique_lock lock(mutex_);
      return come_.wait(lock, stop, [this] { return has_come_; });
    }
    void Wait() { (void)WaitFor({}); }

    engine::CheckAnswer answer;  // to be read when it has come

   private:
    std::mutex mutex_;
    std::condition_variable_any come_;
    bool has_come_ = false;
  };

  // Asleep, and not by looking now and then: that keeps a core awake, and so helps a foreground of
  // one client. False: the worker is stopped first.
  bool WaitToBeSeen(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    return seen_.wait(lock, stop, [this] { return sees_; });
  }

  load::Turn Granted(const engine::CheckAnswer& answer, int64_t rows) {
    load::Turn turn;
    turn.done = [this, permit = answer.permit](absl::Duration took) {
      (void)engine_.Report(permit, {.busy_time = took}, clock_.Read());
    };
    if (answer.chunk_scale > 0) {
      const double scaled = static_cast<double>(rows) * answer.chunk_scale;
      turn.next_rows = std::clamp<int64_t>(static_cast<int64_t>(scaled), 50, 10'000);
      advised_rows_.store(turn.next_rows, std::memory_order_relaxed);
    }
    return turn;
  }

  engine::Engine& engine_;
  Clock& clock_;
  const double cores_;
  line::WaitingLines lines_{
      {}, [this](const engine::CheckRequest& request, Now now, engine::CheckAnswer& answer) {
        return engine_.Check(request, now, answer);
      }};
  rpc::LineThread line_thread_{lines_, clock_};
  std::shared_ptr<health::CheckActivity> activity_;
  std::atomic<int64_t> advised_rows_{0};
  std::mutex mutex_;
  std::condition_variable_any seen_;
  bool sees_ = true;
  std::unique_ptr<control::ControlLoop> loop_;
  std::unique_ptr<ControlRecorder> recorder_;
  std::vector<FoundRate> found_;
  std::string words_;
};

}  // namespace headgate
