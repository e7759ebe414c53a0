// ScrapedHeadgated: headgated as a process of its own, with an HTTP port.
//
//   ScrapedHeadgated server("budgets: ...");
//   EXPECT_EQ(server.Get("/readyz").status, 200);
//   Scrape scrape = server.Scraped();
//
// As thread-safe as RunningHeadgated.

#pragma once

#include <httplib.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/serve/web/exposition_text.h"
#include "tests/testing/running_headgated.h"
#include "tests/testing/wait_until.h"

namespace headgate::web {

class ScrapedHeadgated : public RunningHeadgated {
 public:
  explicit ScrapedHeadgated(const std::string& yaml, std::vector<std::string> flags = {})
      : RunningHeadgated({.yaml = yaml, .http_address = "127.0.0.1:0", .flags = std::move(flags)}) {
  }

  struct Page {
    int status = 0;  // 0: there was no answer
    std::string body;
  };
  Page Get(const std::string& path) const {
    httplib::Client client("127.0.0.1", http_port());
    client.set_read_timeout(60);  // its own 5 s a busy machine may take
    const auto response = client.Get(path);
    if (!response) return {};
    return {response->status, response->body};
  }
  Scrape Scraped() const { return Scrape::Parse(Get("/metrics").body); }
  // A scrape for which this held, or the last one.
  Scrape AwaitScrape(const std::function<bool(const Scrape&)>& condition) const {
    Scrape scrape;
    EXPECT_TRUE(WaitUntil([&] { return condition(scrape = Scraped()); })) << Get("/metrics").body;
    return scrape;
  }
};

}  // namespace headgate::web
