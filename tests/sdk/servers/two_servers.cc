#include "tests/sdk/servers/two_servers.h"

#include <fstream>
#include <numeric>

#include "absl/strings/str_cat.h"

namespace headgate::client {
namespace {

constexpr char kTarget[] = "t1";

uint64_t CountOf(peers::OneOfSeveral& server, const std::string& method) {
  const auto methods = server.dependencies().calls.ReadMethods();
  const auto found = methods.find(method);
  if (found == methods.end()) return 0;
  return std::accumulate(found->second.codes.begin(), found->second.codes.end(), uint64_t{0});
}

}  // namespace

TwoServers::TwoServers(const std::string& folder) {
  TestCertificate& shown = servers_.shared().certificate;
  shown = servers_.shared().authority.Sign(
      {.dns = {"localhost", "first.example"}, .ip = {"127.0.0.1"}, .uri = {peers::kPeer}});
  servers_.Kill(0);
  servers_.Start(0);
  shown = servers_.shared().PeerCertificate();
  const auto write = [&](const std::string& name, const std::string& text) {
    std::ofstream(absl::StrCat(folder, "/", name)) << text;
  };
  const TestCertificate own = servers_.shared().authority.Sign({.name = "client"});
  write("ca.crt", servers_.shared().authority.certificate());
  write("client.crt", own.certificate);
  write("client.key", own.key);
}

std::string TwoServers::Do(const std::string& what) {
  if (what == "asked") {
    return absl::StrCat(CountOf(servers_[0], "Check") + CountOf(servers_[0], "Report"));
  }
  if (what == "stop second") {
    servers_.Give(kTarget, 0);
    servers_.Kill(1);
  } else if (what == "start second") {
    servers_.Start(1);
    servers_.Give(kTarget, 1);
  } else if (what == "give first") {
    servers_.Give(kTarget, 0);
  } else if (what == "give second") {
    servers_.Give(kTarget, 1);
  } else {
    return absl::StrCat("two servers cannot ", what);
  }
  return "done";
}

}  // namespace headgate::client
