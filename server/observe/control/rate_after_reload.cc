// What a reload of the configuration leaves of the rate that `rate: auto` has found, and how the
// budgets divide it from then on.

#include <algorithm>
#include <utility>

#include "server/observe/control/control_loop.h"

namespace headgate::control {

std::vector<ControlLoop::AskedBudget> ControlLoop::Carried(const ControlSpec& spec) const {
  std::vector<AskedBudget> carried(spec.budgets.size());
  for (size_t i = 0; i < carried.size(); ++i) {
    const auto known =
        std::ranges::find(spec_.budgets, spec.budgets[i].budget, &ControlledBudget::budget);
    const auto place = static_cast<size_t>(known - spec_.budgets.begin());
    if (place < asked_budgets_.size()) {
      carried[i] = asked_budgets_[place];
      continue;
    }
    carried[i].is_new = true;
    // Whether it is asked for from now on.
    const auto activity = engine_.ReadAutoActivity(spec.target, spec.budgets[i].budget, sampled_);
    if (activity.ok()) carried[i].counted = *activity;
  }
  return carried;
}

void ControlLoop::Reconfigure(ControlSpec spec) {
  MutexLock lock(&mutex_);
  if (spec.options != spec_.options) {
    controller_ = Controller(spec.options);
    lessons_ = 0;
    adoption_.reset();  // what is kept may have been learnt with these
    // Until the next sample, no more than these allow.
    const double by =
        setting_.rate > spec.options.max_rate ? spec.options.max_rate / setting_.rate : 1;
    setting_.rate *= by;
    setting_.drain *= by;
  }
  // Before the first sample nothing is known of any, and all are read with it.
  if (read_at_ns_ != 0) asked_budgets_ = Carried(spec);
  spec_ = std::move(spec);
  // Nothing tells of a share any more.
  if (spec_.budgets.empty()) (void)engine_.SetProcessorShare(spec_.target, 1);
  if (read_at_ns_ == 0) return;
  Divide();
  is_divided_anew_ = true;
}

}  // namespace headgate::control
