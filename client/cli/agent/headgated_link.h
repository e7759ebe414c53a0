// HeadgatedLink: tells headgated what the agent does, by a stream that it keeps open.
//
// A thread of its own sends what holds: at once where it has changed, and again each half second.
// It is as old as that then, and what is older than Headgated::kToldAgainWithin is not sent where
// it says that sessions yield. A connection that has grown old is left for another one, without a
// gap. A stream that ends, or is not answered for two seconds, is opened anew, after 0.25 s at
// first and 2 s at most; where another server decides for the target, there.
//
// Once there is nothing to tell any more the stream is ended.
//
// Functions of Headgated are for one thread, and never wait. The thread begins with the first Tell.
//
//   HeadgatedLink link(globals, clock);
//   RunAgent({..., .headgated = &link});

#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/support/status.h>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "client/agent/headgated.h"
#include "client/channel_source.h"
#include "client/cli/agent/agent_stream.h"
#include "client/cli/arguments/arguments.h"
#include "common/clock.h"

namespace headgate::cli {

class HeadgatedLink final : public agent::Headgated {
 public:
  // The clock outlives this.
  HeadgatedLink(const Globals& globals, Clock& clock);
  // Ends the stream.
  ~HeadgatedLink() override;

  void Tell(const agent::AgentReport& report) override;
  void FallSilent() override;
  std::vector<std::string> TakeLines() override;
  std::optional<agent::BatchWork> batch_work() override;

 private:
  // What is to be sent.
  struct News {
    agent::AgentReport report;
    int64_t told_ns = 0;
    uint64_t number = 0;  // 0: there is none
  };

  void Run();
  // Until the stream ends; how it did. Ok: the link ends, or is silent.
  grpc::Status TellAll(const std::string& address, bool& answered);
  // What holds, once there is something else than that number, or it is time to say it again.
  // Nothing: the link ends, or is silent.
  std::optional<News> Next(uint64_t sent);
  std::shared_ptr<grpc::Channel> ChannelTo(const std::string& address);
  void Show(AgentStream* stream);
  void TakeOrders(const v1::WatchResponse& response);
  void SayTrouble(const std::string& address, const grpc::Status& status);
  void Say(const std::string& line);
  // Whether the link ends meanwhile.
  bool Pause(int64_t ms);
  // Until there is something to tell; false: the link ends.
  bool AwaitNews();

  const Globals globals_;
  Clock& clock_;
  const std::string agent_;  // which one this is
  std::thread thread_;
  // Of that thread.
  std::string owner_;    // where another server decides; empty: not known
  std::string trouble_;  // what was said of it last; empty: all is well
  std::string channels_to_;
  std::shared_ptr<client::internal::ChannelSource> channels_;

  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  bool stopping_ = false;
  bool stopped_ = false;
  bool silent_ = false;
  News news_;
  AgentStream* stream_ = nullptr;  // that is open
  std::vector<std::string> lines_;
  std::optional<agent::BatchWork> batch_work_;
};

}  // namespace headgate::cli
