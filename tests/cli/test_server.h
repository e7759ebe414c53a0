// TestServer: a server in this process that the program can be asked about.
//
//   TestServer server(OneBudget(RateBudget("rows", 10, 100)));
//   EXPECT_EQ(server.Headgate({"check", "job:etl", "--cost", "5"}).status, 0);
#pragma once

#include "tests/cli/run_headgate.h"
#include "tests/testing/in_process_server.h"

namespace headgate::cli {

using TestServer = AskedByHeadgate<InProcessServer>;

}  // namespace headgate::cli
