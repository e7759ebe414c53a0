// TokenRetry: after calls that were UNAUTHENTICATED, when to call again, and when to give up.
//
// The token may just have been replaced: a call that comes a little over a second later looks into
// its file again (client/watched_files.h). After the third refusal no other token is hoped for.
//
// Thread-compatible. It does not wait.
//
//   TokenRetry retry;
//   while (absl::IsUnauthenticated(status = Call()) && retry.OnRefused()) Wait(retry.pause());

#pragma once

#include "absl/time/time.h"

namespace headgate::client::internal {

class TokenRetry {
 public:
  static constexpr int kMaxRefused = 3;
  static constexpr absl::Duration kPause = absl::Milliseconds(1100);

  explicit TokenRetry(absl::Duration pause = kPause) : pause_(pause) {}

  // A call was UNAUTHENTICATED. Whether to call again.
  bool OnRefused() { return ++refused_ < kMaxRefused; }
  // What comes next is another matter: nothing was refused yet.
  void Reset() { refused_ = 0; }
  // How long the next call has to wait; zero where none was refused.
  absl::Duration pause() const { return refused_ > 0 ? pause_ : absl::ZeroDuration(); }

 private:
  absl::Duration pause_;
  int refused_ = 0;
};

}  // namespace headgate::client::internal
