// Answers HTTP requests that may take a while, one after the other on a thread of its own, so that
// the port's thread never waits.
//
// Thread-safe. The destructor waits for the answer that is being made; what still waits is dropped.
//
//   HttpWorker worker(answer, /*most=*/64, [&] { WakeUp(); });
//   if (!worker.Ask(7, request)) ... there are too many
//   for (auto& [number, response] : worker.Take()) ...

#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace headgate::web {

class HttpWorker {
 public:
  using Answer = std::function<std::string(std::string_view request)>;
  using Answered = std::vector<std::pair<uint64_t, std::string>>;  // number and response

  // `answered` is called on the worker's thread when there is something to take.
  HttpWorker(Answer answer, size_t most, std::function<void()> answered);
  ~HttpWorker();

  // False: `most` requests wait already.
  bool Ask(uint64_t number, std::string request);
  Answered Take();

 private:
  void Run();

  const Answer answer_;
  const size_t most_;
  const std::function<void()> answered_;
  // A standard mutex, as condition variables take it; it guards what follows.
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::deque<std::pair<uint64_t, std::string>> asked_;
  Answered done_;
  std::thread thread_;
};

}  // namespace headgate::web
