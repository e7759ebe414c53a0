// May this work be done now? The path of a Check, from the request to the answer.
//
// A subject is resolved (resolve.h), the limits are examined (limits.h), and what is allowed is
// charged (charging.h); where a new policy comes in meanwhile, it is decided again under that one.
// A Check with a request id that was answered before gets the same answer (request_index.h).
//
// Thread-safe. Check on the common path takes no lock and allocates nothing.
//
//   Checks checks(core);
//   CheckAnswer answer;
//   absl::Status status = checks.Check({.identity = "job-7:etl"}, now, answer);

#pragma once

#include <cstddef>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/clock.h"
#include "server/decide/engine/answer.h"
#include "server/decide/engine/engine_core.h"
#include "server/decide/engine/resolve.h"

namespace headgate::engine {

class Checks {
 public:
  explicit Checks(EngineCore& core) : core_(core) {}

  // `answer` may be reused from call to call. A denial is an answer, not an error; after an error
  // the answer says denied. Errors: InvalidArgument names the field, NotFound an unknown target,
  // ResourceExhausted: the table of permits is full, try again (the answer then says that, for
  // whoever counts); FailedPrecondition: more budgets than a Check may have. One that only watches
  // (LeaseTerms::watched) is answered with the state as it is, in `grant`, and with when time alone
  // may change it, in `retry_after`; it is denied for no reason, and charges nothing.
  absl::Status Check(const CheckRequest& request, Now now, CheckAnswer& answer);

  // As many Checks in order. Requests that share the views of the one before are resolved once.
  // The spans are of one size. Each Check has a status of its own.
  struct Batch {
    absl::Span<const CheckRequest> requests;
    absl::Span<CheckAnswer> answers;
    absl::Span<absl::Status> statuses;
  };
  void CheckBatch(Batch batch, Now now);

 private:
  // Under which policy it is decided, for whom, and when.
  struct Subject {
    // What is resolved stays unset: to fill it with zeros would cost as much as to decide.
    Subject(const PolicyRef& under, const Now& at) : policy(under), now(at) {}

    const PolicyRef& policy;
    const Now now;
    Resolved resolved;
  };

  // Resolves the subject, unless that is done and the policy still the same.
  absl::Status Refresh(const CheckRequest& request, Subject& subject) const;
  // Resolves and decides.
  absl::Status CheckOne(const CheckRequest& request, Subject& subject, CheckAnswer& answer);
  // The same, but that an error leaves the answer as it is.
  absl::Status TryCheck(const CheckRequest& request, Subject& subject, CheckAnswer& answer);
  // With a request id: decides, or repeats the answer.
  absl::Status CheckOnce(const CheckRequest& request, Subject& subject, CheckAnswer& answer);
  absl::Status Decide(const CheckRequest& request, Subject& subject, CheckAnswer& answer);
  // Only tells the state that a lease would be granted in.
  void TellState(const CheckRequest& request, const Subject& subject, CheckAnswer& answer);
  // Decides the first of them, and those right behind it that can be charged together with it.
  // Returns how many are decided.
  size_t CheckRun(const Batch& batch, Subject& subject);
  // Remembers whose buckets refused, for those who read the fullest ones.
  void NoteNames(const CheckRequest& request, const Resolved& resolved, const CheckAnswer& answer);
  // Of names that the cost model asks for.
  void NoteCostNames(const CheckRequest& request, const Resolved& resolved);

  EngineCore& core_;
};

}  // namespace headgate::engine
