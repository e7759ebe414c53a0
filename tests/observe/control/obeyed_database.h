// Database: one that does just what a controller allows, with numbers by hand.
//
//   Controller controller({});
//   Database database(/*alone=*/1000);
//   ControlSetting setting = database.ObeyFor(controller, 60);

#pragma once

#include <algorithm>
#include <cstdint>

#include "server/observe/control/controller.h"

namespace headgate::control {

// A database whose foreground does `alone_` transactions a second, less `each_` of them for each
// unit of batch work, of which the controller gets as much as it allows.
class Database {
 public:
  explicit Database(double alone) : alone_(alone) {}

  ControlSetting Obey(Controller& controller) {
    const double seconds = std::max(0.01, absl::ToDoubleSeconds(setting_.next));
    now_ += seconds;
    const double used = setting_.drain * sample_.speed * used_share_;
    const double work = !asks_ || setting_.shut ? 0 : std::min(used, takes_most_);
    done_ += alone_ * std::max(0.0, 1 - each_ * work) * seconds;
    busy_ += work * seconds;
    sample_.work.sampled_at_ns = static_cast<int64_t>(now_ * 1e9);
    sample_.transactions = static_cast<uint64_t>(busy_ / chunk_);
    sample_.work.next_xid = 1000 + static_cast<int64_t>(reads_ ? 0 : done_) +
                            static_cast<int64_t>(sample_.transactions);
    if (reads_) {
      resets_ += resets_often_ ? 1 : 0;
      sample_.work.statements = health::WorkCounters::Statements{
          .calls = done_, .busy_seconds = 1e-4 * done_, .generation = 1 + resets_};
    }
    if (evicts_) sample_.work.statements = health::WorkCounters::Statements{.ran = done_};
    // Reads are over so soon that a session is met at work in one of ten samples.
    const bool is_met = reads_ ? ++samples_ % meets_one_of_ == 0 : alone_ > 50;
    sample_.work.foreground_active = is_met ? (reads_ ? 1 : 4) * (1 + slower_each_ * work) : 0;
    sample_.busy_seconds = chunk_ * static_cast<double>(sample_.transactions);
    sample_.outstanding = stuck_;
    sample_.checks += asks_ ? 1 : 0;
    return setting_ = controller.Step(sample_);
  }

  // Until the phase is another one, and for so many seconds at most.
  ControlSetting ObeyUntilLeft(Controller& controller, ControlPhase phase, double most = 60) {
    const double end = now_ + most;
    do {
      (void)Obey(controller);
    } while (setting_.phase == phase && now_ < end);
    return setting_;
  }
  ControlSetting ObeyFor(Controller& controller, double seconds) {
    const double end = now_ + seconds;
    while (now_ < end) (void)Obey(controller);
    return setting_;
  }

  double alone_;
  double each_ = 0;
  double slower_each_ = 0;  // by which a unit of work makes transactions longer
  double takes_most_ = 1000;
  double chunk_ = 0.01;    // s
  double used_share_ = 1;  // of what drains, where chunks are quicker than predicted
  bool asks_ = true;
  bool reads_ = false, resets_often_ = false;  // its statements are counted; and reset each time
  bool evicts_ = false;  // its statements are new each time, and nothing can be compared
  int64_t meets_one_of_ = 10;
  int64_t stuck_ = 0;
  double now_ = 1;
  ControlSetting setting_;
  ControlSample sample_;

 private:
  double done_ = 0, busy_ = 0;
  int64_t resets_ = 0, samples_ = 0;
};

}  // namespace headgate::control
