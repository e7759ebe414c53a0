#include "tests/sdk/cpp/leases.h"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/sdk/cpp/enum_words.h"
#include "tests/sdk/cpp/fields.h"
#include "tests/testing/subprocess.h"

namespace headgate::client {
namespace {

constexpr char kWaitedInVain[] = "got no room in a lease within";

LeaseOptions OptionsIn(const YAML::Node& what) {
  Fields fields(what, "lease");
  LeaseOptions options{.identity = fields.Get<std::string>("identity", ""),
                       .target = fields.Get<std::string>("target", ""),
                       .pattern = fields.Get<std::string>("pattern", ""),
                       .tags = fields.Get<std::map<std::string, std::string>>("tags", {}),
                       .piece = fields.Get<double>("piece", 0)};
  options.time = fields.Duration("time").value_or(options.time);
  options.safe_time = fields.Duration("safe_time").value_or(options.safe_time);
  fields.Finish();
  return options;
}

Piece PieceOf(const Admission& admission, absl::Status& error) {
  Piece piece{.admitted = admission.admitted, .asked_once = true, .admission = admission};
  piece.closed = absl::IsCancelled(admission.error);
  if (!piece.closed) error = admission.error;
  piece.for_good = !admission.admitted && admission.error.ok() && !admission.retry_after;
  return piece;
}

Piece PieceOf(const absl::Status& waited, absl::Status& error) {
  Piece piece{.admitted = waited.ok()};
  piece.closed = absl::IsCancelled(waited) && absl::StrContains(waited.message(), "closed");
  piece.for_good = absl::IsFailedPrecondition(waited);
  const bool is_late =
      absl::IsDeadlineExceeded(waited) && absl::StrContains(waited.message(), kWaitedInVain);
  if (!piece.closed && !piece.for_good && !is_late) error = waited;
  return piece;
}

void Count(const PieceCount& count, std::vector<PieceCount>& sums) {
  const auto cause = [](const PieceCount& each) {
    return std::tie(each.verdict, each.reason, each.limit_kind, each.budget, each.rule,
                    each.signal);
  };
  const auto found = std::find_if(sums.begin(), sums.end(), [&](const PieceCount& each) {
    return cause(each) == cause(count);
  });
  if (found == sums.end()) {
    sums.push_back(count);
  } else {
    found->pieces += count.pieces;
    found->cost += count.cost;
  }
}

// What holders have told the fake.
Told ToldTo(FakeHeadgate& fake) {
  Told told;
  std::vector<PermitReport> reports = fake.reports();
  for (const CheckRequest& check : fake.checks()) {
    if (check.lease.has_value()) told.asks.push_back(check);
  }
  std::set<uint64_t> numbers;
  const auto add = [](std::optional<double>& sum, double more) { sum = sum.value_or(0) + more; };
  for (const PermitReport& report : reports) {
    if (report.done.actual_cost) add(told.actual_cost, *report.done.actual_cost);
    if (report.done.busy_time) add(told.busy_time, absl::ToDoubleSeconds(*report.done.busy_time));
    if (!report.lease_use.has_value()) continue;
    told.spent += report.lease_use->spent;
    told.safe_spent += report.lease_use->safe_spent;
    told.pieces += report.lease_use->pieces;
    numbers.insert(report.lease_use->id);
    ++told.uses;
    for (const PieceCount& count : report.lease_use->counts) Count(count, told.counts);
  }
  told.numbered = numbers.size() == told.uses && !numbers.contains(0);
  return told;
}

// What the throttle log has, without the names of limits.
Told LoggedBy(World& world, const std::string& identity) {
  const Finished finished = Subprocess({HEADGATE_PROGRAM, "--timeout", "60s", "log", identity,
                                        "--by", "outcome", "--by", "reason", "-o", "json"},
                                       {.environment = {{"HEADGATE_ADDRESS", world.Address()}}})
                                .Wait();
  if (finished.status != 0) throw std::runtime_error("headgate log: " + finished.err);
  Told told;
  for (const YAML::Node& sum : YAML::Load(finished.out)["sums"]) {
    PieceCount count;
    for (const char* const outcome : {"allowed", "would_be_denied", "denied"}) {
      count.pieces += sum[outcome].as<int64_t>();
    }
    if (count.pieces == 0) continue;  // the time that Checks have waited
    if (sum["denied"].as<int64_t>() > 0) count.verdict = Verdict::kDenied;
    const auto reason = sum["reason"].as<std::string>().substr(sizeof("REASON_") - 1);
    if (reason == "UNMATCHED") {
      told.unmatched = true;
    } else if (reason != "UNSPECIFIED") {
      count.reason = Meaning(kReasons, reason);
    }
    count.cost = sum["allowed_cost"].as<double>() + sum["denied_cost"].as<double>();
    Count(count, told.counts);
  }
  return told;
}

std::string NameOf(const PieceCount& count) {
  return absl::StrCat(count.verdict == Verdict::kAllowed ? "ALLOWED " : "DENIED ",
                      Word(kReasons, count.reason), " ",
                      count.limit_kind ? Word(kLimitKinds, *count.limit_kind) : "NONE", " '",
                      count.budget, "' '", count.rule, "' '", count.signal, "'");
}

// Each is there with these values, and no other is.
void CompareCounts(const YAML::Node& want, const Told& told, Place place, Complaints& complaints) {
  std::map<std::string, PieceCount> left;
  for (const PieceCount& count : told.counts) left[NameOf(count)] = count;
  for (const YAML::Node& each : want) {
    Fields fields(each, "a count");
    const auto verdict = fields.Get<std::string>("verdict", "");
    const auto reason = fields.Get<std::string>("reason", "NONE");
    const auto limit = fields.Get<std::string>("limit_kind", "NONE");
    PieceCount named{
        .verdict = verdict == "DENIED" ? Verdict::kDenied : Verdict::kAllowed,
        .budget = fields.Get<std::string>("budget", ""),
        .rule = fields.Get<std::string>("rule", ""),
        .signal = fields.Get<std::string>("signal", ""),
    };
    if (reason != "UNMATCHED") named.reason = Meaning(kReasons, reason);
    if (limit != "NONE") named.limit_kind = Meaning(kLimitKinds, limit);
    if (place == Place::kServer) {
      named.limit_kind.reset();
      named.budget = named.rule = named.signal = "";
      if ((reason == "UNMATCHED") != told.unmatched) complaints.push_back("the reason is another");
    }
    const auto pieces = fields.Find("pieces");
    const auto cost = fields.Find("cost");
    fields.Finish();
    const auto found = left.find(NameOf(named));
    if (found == left.end()) {
      complaints.push_back(absl::StrCat("nothing is counted as ", NameOf(named)));
      continue;
    }
    const auto have = static_cast<double>(found->second.pieces);
    if (pieces) CompareValue("pieces of " + found->first, *pieces, have, complaints);
    if (cost) CompareValue("cost of " + found->first, *cost, found->second.cost, complaints);
    left.erase(found);
  }
  for (const auto& [name, count] : left) {
    complaints.push_back(absl::StrCat(count.pieces, " are counted as ", name));
  }
}

void CompareWithStats(const LeaseStats& stats, const Told& told, Complaints& complaints) {
  int64_t allowed = 0;
  int64_t denied = 0;
  for (const PieceCount& count : told.counts) {
    (count.verdict == Verdict::kAllowed ? allowed : denied) += count.pieces;
  }
  if (allowed == stats.admitted && denied == stats.refused) return;
  complaints.push_back(absl::StrCat(allowed, " and ", denied, " are counted, and the lease has ",
                                    stats.admitted, " and ", stats.refused));
}

}  // namespace

bool Leases::Knows(const std::string& verb) {
  static const auto* const kVerbs = new std::set<std::string>{
      "lease", "admit", "wait", "settle", "close_lease", "lease_stats", "told"};
  return kVerbs->contains(verb);
}

Lease& Leases::Named(const YAML::Node& what) {
  const auto name = what["lease"].IsDefined() ? what["lease"].as<std::string>() : "lease";
  const auto found = leases_.find(name);
  if (found == leases_.end()) throw std::invalid_argument("there is no lease " + name);
  return *found->second;
}

void Leases::Do(const YAML::Node& step, const std::string& verb, World& world,
                const std::stop_token& stop, Outcome& outcome) {
  const YAML::Node what = step[verb];
  if (verb == "lease") {
    const auto client = step["client"].IsDefined() ? step["client"].as<std::string>() : "default";
    absl::StatusOr<std::unique_ptr<Lease>> lease = world.Named(client)->NewLease(OptionsIn(what));
    outcome.status = lease.status();
    if (!lease.ok()) return;
    leases_[step["as"].IsDefined() ? step["as"].as<std::string>() : verb] = *std::move(lease);
    return;
  }
  Fields fields(what, verb);
  if (verb == "told") {
    const auto identity = fields.Get<std::string>("identity", "nightly:etl");
    fields.Finish();
    outcome.told = world.place() == Place::kFake ? ToldTo(world.fake()) : LoggedBy(world, identity);
    for (const auto& [name, lease] : leases_) outcome.told->leases[name] = lease->stats();
    return;
  }
  fields.Find("lease");
  Lease& lease = Named(what);
  const auto cost = fields.Get<double>(verb == "settle" ? "estimate" : "cost", 1);
  if (verb == "admit") {
    outcome.piece = PieceOf(lease.Admit(cost), outcome.status);
  } else if (verb == "wait") {
    const auto max_wait = fields.Duration("max_wait").value_or(absl::InfiniteDuration());
    outcome.piece = PieceOf(lease.Wait(cost, max_wait, stop), outcome.status);
  } else if (verb == "settle") {
    outcome.status = lease.Settle(cost, {.actual_cost = fields.Maybe<double>("actual_cost"),
                                         .busy_time = fields.Duration("busy_time")});
  } else if (verb == "lease_stats") {
    outcome.lease_stats = lease.stats();
  } else {
    lease.Close();
    const auto client = step["client"].IsDefined() ? step["client"].as<std::string>() : "default";
    if (!world.Named(client)->Flush(absl::Seconds(60))) throw std::runtime_error("not flushed");
  }
  fields.Finish();
}

bool OfLeases(const std::string& key, const YAML::Node& want, const Outcome& got, Place place,
              Complaints& complaints) {
  const auto value = [&](std::optional<double> have) {
    CompareValue(key, want, have, complaints);
    return true;
  };
  const auto same = [&](bool have) {
    if (want.as<bool>() != have) complaints.push_back(absl::StrCat(key, " is ", have));
    return true;
  };
  if (got.piece.has_value()) {
    const Piece& piece = *got.piece;
    if (key == "admitted") return same(piece.admitted);
    if (key == "for_good") return same(piece.for_good);
    if (key == "closed") return same(piece.closed);
    if (!piece.asked_once) return false;
    const Admission& admission = piece.admission;
    if (key == "local") return same(admission.local);
    if (key == "retry_after") {
      return value(admission.retry_after
                       ? std::optional(absl::ToDoubleSeconds(*admission.retry_after))
                       : std::nullopt);
    }
    if (key == "reason") {
      const std::string word = Word(kReasons, admission.reason);
      if (word != want.as<std::string>()) complaints.push_back("the reason is " + word);
      return true;
    }
    return false;
  }
  if (got.lease_stats.has_value()) {
    const LeaseStats& stats = *got.lease_stats;
    if (key == "admitted_pieces") return value(static_cast<double>(stats.admitted));
    if (key == "refused_pieces") return value(static_cast<double>(stats.refused));
    if (key == "safe_pieces") return value(static_cast<double>(stats.safe));
    if (key == "local_pieces") return value(static_cast<double>(stats.local));
    if (key == "held") return value(stats.held);
    return false;
  }
  if (!got.told.has_value()) return false;
  const Told& told = *got.told;
  if (key == "counted") {
    CompareCounts(want, told, place, complaints);
    return true;
  }
  if (key == "counted_as") {
    CompareWithStats(told.leases.at(want.as<std::string>()), told, complaints);
    return true;
  }
  if (place == Place::kServer) return false;
  if (key == "spent") return value(told.spent);
  if (key == "safe_spent") return value(told.safe_spent);
  if (key == "pieces") return value(static_cast<double>(told.pieces));
  if (key == "actual_cost") return value(told.actual_cost);
  if (key == "busy_time") return value(told.busy_time);
  if (key == "numbered") return same(told.numbered);
  if (key == "asks") return value(static_cast<double>(told.asks.size()));
  if (key == "least" || key == "most") {
    for (const CheckRequest& ask : told.asks) {
      (void)value(key == "least" ? ask.lease->least : ask.estimated_cost.value_or(0));
    }
    return true;
  }
  return false;
}

}  // namespace headgate::client
