#include "tests/sim/leases/checker.h"

namespace headgate::leases {

void Checker::Ask() {
  const absl::Duration wait = nature_.waits_in_line ? absl::Seconds(2) : absl::ZeroDuration();
  const leases::Ask ask{.what = {.identity = nature_.identity,
                                 .team = nature_.team,
                                 .target = nature_.target,
                                 .most = chance_.Uniform(nature_.least, nature_.most)},
                        .max_wait = wait};
  link_.Send(Link::kToServer, [this, ask] {
    cluster_.Ask(ask, [this](const Reply& reply) {
      link_.Send(Link::kToClient, [this, reply] {
        if (reply.lease != nullptr) Finish(reply);
      });
    });
  });
  const absl::Duration pause = chance_.Between(absl::Milliseconds(20), absl::Milliseconds(200));
  timeline_.After(wait + pause, [this] { Ask(); });
}

void Checker::Finish(const Reply& reply) {
  ++admitted_;
  if (!reply.answer.permit_id.has_value() || chance_.Happens(0.1)) return;
  client::PermitReport report{.permit_id = *reply.answer.permit_id};
  if (nature_.team == kPaid) {
    report.done.actual_cost = reply.lease->amount * chance_.Uniform(0.3, 1.5);
  } else if (chance_.Happens(0.5)) {
    // Of the same ratio as the others', so that nothing else is learnt.
    report.done.actual_cost = reply.lease->amount;
  }
  const int times = chance_.Happens(0.1) ? 2 : 1;
  for (int i = 0; i < times; ++i) {
    timeline_.After(chance_.Between(absl::ZeroDuration(), absl::Milliseconds(300)), [this, report] {
      link_.Send(Link::kToServer,
                 [this, report] { (void)cluster_.Report(nature_.target, report); });
    });
  }
}

}  // namespace headgate::leases
