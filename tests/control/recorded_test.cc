// The controller on samples that were recorded on a real PostgreSQL (recorded/*.txt), where batch
// work ran by turns at several rates and was kept out in between.
//
// What follows a decision was recorded too, nearly: in an off window the player goes on with
// increments that were recorded while all batch work was kept out, in an on window with those that
// were recorded at the rate nearest to the one in force.

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "server/control/controller.h"

namespace headgate::control {
namespace {

// What changed from one sample to the next, and what the latter saw.
struct Increment {
  double seconds = 0, transactions = 0, calls = 0, busy = 0, reports = 0, batch_busy = 0;
  double foreground_active = 0, batch_active = 0;
  int64_t outstanding = 0;
};

class Player {
 public:
  explicit Player(const std::string& name) {
    std::ifstream file("tests/control/recorded/" + name);
    std::vector<double> last;
    for (std::string line; std::getline(file, line);) {
      if (line.empty() || line[0] == '#') continue;
      std::istringstream text(line);
      std::vector<double> row(11);
      for (double& value : row) text >> value;
      EXPECT_FALSE(text.fail()) << line;
      // Increments across the edge of a window are of both kinds.
      const bool inside = !last.empty() && last[9] == row[9] && last[10] == row[10];
      if (inside) Keep(last, row);
      last = std::move(row);
    }
    EXPECT_GT(off_.size(), 20u) << name;
    EXPECT_GT(on_.size(), 1u) << name;
  }

  ControlSample Next(const ControlSetting& setting) {
    std::vector<Increment>* from = &off_;
    if (!setting.shut) {
      auto nearest = on_.begin();
      for (auto it = on_.begin(); it != on_.end(); ++it) {
        const auto far = [&](double rate) { return std::abs(std::log(rate / setting.drain)); };
        if (far(it->first) < far(nearest->first)) nearest = it;
      }
      from = &nearest->second;
    }
    const Increment& next = (*from)[at_++ % from->size()];
    now_ += next.seconds;
    sample_.work.sampled_at_ns = static_cast<int64_t>(now_ * 1e9);
    sample_.work.next_xid += static_cast<int64_t>(next.transactions);
    calls_ += next.calls;
    busy_ += next.busy;
    sample_.work.statements = health::WorkCounters::Statements{.calls = calls_,
                                                               .busy_seconds = busy_,
                                                               .timed_calls = calls_,
                                                               .timed_seconds = busy_,
                                                               .generation = 1};
    sample_.work.foreground_active = next.foreground_active;
    sample_.work.batch_active = setting.shut ? 0 : next.batch_active;
    sample_.transactions += static_cast<uint64_t>(next.reports);
    sample_.busy_seconds += next.batch_busy;
    sample_.outstanding = setting.shut ? 0 : next.outstanding;
    ++sample_.checks;
    return sample_;
  }

  double now() const { return now_; }

 private:
  void Keep(const std::vector<double>& from, const std::vector<double>& to) {
    const Increment increment{.seconds = to[0] - from[0],
                              .transactions = to[1] - from[1],
                              .calls = to[4] - from[4],
                              .busy = to[5] - from[5],
                              .reports = to[6] - from[6],
                              .batch_busy = to[7] - from[7],
                              .foreground_active = to[2],
                              .batch_active = to[3],
                              .outstanding = static_cast<int64_t>(to[8])};
    if (to[10] == 0) on_[to[9]].push_back(increment);
    // Work that was still going on when the window began is not "without batch work".
    if (to[10] != 0 && to[3] == 0 && to[8] == 0) off_.push_back(increment);
  }

  std::vector<Increment> off_;
  std::map<double, std::vector<Increment>> on_;  // by rate
  size_t at_ = 0;
  double now_ = 1, calls_ = 0, busy_ = 0;
  ControlSample sample_;
};

// The rates of the last `seconds` of two minutes.
std::vector<double> Settle(const std::string& name, double seconds) {
  Player player(name);
  Controller controller({.cores = 2, .max_rate = 4, .seed = 3});
  ControlSetting setting;
  setting.rate = setting.drain = 0.2;
  setting.shut = true;
  std::vector<double> rates;
  while (player.now() < 120) {
    setting = controller.Step(player.Next(setting));
    EXPECT_GE(setting.rate, 0.02);
    EXPECT_LE(setting.rate, 4);
    if (player.now() > 120 - seconds) rates.push_back(setting.rate);
  }
  return rates;
}

class ControlRecorded : public testing::TestWithParam<const char*> {};

TEST_P(ControlRecorded, SettlesOnWhatARealServerDid) {
  const std::vector<double> rates = Settle(GetParam(), 60);
  double sum = 0;
  for (const double rate : rates) sum += rate;
  const double mean = sum / static_cast<double>(rates.size());
  EXPECT_GT(mean, 0.03);
  EXPECT_LT(mean, 1);  // a core of batch work at all times would hurt
  size_t far = 0;
  for (const double rate : rates) far += static_cast<size_t>(rate > 4 * mean);
  EXPECT_LT(far, rates.size() / 10) << "mean " << mean;
}

INSTANTIATE_TEST_SUITE_P(, ControlRecorded, testing::Values("w1.txt", "w3.txt"));

}  // namespace
}  // namespace headgate::control
