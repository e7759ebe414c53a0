// Networks: a network namespace for each server of a deployment, which can be cut off from the
// store and from the other servers. What is sent across a cut is lost without a word, as behind a
// switch that has died.
//
// The test's own process moves into a namespace of its own before anything else happens, and routes
// between all of them; namespaces go with their processes. It takes root and iproute2: IsThere says
// whether there are any.
//
//   if (!Networks::AreThere()) GTEST_SKIP() << Networks::WhyNot();
//   Networks networks;
//   Deployment deployment({.networks = &networks});
//   networks.CutFromStore(0);
//   networks.Heal();

#pragma once

#include <sched.h>
#include <sys/types.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "tests/testing/subprocess.h"

namespace headgate {

class Networks {
 public:
  // Of the store, in the test's own namespace.
  static constexpr char kStore[] = "10.77.255.1";

  static bool AreThere() { return State().empty(); }
  static const std::string& WhyNot() { return State(); }
  // Once, before there is a second thread: those that are there already stay where they are.
  static void MoveIn() { State() = TryToMoveIn(); }

  static std::string HostOf(int server) { return absl::StrFormat("10.77.%d.2", server); }
  // A command that becomes the server, in a namespace that is connected to nothing yet.
  static std::vector<std::string> Wrapper() {
    return {"unshare", "--net", "sh", "-c", "ip link set lo up && exec \"$@\"", "sh"};
  }

  // Connects the namespace of a server that runs.
  static void Connect(int server, pid_t pid) {
    const std::string link = absl::StrCat("server-", server);
    const std::string gateway = absl::StrFormat("10.77.%d.1", server);
    const std::string inside = absl::StrFormat("--net=/proc/%d/ns/net", pid);
    // Of a server that ended a moment ago: the kernel takes its namespace apart when it has time.
    (void)Subprocess({"ip", "link", "delete", link}).Wait();
    Run({"ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns",
         absl::StrCat(pid)});
    Run({"ip", "address", "add", gateway + "/24", "dev", link});
    Run({"ip", "link", "set", link, "up"});
    Run({"nsenter", inside, "ip", "address", "add", HostOf(server) + "/24", "dev", "eth0"});
    Run({"nsenter", inside, "ip", "link", "set", "eth0", "up"});
    Run({"nsenter", inside, "ip", "route", "add", "default", "via", gateway});
  }

  void CutFromStore(int server) { Cut(HostOf(server), kStore); }
  void CutFromServer(int server, int other) { Cut(HostOf(server), HostOf(other)); }
  void CutFromServers(int server, int servers) {
    for (int other = 0; other < servers; ++other) {
      if (other != server) CutFromServer(server, other);
    }
  }
  void Heal() {
    for (std::vector<std::string> rule : cuts_) {
      rule.insert(rule.begin(), {"ip", "rule", "delete"});
      Run(rule);
    }
    cuts_.clear();
  }

 private:
  // Why there are none; empty: there are.
  static std::string& State() {
    static std::string why = "the test has not moved into a namespace of its own";
    return why;
  }

  static std::string TryToMoveIn() {
    if (geteuid() != 0) return "network namespaces take root";
    if (unshare(CLONE_NEWNET) != 0) return "this machine lets nobody make network namespaces";
    std::string why;
    const auto run = [&](const std::vector<std::string>& command) {
      const Finished done = Subprocess(command).Wait();
      if (why.empty() && done.status != 0) {
        why = absl::StrCat(absl::StrJoin(command, " "), ": ", done.err);
      }
    };
    run({"ip", "link", "set", "lo", "up"});
    run({"ip", "address", "add", absl::StrCat(kStore, "/32"), "dev", "lo"});
    // What is cut is looked up before what is local.
    run({"ip", "rule", "add", "pref", "100", "table", "local"});
    run({"ip", "rule", "delete", "pref", "0"});
    std::ofstream forward("/proc/sys/net/ipv4/ip_forward");
    forward << "1" << std::flush;
    if (why.empty() && !forward) why = "nothing may be forwarded between network namespaces";
    return why;
  }

  static void Run(const std::vector<std::string>& command) {
    const Finished done = Subprocess(command).Wait();
    EXPECT_EQ(done.status, 0) << absl::StrJoin(command, " ") << ": " << done.err;
  }

  void Cut(const std::string& one, const std::string& other) {
    for (const auto& [from, to] : {std::pair(one, other), std::pair(other, one)}) {
      cuts_.push_back({"pref", "10", "from", from, "to", to, "blackhole"});
      std::vector<std::string> rule = cuts_.back();
      rule.insert(rule.begin(), {"ip", "rule", "add"});
      Run(rule);
    }
  }

  std::vector<std::vector<std::string>> cuts_;
};

}  // namespace headgate
