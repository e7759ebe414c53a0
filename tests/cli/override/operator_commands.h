// What an operator types, against a server that keeps overrides.
//
//   class EmergencyStop : public OperatorCommands {
//    protected:
//     EmergencyStop() : OperatorCommands(TwoTargets(), "ann") {}
//   };
//   TEST_F(EmergencyStop, ...) { EXPECT_EQ(Out({"pause", "etl", ...}), "override 1: ..."); }

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/cli/test_server.h"

namespace headgate::cli {

class OperatorCommands : public ::testing::Test {
 protected:
  OperatorCommands(engine::PolicySpec policy, std::string actor)
      : server_(std::move(policy), {.overrides = InProcessOptions::kKept}),
        actor_(std::move(actor)) {}

  Finished Run(std::vector<std::string> words) {
    SubprocessOptions options = server_.Options();
    options.environment["HEADGATE_ACTOR"] = actor_;
    options.environment["TZ"] = "UTC";
    return RunHeadgate(std::move(words), options);
  }
  // What it prints, if it succeeds.
  std::string Out(std::vector<std::string> words) {
    const Finished finished = Run(std::move(words));
    EXPECT_EQ(finished.status, 0) << finished.err;
    EXPECT_EQ(finished.err, "");
    return finished.out;
  }
  // What it complains of, if the usage is wrong.
  std::string Refusal(std::vector<std::string> words) {
    const Finished finished = Run(std::move(words));
    EXPECT_EQ(finished.status, 2) << finished.err;
    EXPECT_EQ(finished.out, "");
    return finished.err;
  }
  // On the only target, where none is named.
  bool Admits(const std::string& identity, const std::string& target = "") {
    std::vector<std::string> words = {"check", identity, "--cost", "0"};
    if (!target.empty()) words.insert(words.end(), {"--target", target});
    const int status = Run(std::move(words)).status;
    EXPECT_LE(status, 1);
    return status == 0;
  }

  TestServer server_;

 private:
  const std::string actor_;
};

}  // namespace headgate::cli
