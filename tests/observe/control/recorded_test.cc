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
#include "server/observe/control/controller.h"

namespace headgate::control {
namespace {

// As tests/bench/control_recorder.h writes them.
enum Column : size_t {
  kAt,
  kNextXid,
  kForegroundActive,
  kBatchActive,
  kCalls,
  kBusy,
  kTimedCalls,
  kTimedSeconds,
  kTimedDeviations,
  kReports,
  kBatchBusy,
  kOutstanding,
  kRate,
  kShut,
  kColumns
};
constexpr Column kTotals[] = {kAt,           kNextXid,         kCalls,   kBusy,     kTimedCalls,
                              kTimedSeconds, kTimedDeviations, kReports, kBatchBusy};
using Row = std::vector<double>;

class Player {
 public:
  explicit Player(const std::string& name) {
    std::ifstream file("tests/observe/control/recorded/" + name);
    Row last;
    for (std::string line; std::getline(file, line);) {
      if (line.empty() || line[0] == '#') continue;
      std::istringstream text(line);
      Row row(kColumns);
      for (double& value : row) text >> value;
      EXPECT_FALSE(text.fail()) << line;
      // Increments across the edge of a window are of both kinds.
      const bool inside = !last.empty() && last[kRate] == row[kRate] && last[kShut] == row[kShut];
      if (inside) Keep(last, row);
      last = std::move(row);
    }
    EXPECT_GT(off_.size(), 20u) << name;
    EXPECT_GT(on_.size(), 1u) << name;
  }

  ControlSample Next(const ControlSetting& setting) {
    std::vector<Row>* from = &off_;
    if (!setting.shut) {
      auto nearest = on_.begin();
      for (auto it = on_.begin(); it != on_.end(); ++it) {
        const auto far = [&](double rate) { return std::abs(std::log(rate / setting.drain)); };
        if (far(it->first) < far(nearest->first)) nearest = it;
      }
      from = &nearest->second;
    }
    const Row& next = (*from)[at_++ % from->size()];
    for (const Column column : kTotals) {
      total_[column] += next[column];
    }
    sample_.work.sampled_at_ns = static_cast<int64_t>(total_[kAt] * 1e9);
    sample_.work.next_xid = static_cast<int64_t>(total_[kNextXid]);
    sample_.work.statements =
        health::WorkCounters::Statements{.calls = total_[kCalls],
                                         .busy_seconds = total_[kBusy],
                                         .timed_calls = total_[kTimedCalls],
                                         .timed_seconds = total_[kTimedSeconds],
                                         .timed_deviations = total_[kTimedDeviations],
                                         .generation = 1};
    sample_.work.foreground_active = next[kForegroundActive];
    sample_.work.batch_active = setting.shut ? 0 : next[kBatchActive];
    sample_.transactions = static_cast<uint64_t>(total_[kReports]);
    sample_.busy_seconds = total_[kBatchBusy];
    sample_.outstanding = setting.shut ? 0 : static_cast<int64_t>(next[kOutstanding]);
    ++sample_.checks;
    return sample_;
  }

  double now() const { return total_[kAt]; }
  double calls() const { return total_[kCalls]; }
  // A second, of the foreground while all batch work was kept out.
  double CallsAlone() const {
    double calls = 0, seconds = 0;
    for (const Row& row : off_) {
      calls += row[kCalls];
      seconds += row[kAt];
    }
    return calls / seconds;
  }

 private:
  // What totals grew by, and the rest as the later row has it.
  void Keep(const Row& from, Row to) {
    for (const Column column : kTotals) {
      to[column] -= from[column];
    }
    if (to[kShut] == 0) on_[to[kRate]].push_back(to);
    // Work that was still going on when the window began is not "without batch work".
    if (to[kShut] != 0 && to[kBatchActive] == 0 && to[kReports] == 0) off_.push_back(to);
  }

  std::vector<Row> off_;
  std::map<double, std::vector<Row>> on_;  // by rate
  size_t at_ = 0;
  Row total_ = Row(kColumns, 1);
  ControlSample sample_;
};

struct Settled {
  std::vector<double> rates;
  double kept = 0;  // of the foreground's statements
};

// The last `seconds` of two minutes.
Settled Settle(const std::string& name, double seconds) {
  Player player(name);
  Controller controller({.cores = 2, .max_rate = 4, .seed = 3});
  ControlSetting setting;
  setting.rate = setting.drain = 0.2;
  setting.shut = true;
  Settled settled;
  double calls = 0, from = 0;
  while (player.now() < 120) {
    setting = controller.Step(player.Next(setting));
    EXPECT_GE(setting.rate, 0.03);
    EXPECT_LE(setting.rate, 4);
    if (player.now() <= 120 - seconds) {
      calls = player.calls();
      from = player.now();
    } else {
      settled.rates.push_back(setting.rate);
    }
  }
  settled.kept = (player.calls() - calls) / (player.now() - from) / player.CallsAlone();
  return settled;
}

class ControlRecorded : public testing::TestWithParam<const char*> {};

TEST_P(ControlRecorded, SettlesOnWhatARealServerBore) {
  const Settled settled = Settle(GetParam(), 60);
  EXPECT_GT(settled.kept, 0.93);
  double sum = 0;
  for (const double rate : settled.rates) sum += rate;
  const double mean = sum / static_cast<double>(settled.rates.size());
  EXPECT_GT(mean, 0.03);
  EXPECT_LT(mean, 1);  // a core of batch work at all times would hurt
  size_t far = 0;
  for (const double rate : settled.rates) far += static_cast<size_t>(rate > 3 * mean);
  EXPECT_LT(far, settled.rates.size() / 10) << "mean " << mean;
}

INSTANTIATE_TEST_SUITE_P(, ControlRecorded, testing::Values("w1.txt", "open.txt"));

}  // namespace
}  // namespace headgate::control
