#include "tests/sdk/cpp/player.h"

#include <set>
#include <stdexcept>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/sdk/cpp/chunk_loop.h"
#include "tests/sdk/cpp/fake_words.h"
#include "tests/sdk/cpp/fields.h"
#include "tests/testing/subprocess.h"

namespace headgate::client {
namespace {

constexpr absl::Duration kBetweenLooks = absl::Milliseconds(50);

const std::set<std::string>& Verbs() {
  static const auto* const kVerbs = new std::set<std::string>{
      "check",      "check_or_wait", "report", "end",    "dismiss", "report_id",
      "report_now", "flush",         "stats",  "close",  "join",    "new_client",
      "cancel",     "pass",          "chunks", "file",   "server",  "config",
      "fake",       "headgate",      "seen",   "servers"};
  return *kVerbs;
}

const std::set<std::string>& Modifiers() {
  static const auto* const kModifiers = new std::set<std::string>{
      "on", "client", "as", "repeat", "background", "workers", "cancelled", "eventually", "expect"};
  return *kModifiers;
}

std::string TextOr(const YAML::Node& node, const std::string& otherwise) {
  return node.IsDefined() ? node.as<std::string>() : otherwise;
}

// `max_wait` is left to the caller.
CheckRequest RequestOf(Fields& fields) {
  CheckRequest request{.identity = fields.Get<std::string>("identity", ""),
                       .target = fields.Get<std::string>("target", ""),
                       .estimated_cost = fields.Maybe<double>("estimated_cost"),
                       .pattern = fields.Get<std::string>("pattern", ""),
                       .tags = fields.Get<std::map<std::string, std::string>>("tags", {}),
                       .request_id = fields.Get<std::string>("request_id", ""),
                       .validate_only = fields.Get("validate_only", false)};
  return request;
}

WorkDone DoneOf(Fields& fields) {
  return {.actual_cost = fields.Maybe<double>("actual_cost"),
          .busy_time = fields.Duration("busy_time")};
}

}  // namespace

std::string Player::VerbOf(const YAML::Node& step) const {
  std::string verb;
  for (const auto& field : step) {
    const auto key = field.first.as<std::string>();
    if (Modifiers().count(key) > 0) continue;
    if (Verbs().count(key) == 0 && !Leases::Knows(key))
      throw std::invalid_argument("this runner does not know " + key);
    if (!verb.empty())
      throw std::invalid_argument(absl::StrCat("a step that has ", verb, " and ", key));
    verb = key;
  }
  if (verb.empty()) throw std::invalid_argument("a step without a verb");
  const std::string here = world_.place() == Place::kFake ? "fake" : "server";
  const bool elsewhere = TextOr(step["on"], here) != here || (verb == "fake" && here == "server") ||
                         ((verb == "headgate" || verb == "config") && here == "fake");
  return elsewhere ? "" : verb;
}

Complaints Player::Play() {
  int number = 0;
  for (const YAML::Node& step : world_.scenario()["steps"]) {
    ++number;
    Complaints wrong = PlayStep(step);
    if (wrong.empty()) continue;
    wrong.insert(wrong.begin(), absl::StrCat("step ", number, ", ", YAML::Dump(step), ":"));
    wrong.push_back(world_.ServerLog());
    return wrong;
  }
  if (backgrounds_.empty()) return {};
  return {absl::StrCat("nobody joins ", backgrounds_.begin()->first)};
}

Complaints Player::PlayStep(const YAML::Node& step) {
  const std::string verb = VerbOf(step);
  if (verb.empty()) return {};
  if (step["background"].IsDefined()) {
    Begin(step, verb);
    return {};
  }
  if (verb == "join") return Join(step);
  if (step["eventually"].IsDefined()) {
    return RepeatUntil(step, verb, DurationOf(step["eventually"]));
  }
  // A client that is closed is no more, and cannot tell.
  if (verb == "stats" && world_.Named(TextOr(step["client"], "default")) == nullptr) return {};
  return Repeat(step, verb);
}

Complaints Player::Judge(const YAML::Node& step, const Outcome& outcome) {
  const auto permit_of = [this](const std::string& name) {
    return outcomes_.at(name).answer.value().permit_id;
  };
  return Compare(step["expect"], outcome, permit_of, world_.place());
}

Complaints Player::Repeat(const YAML::Node& step, const std::string& verb) {
  const int times = step["repeat"].IsDefined() ? step["repeat"].as<int>() : 1;
  for (int i = 1; i <= times; ++i) {
    const Outcome outcome = Do(step, verb, {});
    Keep(step, verb, times > 1 ? i : 0, outcome);
    Complaints wrong = Judge(step, outcome);
    if (!wrong.empty()) return wrong;
  }
  return {};
}

Complaints Player::RepeatUntil(const YAML::Node& step, const std::string& verb,
                               absl::Duration limit) {
  const std::shared_ptr<TimeSource> real_time = NewRealTime();
  const absl::Duration end = real_time->Now() + limit;
  for (;;) {
    const Outcome outcome = Do(step, verb, {});
    Complaints wrong = Judge(step, outcome);
    if (wrong.empty() || real_time->Now() >= end) {
      Keep(step, verb, 0, outcome);
      return wrong;
    }
    real_time->Wait(kBetweenLooks, {});
    if (world_.place() == Place::kFake) world_.Pass(kBetweenLooks);
  }
}

void Player::Keep(const YAML::Node& step, const std::string& verb, int number,
                  const Outcome& outcome) {
  std::string name = TextOr(step["as"], verb == "check_or_wait" ? "permit" : "");
  if (number > 0 && step["as"].IsDefined()) name = absl::StrCat(name, "-", number);
  if (!name.empty()) outcomes_[name] = outcome;
}

void Player::Begin(const YAML::Node& step, const std::string& verb) {
  auto background = std::make_unique<Background>();
  const int workers = step["workers"].IsDefined() ? step["workers"].as<int>() : 1;
  for (int i = 0; i < workers; ++i) {
    // A copy for each: reading a node is no reading for yaml-cpp.
    background->workers.emplace_back([this, verb, background = background.get(),
                                      own = YAML::Clone(step)](const std::stop_token& stop) {
      Outcome outcome = Do(own, verb, stop);
      const std::lock_guard lock(background->mutex);
      background->outcomes.push_back(std::move(outcome));
    });
  }
  backgrounds_[step["background"].as<std::string>()] = std::move(background);
}

Complaints Player::Join(const YAML::Node& step) {
  const auto found = backgrounds_.find(step["join"].as<std::string>());
  if (found == backgrounds_.end()) throw std::invalid_argument("joins what was not begun");
  const std::unique_ptr<Background> background = std::move(found->second);
  backgrounds_.erase(found);
  for (std::jthread& worker : background->workers) worker.join();
  Complaints wrong;
  int allowed = 0;
  const YAML::Node allowed_count = step["expect"]["allowed_count"];
  for (const Outcome& outcome : background->outcomes) {
    const bool is_allowed = outcome.answer.has_value() && outcome.answer->allowed();
    allowed += is_allowed ? 1 : 0;
    if (allowed_count.IsDefined() && !is_allowed) continue;
    const Complaints own = Judge(step, outcome);
    wrong.insert(wrong.end(), own.begin(), own.end());
  }
  if (allowed_count.IsDefined() && allowed_count.as<int>() != allowed) {
    wrong.push_back(absl::StrCat(allowed, " were allowed"));
  }
  return wrong;
}

Outcome Player::Do(const YAML::Node& step, const std::string& verb, const std::stop_token& stop) {
  std::stop_source cancelled;
  std::stop_token token = stop;
  if (step["cancelled"].IsDefined() && step["cancelled"].as<bool>()) {
    cancelled.request_stop();
    token = cancelled.get_token();
  }
  Outcome outcome;
  const bool who = step["expect"].IsDefined() && step["expect"]["asked"].IsDefined();
  const std::string asked = who ? world_.DoWithServers("asked") : "";
  const absl::Duration began = world_.Now();
  if (!DoAsJob(step, verb, token, outcome)) Happen(step[verb], verb);
  outcome.took = world_.Now() - began;
  if (who) outcome.asked = world_.DoWithServers("asked") == asked ? "second" : "first";
  return outcome;
}

bool Player::DoAsJob(const YAML::Node& step, const std::string& verb, const std::stop_token& stop,
                     Outcome& outcome) {
  const YAML::Node& what = step[verb];
  if (verb == "new_client") {
    absl::StatusOr<std::unique_ptr<Client>> client = world_.NewClient(what);
    outcome.status = client.status();
    if (client.ok()) world_.Keep(TextOr(step["as"], ""), *std::move(client));
    return true;
  }
  if (Leases::Knows(verb)) {
    leases_.Do(step, verb, world_, stop, outcome);
    return true;
  }
  if (DoWithPermit(what, verb, outcome)) return true;
  std::unique_ptr<Client>& client = world_.Named(TextOr(step["client"], "default"));
  if (verb == "close") {
    client = nullptr;
    return true;
  }
  if (verb == "chunks") {
    outcome.status = DoChunks(*client, what, stop, outcome.sizes.emplace());
    return true;
  }
  if (verb != "check" && verb != "check_or_wait") {
    return DoWithReports(*client, what, verb, stop, outcome);
  }
  Fields fields(what, verb);
  CheckRequest request = RequestOf(fields);
  const std::optional<absl::Duration> max_wait = fields.Duration("max_wait");
  fields.Finish();
  if (verb == "check") {
    request.max_wait = max_wait.value_or(absl::ZeroDuration());
    const absl::StatusOr<Answer> answer = client->Check(request, stop);
    outcome.status = answer.status();
    if (answer.ok()) outcome.answer = *answer;
    return true;
  }
  absl::StatusOr<Permit> permit =
      client->CheckOrWait(request, max_wait.value_or(absl::InfiniteDuration()), stop);
  outcome.status = permit.status();
  if (!permit.ok()) return true;
  outcome.answer = permit->answer();
  outcome.permit = std::make_shared<Permit>(*std::move(permit));
  return true;
}

bool Player::DoWithPermit(const YAML::Node& what, const std::string& verb, Outcome& outcome) {
  if (verb != "report" && verb != "end" && verb != "dismiss") return false;
  Fields fields(what, verb);
  Permit& permit = *outcomes_.at(fields.Get<std::string>("permit", "permit")).permit;
  const WorkDone done = DoneOf(fields);
  const bool error = fields.Get("error", false);
  fields.Finish();
  if (verb == "report") {
    outcome.status = permit.Report(done);
  } else if (verb == "dismiss") {
    permit.Dismiss();
  } else if (!error) {
    const Permit ends = std::move(permit);
  } else {
    try {
      const Permit ends = std::move(permit);
      throw std::runtime_error("the chunk failed");
    } catch (const std::runtime_error&) {
    }
  }
  return true;
}

uint64_t Player::NumberOf(const YAML::Node& what) {
  if (what["id"].IsDefined()) return what["id"].as<uint64_t>();
  return outcomes_.at(what["of"].as<std::string>()).answer.value().permit_id.value();
}

bool Player::DoWithReports(Client& client, const YAML::Node& what, const std::string& verb,
                           const std::stop_token& stop, Outcome& outcome) {
  if (verb == "flush") {
    outcome.done = client.Flush(DurationOf(what));
  } else if (verb == "stats") {
    outcome.stats = client.report_stats();
  } else if (verb == "report_id" || verb == "report_now") {
    Fields fields(what, verb);
    const WorkDone done = DoneOf(fields);
    fields.Find("of");
    fields.Find("id");
    fields.Finish();
    if (verb == "report_id") {
      outcome.status = client.Report(NumberOf(what), done);
      return true;
    }
    const absl::StatusOr<ReportResult> result = client.ReportNow(NumberOf(what), done, stop);
    outcome.status = result.status();
    outcome.report = result.ok() ? *result : ReportResult();
  } else if (verb == "seen") {
    outcome.seen = world_.News();
  } else {
    return false;
  }
  return true;
}

void Player::Happen(const YAML::Node& what, const std::string& verb) {
  if (verb == "cancel") {
    for (std::jthread& worker : backgrounds_.at(what.as<std::string>())->workers) {
      worker.request_stop();
    }
  } else if (verb == "pass") {
    world_.Pass(DurationOf(what));
  } else if (verb == "server") {
    world_.DoWithServer(what.as<std::string>());
  } else if (verb == "servers") {
    const std::string said = world_.DoWithServers(what.as<std::string>());
    if (said != "done") throw std::invalid_argument(said);
  } else if (verb == "file") {
    Fields fields(what, verb);
    const auto copy = fields.Maybe<std::string>("copy");
    const auto text = fields.Get<std::string>("text", "");
    world_.Write(fields.Get<std::string>("name", ""), copy ? world_.Read(*copy) : text);
    fields.Finish();
  } else if (verb == "config") {
    world_.Rewrite(what);
  } else if (verb == "headgate") {
    RunHeadgate(what);
  } else {
    Instruct(what, world_.fake());
  }
}

void Player::RunHeadgate(const YAML::Node& words) {
  std::vector<std::string> command = {HEADGATE_PROGRAM};
  for (const YAML::Node& word : words) command.push_back(word.as<std::string>());
  const Finished finished =
      Subprocess(command, {.environment = {{"HEADGATE_ADDRESS", world_.Address()}}}).Wait();
  if (finished.status != 0) throw std::runtime_error("headgate: " + finished.err);
}

}  // namespace headgate::client
