// What the alerts, the dashboard and the operations guide say of metrics, against a server that
// really exports them.

#include <headgate/v1/agent_service.grpc.pb.h>
#include <headgate/v1/override_service.grpc.pb.h>
#include <yaml-cpp/yaml.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/serve/web/promql_names.h"
#include "tests/serve/web/scraped_headgated.h"
#include "tests/testing/certificates.h"
#include "tests/testing/postgres_cluster.h"

namespace headgate::web {
namespace {

constexpr char kRules[] = "helm/headgate/rules/headgate.yaml";
constexpr char kDashboard[] = "helm/headgate/dashboards/headgate.json";

// Prometheus' own.
const std::set<std::string> kItsMetrics = {"up"};
const std::set<std::string> kItsLabels = {"job", "instance", "namespace"};

std::string ReadSource(const std::string& path) {
  std::ifstream file(std::string(HEADGATE_SOURCE) + "/" + path);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Expression {
  std::string where;
  std::string text;
  std::set<std::string> shown;  // labels that its text for people names
};

void AddShown(const std::string& text, std::set<std::string>& shown) {
  static const std::regex label(R"(\{\{\s*(\w+)\s*\}\}|\$labels\.(\w+))");
  for (auto at = std::sregex_iterator(text.begin(), text.end(), label);
       at != std::sregex_iterator(); ++at) {
    shown.insert((*at)[1].matched ? (*at)[1] : (*at)[2]);
  }
}

std::vector<Expression> AlertExpressions() {
  std::vector<Expression> all;
  const YAML::Node rules = YAML::Load(ReadSource(kRules));
  for (const YAML::Node& group : rules["groups"]) {
    for (const YAML::Node& rule : group["rules"]) {
      Expression expression{rule["alert"].as<std::string>(), rule["expr"].as<std::string>(), {}};
      for (const auto& annotation : rule["annotations"]) {
        AddShown(annotation.second.as<std::string>(), expression.shown);
      }
      expression.shown.erase("end");
      all.push_back(expression);
    }
  }
  return all;
}

std::vector<Expression> DashboardExpressions() {
  std::vector<Expression> all;
  const auto dashboard = nlohmann::json::parse(ReadSource(kDashboard));
  for (const auto& panel : dashboard["panels"]) {
    if (panel["type"] == "row") continue;
    for (const auto& target : panel["targets"]) {
      Expression expression{panel["title"], target["expr"], {}};
      AddShown(target["legendFormat"], expression.shown);
      all.push_back(expression);
    }
  }
  for (const auto& variable : dashboard["templating"]["list"]) {
    if (variable["type"] != "query") continue;
    // label_values(metric{...}, label)
    const std::string query = variable["definition"];
    const size_t open = query.find('('), comma = query.rfind(',');
    Expression expression{variable["name"], query.substr(open + 1, comma - open - 1), {}};
    expression.shown.insert(query.substr(comma + 2, query.size() - comma - 3));
    all.push_back(expression);
  }
  for (const auto& annotation : dashboard["annotations"]["list"]) {
    all.push_back({annotation["name"], annotation["expr"], {}});
  }
  return all;
}

constexpr char kEverything[] = R"(
targets:
  - name: t
    default_health: calm
    primary: {dsn: "DSN"}
    polling: {interval: 50ms}
    batch_work: {application_names: ["batch*"]}
health_profiles:
  - name: calm
    signals: [{name: active_backends, soft: 50, hard: 100}]
  - name: strict
    signals: [{name: busy, sql: SELECT 3, soft: 1, hard: 2}]
budgets:
  - {name: plain, rate: 1, burst: 2}
  - {name: watched, rate: 1, burst: 2, mode: WARN}
  - {name: each, rate: 1, burst: 2, split: {depth: 1}, max_buckets: 64}
  - {name: few, max_concurrency: 2}
  - {name: found, rate: auto}
rules:
  - {name: a, match: {segment: plain}, charge: [plain, few]}
  - {name: b, match: {segment: watched}, charge: [watched]}
  - {name: c, match: {segment: each}, charge: [each]}
  - {name: d, match: {segment: found}, charge: [found]}
  - {name: e, match: {segment: strict}, health: strict}
  - {name: f, match: {segment: denied}, deny: true}
)";

// Does of everything a little, so that every metric has a series.
class MetricNames : public testing::Test {
 protected:
  void SetUp() override {
    if (!PostgresCluster::BinFolder().ok()) GTEST_SKIP() << PostgresCluster::BinFolder().status();
    auto cluster = PostgresCluster::Start({});
    ASSERT_TRUE(cluster.ok()) << cluster.status();
    cluster_ = *std::move(cluster);
    std::string yaml = kEverything;
    yaml.replace(yaml.find("DSN"), 3, cluster_->primary().Dsn());
    server_ = std::make_unique<ScrapedHeadgated>(yaml);
    ASSERT_TRUE(WaitUntil([&] { return server_->Get("/readyz").status == 200; }));
    for (const char* identity : {"plain", "watched", "each", "found", "strict", "denied"}) {
      for (int i = 0; i < 4; ++i) server_->Check(identity);
    }
    TellOfSessions();
    scrape_ = server_->AwaitScrape([](const Scrape& seen) {
      return seen.HasSeries("headgate_health_refused_checks_total") &&
             seen.HasSeries("headgate_budget_refused_checks_total") &&
             seen.HasSeries("headgate_health_sample_age_seconds") &&
             seen.HasSeries("headgate_snapshot_age_seconds") &&
             seen.HasSeries("headgate_agent_up") &&
             seen.Value("headgate_http_requests_total", {{"path", "/metrics"}}).has_value();
    });
    IncludeEncrypted();
  }

  // As the target's agent.
  void TellOfSessions() {
    grpc::ClientContext context;
    const auto stream = v1::AgentService::Stub(server_->channel()).Watch(&context);
    v1::WatchRequest request;
    request.mutable_state()->set_yields(true);
    v1::WatchResponse response;
    EXPECT_TRUE(stream->Write(request) && stream->Read(&response));
    stream->WritesDone();
    EXPECT_TRUE(stream->Finish().ok());
  }

  // Plaintext has no certificate to tell of, and no tokens.
  void IncludeEncrypted() {
    TempFolder folder;
    CertificateAuthority authority("test");
    const TestCertificate certificate = authority.SignServer();
    ReplaceFile(folder.File("tls.crt"), certificate.certificate);
    ReplaceFile(folder.File("tls.key"), certificate.key);
    ReplaceFile(folder.File("tokens"), absl::StrCat("t sha256:", std::string(64, 'a'), "\n"));
    ScrapedHeadgated encrypted(absl::StrCat(
        "tls: {certificate_file: ", folder.File("tls.crt"), ", key_file: ", folder.File("tls.key"),
        "}\n", "access:\n  token_file: ", folder.File("tokens"),
        "\n  callers: [{name: a, token: t, identities: ['*']}]\n"));
    const Scrape scrape = encrypted.Scraped();
    scrape_.Include(scrape, "headgate_tls_");
    scrape_.Include(scrape, "headgate_access_tokens_");
    ReplaceFile(folder.File("ca.crt"), authority.certificate());
    IncludeShared(folder);
  }

  // A server that is alone has none of the figures of one of several; that its store is away does
  // not matter to their names.
  void IncludeShared(const TempFolder& folder) {
    ReplaceFile(folder.File("secret"), "0123456789abcdef");
    ScrapedHeadgated shared(
        absl::StrCat("tls: {certificate_file: ", folder.File("tls.crt"), ", key_file: ",
                     folder.File("tls.key"), ", client_ca_file: ", folder.File("ca.crt"),
                     ", client_certificates: OPTIONAL}\ncluster: {store: {dsn: host=127.0.0.1 "
                     "port=1}, secret_file: ",
                     folder.File("secret"),
                     ", on_store_loss: APPROXIMATE, peer_certificates: [\"DNS:localhost\"]}\n"
                     "targets: [{name: orders}]\n"),
        {"--member=a", "--member-address=localhost:1"});
    const Scrape scrape = shared.AwaitScrape(
        [](const Scrape& seen) { return seen.HasSeries("headgate_target_owned"); });
    for (const char* const prefix :
         {"headgate_store_", "headgate_decides_", "headgate_approximate_", "headgate_members",
          "headgate_target_"}) {
      scrape_.Include(scrape, prefix);
    }
  }

  bool HasLabel(const PromqlNames& names, const std::string& label) const {
    if (kItsLabels.contains(label)) return true;
    for (const std::string& metric : names.metrics) {
      if (scrape_.HasLabel(metric, label)) return true;
    }
    return false;
  }

  void Verify(const Expression& expression) const {
    SCOPED_TRACE(absl::StrCat(expression.where, ": ", expression.text));
    const PromqlNames names = NamesOf(expression.text);
    EXPECT_FALSE(names.metrics.empty());
    for (const std::string& metric : names.metrics) {
      if (kItsMetrics.contains(metric)) continue;
      EXPECT_TRUE(scrape_.HasSeries(metric)) << metric;
    }
    for (const PromqlNames::Matcher& matcher : names.matchers) VerifyMatcher(matcher);
    for (const std::string& label : names.labels) EXPECT_TRUE(HasLabel(names, label)) << label;
    for (const std::string& label : expression.shown) EXPECT_TRUE(HasLabel(names, label)) << label;
  }

  void VerifyMatcher(const PromqlNames::Matcher& matcher) const {
    if (kItsLabels.contains(matcher.label)) return;
    EXPECT_TRUE(scrape_.HasLabel(matcher.metric, matcher.label))
        << matcher.metric << " " << matcher.label;
    if (absl::StartsWith(matcher.value, "$") || matcher.label == "code") return;
    for (const auto word : absl::StrSplit(matcher.value, '|')) {
      EXPECT_TRUE(scrape_.LabelValues(matcher.metric, matcher.label).contains(std::string(word)))
          << matcher.metric << " " << matcher.label << " " << matcher.value;
    }
  }

  std::unique_ptr<PostgresCluster> cluster_;
  std::unique_ptr<ScrapedHeadgated> server_;
  Scrape scrape_;
};

TEST_F(MetricNames, OfAlertsAndDashboardAreExported) {
  const std::vector<Expression> alerts = AlertExpressions();
  const std::vector<Expression> panels = DashboardExpressions();
  EXPECT_GT(alerts.size(), 15);
  EXPECT_GT(panels.size(), 60);
  for (const Expression& expression : alerts) Verify(expression);
  for (const Expression& expression : panels) Verify(expression);
}

TEST_F(MetricNames, OfTheOperationsGuideAreAllThatAreExported) {
  // Rows of its tables: | `name` | type | labels | what |
  static const std::regex row(R"(\n\| `((?:headgate|process)_\w+)` \| (\w+) \| ([^|]*)\|)");
  std::string guide = ReadSource("docs/operations.md");
  // Those of the agent are in a file of its own (tests/agent/metrics_test.cc).
  const size_t agent = guide.find("\n### The agent\n");
  ASSERT_NE(agent, std::string::npos);
  guide.erase(agent, guide.find("\n### ", agent + 1) - agent);
  std::map<std::string, std::string> told;
  for (auto at = std::sregex_iterator(guide.begin(), guide.end(), row);
       at != std::sregex_iterator(); ++at) {
    const std::string name = (*at)[1];
    told[name] = (*at)[2];
    const std::string series = told[name] == "histogram" ? name + "_count" : name;
    static const std::regex label(R"(`(\w+)`)");
    const std::string labels = (*at)[3];
    std::set<std::string> expected;
    for (auto one = std::sregex_iterator(labels.begin(), labels.end(), label);
         one != std::sregex_iterator(); ++one) {
      expected.insert((*one)[1]);
    }
    std::set<std::string> found;
    for (const Scrape::Series& exported : scrape_.series()) {
      if (exported.name != series) continue;
      for (const auto& [key, value] : exported.labels) found.insert(key);
    }
    EXPECT_EQ(found, expected) << name;
  }
  EXPECT_EQ(told, scrape_.types());
}

TEST_F(MetricNames, OfEachAlertAreARunbook) {
  const std::string guide = ReadSource("docs/operations.md");
  for (const Expression& alert : AlertExpressions()) {
    EXPECT_THAT(guide, testing::HasSubstr(absl::StrCat("\n### ", alert.where, "\n")));
  }
  const YAML::Node rules = YAML::Load(ReadSource(kRules));
  for (const YAML::Node& rule : rules["groups"][0]["rules"]) {
    const auto anchor = absl::AsciiStrToLower(rule["alert"].as<std::string>());
    EXPECT_EQ(rule["annotations"]["runbook_url"].as<std::string>(),
              absl::StrCat("docs/operations.md#", anchor));
  }
}

// Of names, types, helps and units.
TEST_F(MetricNames, ContentPromtool) {
  if (std::system("promtool --version >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "promtool is missing: apt-get install prometheus";
  }
  const TempFolder folder;
  std::ofstream(folder.File("metrics")) << server_->Get("/metrics").body;
  const std::string command =
      absl::StrCat("promtool check metrics <", folder.File("metrics"), " 2>&1");
  FILE* const pipe = popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string said;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) said.push_back(static_cast<char>(c));
  EXPECT_EQ(pclose(pipe), 0) << said;
  EXPECT_EQ(said, "");
}

TEST(PromqlNames, AreMetricsMatchersAndLabels) {
  const PromqlNames names = NamesOf(
      "sum by (job, a) (rate(one_total{b=\"c\",d=~\"e|f\"}[5m])) / on (g) two > 0.5 and 3 * 86400");
  EXPECT_EQ(names.metrics, (std::set<std::string>{"one_total", "two"}));
  EXPECT_EQ(names.labels, (std::set<std::string>{"job", "a", "g"}));
  ASSERT_EQ(names.matchers.size(), 2);
  EXPECT_EQ(names.matchers[1].label, "d");
  EXPECT_EQ(names.matchers[1].op, "=~");
  EXPECT_EQ(names.matchers[1].value, "e|f");
}

}  // namespace
}  // namespace headgate::web
