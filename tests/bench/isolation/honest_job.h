// HonestJob: a job that works when it is told to (honest_worker.h).
//
// It is another process, as jobs are: in this one gRPC would let its thread do the work of its
// neighbour's connections.
//
//   HonestJob job(server);
//   const Experience alone = job.Work(absl::Seconds(1));
//
// The process gets kHonestJobFlag with the server's address, its port for HTTP and, where it speaks
// TLS, the file of its authority as its argument, with commas between them.

#pragma once

#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "tests/bench/going_first.h"
#include "tests/bench/isolation/honest_worker.h"
#include "tests/bench/isolation/neighbours.h"
#include "tests/bench/other_process.h"

namespace headgate::bench {

inline constexpr char kHonestJobFlag[] = "--honest-job-at=";

class HonestJob {
 public:
  explicit HonestJob(const AttackedServer& server)
      : process_(Start(absl::StrCat(kHonestJobFlag, server.address, ",", server.http_port, ",",
                                    server.ca_file))) {}

  Experience Work(absl::Duration period) {
    Experience experience;
    std::istringstream answer(process_.Do(absl::StrCat(absl::ToInt64Milliseconds(period))));
    answer >> experience.grpc_p99_us >> experience.http_p99_us >> experience.checks >>
        experience.denied >> experience.shift;
    if (!answer || experience.checks == 0) {
      std::cerr << "the honest job says: " << answer.str() << '\n';
      std::exit(EXIT_FAILURE);
    }
    std::getline(answer >> std::ws, experience.why);
    return experience;
  }

 private:
  static OtherProcess Start(const std::string& argument) {
    const GoingFirst first(2);
    return OtherProcess(argument);
  }

  OtherProcess process_;
};

}  // namespace headgate::bench
