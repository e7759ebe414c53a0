#include "server/app/server_log.h"

#include <grpc/support/log.h>
#include <poll.h>
#include <pthread.h>
#include <spdlog/async.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "server/app/log_line_json.h"
#include "server/app/log_line_text.h"

namespace headgate::app {
namespace {

// Set once, before the first line.
bool as_json = false;

// Lines that wait for whoever reads the file.
constexpr size_t kMaxWaiting = 1024;

// A file, as written by a thread of its own. Not by stdio: exit() would wait for its lock, which is
// held while nobody reads.
class Output final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit Output(int file) : file_(file) {}
  // Those that were dropped count as done.
  bool AwaitLines(int64_t lines, const std::function<int64_t()>& dropped, absl::Duration limit) {
    std::unique_lock lock(counting_);
    return changed_.wait_for(lock, absl::ToChronoNanoseconds(limit),
                             [&] { return written_ + dropped() >= lines; });
  }

 private:
  void sink_it_(const spdlog::details::log_msg& line) override {
    spdlog::memory_buf_t text;
    formatter_->format(line, text);
    for (size_t done = 0; done < text.size();) {
      const ssize_t more = write(file_, text.data() + done, text.size() - done);
      if (more > 0) done += static_cast<size_t>(more);
      if (more < 0 && errno == EAGAIN) AwaitReader();
      if (more < 0 && errno != EAGAIN && errno != EINTR) break;
    }
    const std::lock_guard lock(counting_);
    ++written_;
    changed_.notify_all();
  }
  void flush_() override {}
  // Another process that has this file may have made it one that does not wait.
  void AwaitReader() const {
    pollfd ready = {.fd = file_, .events = POLLOUT, .revents = 0};
    poll(&ready, 1, -1);
  }

  const int file_;
  std::mutex counting_;
  std::condition_variable changed_;
  int64_t written_ = 0;
};

// Never destroyed: that would wait for a reader, for as long as there is none, and threads may have
// something to say until the end.
struct Writer {
  explicit Writer(int file) : output(std::make_shared<Output>(file)) {}

  const std::shared_ptr<Output> output;
  const std::shared_ptr<spdlog::details::thread_pool> thread =
      std::make_shared<spdlog::details::thread_pool>(kMaxWaiting, 1);
  const std::shared_ptr<spdlog::async_logger> logger = std::make_shared<spdlog::async_logger>(
      "headgate", output, thread, spdlog::async_overflow_policy::overrun_oldest);
  std::atomic<int64_t> lines = 0;
  std::atomic<int64_t> told_dropped = 0;

  int64_t dropped() const { return static_cast<int64_t>(thread->overrun_counter()); }
};

// Set once, before the first line.
Writer* writer = nullptr;

void Write(spdlog::level::level_enum level, std::string_view event, LogFields fields) {
  writer->lines.fetch_add(1, std::memory_order_relaxed);  // whoever waits for it has written it
  writer->logger->log(level, "{}", as_json ? JsonMembers(event, fields) : TextLine(event, fields));
}

// Of lines for which there was no room, once there is room to say it.
void TellDropped() {
  const int64_t dropped = writer->dropped();
  int64_t told = writer->told_dropped.load(std::memory_order_relaxed);  // nothing hangs on it
  if (dropped <= told || writer->thread->queue_size() > kMaxWaiting / 2) return;
  if (!writer->told_dropped.compare_exchange_strong(told, dropped, std::memory_order_relaxed)) {
    return;
  }
  Write(spdlog::level::err, "log lines were dropped", {{"lines", absl::StrCat(dropped - told)}});
}

void Log(spdlog::level::level_enum level, std::string_view event, LogFields fields) {
  if (writer == nullptr || !writer->logger->should_log(level)) return;
  TellDropped();
  Write(level, event, fields);
}

// Set once, before gRPC is told of LogOfGrpc.
spdlog::level::level_enum grpc_level = spdlog::level::debug;

// gRPC calls it with locks of its own held.
void LogOfGrpc(gpr_log_func_args* entry) { Log(grpc_level, "grpc", {{"message", entry->message}}); }

}  // namespace

void SetUpLog(std::string_view level, LogFormat format, int file) {
  // Signals are for the threads that wait for them.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  writer = new Writer(file);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  as_json = format == LogFormat::kJson;
  spdlog::async_logger& logger = *writer->logger;
  logger.set_pattern(
      as_json ? R"({"ts":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})" : "%Y-%m-%dT%H:%M:%S.%eZ %l %v",
      spdlog::pattern_time_type::utc);
  const auto known = spdlog::level::from_str(std::string(level));
  logger.set_level(known == spdlog::level::off ? spdlog::level::info : known);
  if (std::getenv("GRPC_VERBOSITY") != nullptr) grpc_level = spdlog::level::info;
  gpr_set_log_function(LogOfGrpc);
}

bool FlushLog(absl::Duration limit) {
  return writer == nullptr || writer->output->AwaitLines(
                                  writer->lines.load(std::memory_order_relaxed),
                                  [] { return writer->dropped(); }, limit);
}

void LogInfo(std::string_view event, LogFields fields) { Log(spdlog::level::info, event, fields); }
void LogWarning(std::string_view event, LogFields fields) {
  Log(spdlog::level::warn, event, fields);
}
void LogError(std::string_view event, LogFields fields) { Log(spdlog::level::err, event, fields); }

}  // namespace headgate::app
