#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/bench/isolation/bytes.h"
#include "tests/bench/isolation/http_text.h"
#include "tests/bench/isolation/neighbours.h"

namespace headgate::bench {
namespace {

constexpr size_t kMostJsonBytes = (4 << 20) - 64;

Act Asks(const AttackedServer& server, const std::string& request) {
  return
      [speaker = std::make_shared<Speaker>(server.http_port), request] { speaker->Ask(request); };
}

Act DeepJson(const AttackedServer& server) {
  return Asks(server, Post("/v1/check", "{\"nested\":" + Times(kMostJsonBytes / 8, "{\"a\":[{")));
}

Act ManyJsonParts(const AttackedServer& server) {
  return Asks(server,
              Post("/v1/batch_check", "{\"checks\":[" + Times(kMostJsonBytes / 3, "{},") + "{}]}"));
}

Act HugeJsonMaps(const AttackedServer& server) {
  std::string tags;
  for (int i = 0; i < 100'000; ++i) absl::StrAppend(&tags, i == 0 ? "" : ",", "\"k", i, "\":\"v\"");
  return Asks(server, Post("/v1/check", absl::StrCat("{\"identity\":\"job", kGuest, "\",\"tags\":{",
                                                     tags, "}}")));
}

Act HugeTexts(const AttackedServer& server) {
  return Asks(server, Post("/v1/check", "{\"identity\":\"" + Times(kMostJsonBytes / 6, "\\u00e9") +
                                            "\",\"estimated_cost\":1}"));
}

Act WrongJson(const AttackedServer& server) {
  return [speaker = std::make_shared<Speaker>(server.http_port), random = RandomBytes()]() mutable {
    for (int i = 0; i < 20; ++i) {
      speaker->Ask(Post("/v1/check", absl::StrCat("{\"identity\":\"", random.Next(64), "\"}")));
    }
  };
}

std::string GuestCheck(int number, int cost) {
  return absl::StrCat("{\"identity\":\"job-", number, kGuest, "\",\"estimated_cost\":", cost, "}");
}

// One after the other, none of which is reported.
Act FloodOfChecks(const AttackedServer& server) {
  return [speaker = std::make_shared<Speaker>(server.http_port), number = 0]() mutable {
    for (int i = 0; i < 20; ++i) speaker->Ask(Post("/v1/check", GuestCheck(number++, 1)));
  };
}

Act LargestBatches(const AttackedServer& server) {
  std::string checks = GuestCheck(0, 1);
  for (int i = 1; i < 1000; ++i) absl::StrAppend(&checks, ",", GuestCheck(i, 1));
  return Asks(server, Post("/v1/batch_check", "{\"checks\":[" + checks + "]}"));
}

// They wait in line, and most of them hang up before it is their turn.
Act WaitingAndLeaving(const AttackedServer& server) {
  constexpr size_t kConnections = 512;
  const std::string check = absl::StrCat("{\"identity\":\"job-0", kGuest,
                                         "\",\"estimated_cost\":900,\"max_wait\":\"60s\"}");
  return [=, speakers = std::make_shared<Speakers>(server.http_port, kConnections)] {
    for (int i = 0; i < 16; ++i) {
      Speaker& speaker = speakers->Next();
      speaker.Leave();
      speaker.Say(Post("/v1/check", check));
    }
  };
}

// Calls that take a thread, as many as there may be.
Act SlowCalls(const AttackedServer& server) {
  constexpr size_t kConnections = 128;
  std::string yaml = "budgets:\\n";
  for (int i = 0; i < 2000; ++i) {
    absl::StrAppend(&yaml, "  - {name: b", i, ", rate: 1, burst: 1}\\n");
  }
  const std::string replay =
      Post("/v1/replay_throttle_log", absl::StrCat("{\"config_yaml\":\"", yaml, "\"}"));
  const std::string buckets =
      Post("/v1/list_buckets", "{\"budget\":\"per-job\",\"page_size\":1000}");
  return [=, speakers = std::make_shared<Speakers>(server.http_port, kConnections)] {
    for (int i = 0; i < 8; ++i) {
      speakers->Next().Say(replay);
      speakers->Next().Say(buckets);
    }
  };
}

Act Scrapes(const AttackedServer& server) {
  constexpr size_t kConnections = 128;
  return [speakers = std::make_shared<Speakers>(server.http_port, kConnections)] {
    for (int i = 0; i < 16; ++i) speakers->Next().Say(Get("/metrics"));
  };
}

Act FrenosChecks(const AttackedServer& server) {
  constexpr size_t kConnections = 64;
  return [speakers = std::make_shared<Speakers>(server.http_port, kConnections)] {
    for (int i = 0; i < 64; ++i) speakers->Next().Say(Get("/check/job:guest/mysql/main"));
  };
}

constexpr auto kJsonNeighbours = std::to_array<Neighbour>({
    {"json_deep", DeepJson},
    {"json_many_parts", ManyJsonParts},
    {"json_huge_tag_maps", HugeJsonMaps},
    {"json_huge_texts", HugeTexts},
    {"json_wrong", WrongJson},
    {"json_flood_of_checks", FloodOfChecks},
    {"json_largest_batches", LargestBatches},
    {"json_waiting_and_leaving", WaitingAndLeaving},
    {"json_slow_calls", SlowCalls},
    {"json_scrapes", Scrapes},
    {"json_frenos_checks", FrenosChecks},
});

}  // namespace

std::span<const Neighbour> JsonNeighbours() { return kJsonNeighbours; }

}  // namespace headgate::bench
