#include "server/serve/transport/answer_watch.h"

#include <algorithm>
#include <iterator>

namespace headgate::transport {
namespace {

constexpr int kLooks = 5;  // in the time that an answer has

}  // namespace

AnswerWatch::AnswerWatch(absl::Duration patience, size_t most)
    : look_every_(absl::ToChronoNanoseconds(patience / kLooks)),
      most_(most),
      thread_(&AnswerWatch::Run, this) {}

AnswerWatch::~AnswerWatch() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

AnswerWatch::Answers::iterator AnswerWatch::Add(grpc::ServerContext& context) {
  const std::lock_guard lock(mutex_);
  if (answers_.empty()) changed_.notify_all();
  answers_.push_back({.context = &context});
  if (++unread_ > most_) {
    Cancel(*std::find_if(answers_.begin(), answers_.end(),
                         [](const Answer& answer) { return !answer.cancelled; }));
  }
  return std::prev(answers_.end());
}

void AnswerWatch::Remove(Answers::iterator answer) {
  const std::lock_guard lock(mutex_);
  if (!answer->cancelled) --unread_;
  answers_.erase(answer);
}

void AnswerWatch::Run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (answers_.empty()) {
      changed_.wait(lock, [&] { return stopping_ || !answers_.empty(); });
    } else {
      changed_.wait_for(lock, look_every_, [&] { return stopping_; });
      Look();
    }
  }
}

void AnswerWatch::Look() {
  for (Answer& answer : answers_) {
    if (++answer.age > kLooks && !answer.cancelled) Cancel(answer);
  }
}

void AnswerWatch::Cancel(Answer& answer) {
  answer.cancelled = true;
  --unread_;
  answer.context->TryCancel();
}

}  // namespace headgate::transport
