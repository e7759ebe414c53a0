// What several servers cost: a Check that is forwarded to the owner of its target, and one that is
// asked of the owner, against one that is asked of a server that is alone.
//
// Three servers, each a process of its own, over TLS: one that is alone, one that owns the target,
// and one that does not and so forwards. Callers are a fourth process, with 64 Checks outstanding
// on 4 connections; the Check is that of the RPC benchmark. What is measured is the CPU time of all
// servers, user and system. Slices take turns, so that whatever else goes on in the machine hits
// all.
//
// Which server forwards is set by hand: nothing here depends on a store.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/system_clock.h"
#include "server/engine/engine.h"
#include "server/peers/forwarder.h"
#include "server/peers/peer_service.h"
#include "server/rpc/rpc_server.h"
#include "server/throttle_log/recorder.h"
#include "tests/bench/charged_checks.h"
#include "tests/bench/other_process.h"
#include "tests/bench/rpc_load.h"
#include "tests/peers/fixed_owners.h"
#include "tests/testing/certificates.h"
#include "tests/testing/quiet_dependencies.h"
#include "tests/testing/temp_folder.h"

namespace headgate::bench {
namespace {

constexpr int kRpcs = 3'000;  // in one slice

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "benchmark is broken: %s\n", what.c_str());
  std::exit(1);
}

std::string Read(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What all show and trust: a folder of the parent's.
struct Files {
  std::string authority, key, certificate;

  explicit Files(const std::string& folder)
      : authority(Read(folder + "/ca")),
        key(Read(folder + "/key")),
        certificate(Read(folder + "/crt")) {}

  std::shared_ptr<grpc::ServerCredentials> Server() const {
    grpc::SslServerCredentialsOptions tls(GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY);
    tls.pem_root_certs = authority;
    tls.pem_key_cert_pairs = {{key, certificate}};
    return grpc::SslServerCredentials(tls);
  }
  std::shared_ptr<grpc::ChannelCredentials> Client() const {
    return grpc::SslCredentials(
        {.pem_root_certs = authority, .pem_private_key = key, .pem_cert_chain = certificate});
  }
};

// One server, that does as its standard input says: "owner PORT" or "owner 0", which is itself, and
// "cpu". It says its port first.
void Serve(bool alone, const Files& files) {
  SystemClock clock;
  engine::Engine engine({.seed = 0x1234567890abcdef});
  if (absl::Status ready = Prepare(engine, clock); !ready.ok()) Fail(std::string(ready.message()));
  MonitoredTarget activity;
  throttle_log::Recorder recorder({.seed = 0x1234567890abcdef});
  rpc::QuietDependencies quiet(engine, clock);
  peers::FixedOwners owners;
  peers::Forwarder forwarder(
      {.owners = owners,
       .engine = engine,
       .clock = clock,
       .connect = [&](const std::string& address) { return OwnChannel(address, files.Client()); },
       .others =
           [&] {
             const std::string owner = owners.OwnerOf("main", clock.Read()).address;
             return owner.empty() ? std::vector<std::string>() : std::vector<std::string>{owner};
           }});
  peers::PeerService service(forwarder);
  quiet.access.SetPeers({"DNS:localhost"});
  rpc::RpcServerOptions options{.address = "127.0.0.1:0", .credentials = files.Server()};
  if (!alone) options.peers = &service;
  auto server = rpc::RpcServer::Start(options, {.engine = engine,
                                                .clock = clock,
                                                .status = quiet.status,
                                                .activity = activity,
                                                .recorder = recorder,
                                                .access = quiet.access,
                                                .lines = quiet.lines,
                                                .calls = quiet.calls,
                                                .elsewhere = alone ? nullptr : &forwarder});
  if (!server.ok()) Fail(std::string(server.status().message()));
  std::string what;
  while (std::cin >> what) {
    int port = 0;
    if (what == "port") std::cout << (*server)->port() << std::endl;
    if (what == "cpu") {
      activity.EndPoll();
      std::cout << CpuSeconds() << std::endl;
    }
    if (what == "owner" && std::cin >> port) {
      using Kind = cluster::Owner::Kind;
      owners.Set("main", {.kind = port == 0 ? Kind::kSelf : Kind::kOther,
                          .address = port == 0 ? "" : absl::StrCat("127.0.0.1:", port)});
      std::cout << "set" << std::endl;
    }
  }
}

double Number(const std::string& text) {
  double number = 0;
  if (!absl::SimpleAtod(text, &number)) Fail(absl::StrCat("no number: ", text));
  return number;
}

class Measured {
 public:
  Measured(const std::string& folder, std::vector<OtherProcess*> servers, const std::string& port)
      : servers_(std::move(servers)), callers_(absl::StrCat("--callers-of=", port, ":", folder)) {
    callers_.Do(absl::StrCat("check ", kRpcs));
    callers_.Do("settle");
  }

  // Microseconds of all servers for each Check.
  void Slice() {
    const double before = Cpu();
    callers_.Do(absl::StrCat("check ", kRpcs));
    us_.push_back((Cpu() - before) * 1e6 / kRpcs);
    callers_.Do("settle");
  }
  const std::vector<double>& us() const { return us_; }

 private:
  double Cpu() {
    double seconds = 0;
    for (OtherProcess* server : servers_) seconds += Number(server->Do("cpu"));
    return seconds;
  }

  const std::vector<OtherProcess*> servers_;
  OtherProcess callers_;
  std::vector<double> us_;
};

double RatioOf(const Measured& one, const Measured& other) {
  std::vector<double> ratios;
  for (size_t i = 0; i < one.us().size(); ++i) ratios.push_back(one.us()[i] / other.us()[i]);
  return Median(ratios);
}

int Run(double seconds) {
  TempFolder folder;
  CertificateAuthority authority("benchmark");
  const TestCertificate own = authority.SignServer();
  folder.WriteInPlace("ca", authority.certificate());
  folder.WriteInPlace("key", own.key);
  folder.WriteInPlace("crt", own.certificate);
  const std::string path = folder.path().string();
  OtherProcess alone(absl::StrCat("--alone:", path));
  OtherProcess owner(absl::StrCat("--server:", path));
  OtherProcess forwards(absl::StrCat("--server:", path));
  const std::string owner_port = owner.Do("port");
  owner.Do("owner 0");
  forwards.Do(absl::StrCat("owner ", owner_port));
  Measured direct(path, {&alone}, alone.Do("port"));
  Measured hinted(path, {&owner, &forwards}, owner_port);
  Measured forwarded(path, {&owner, &forwards}, forwards.Do("port"));
  SystemClock clock;
  const int64_t end = clock.Read().monotonic_ns + static_cast<int64_t>(seconds * 1e9);
  for (int round = 0; round < 3 || clock.Read().monotonic_ns < end; ++round) {
    direct.Slice();
    forwarded.Slice();
    hinted.Slice();
  }
  std::printf(
      "cluster: direct_us=%.2f forward_us=%.2f forward_ratio=%.3f hinted_us=%.2f "
      "hinted_ratio=%.3f\n",
      Median(direct.us()), Median(forwarded.us()), RatioOf(forwarded, direct), Median(hinted.us()),
      RatioOf(hinted, direct));
  return 0;
}

// "--callers-of=PORT:FOLDER", "--alone:FOLDER" or "--server:FOLDER".
bool IsChild(const std::string& argument) {
  const std::vector<std::string> parts = absl::StrSplit(argument, absl::MaxSplits(':', 1));
  if (parts.size() != 2) return false;
  const Files files(parts[1]);
  if (parts[0].starts_with("--callers-of=")) {
    RpcLoad(absl::StrCat("127.0.0.1:", parts[0].substr(13)), files.Client()).Obey();
  } else {
    Serve(parts[0] == "--alone", files);
  }
  return true;
}

}  // namespace
}  // namespace headgate::bench

int main(int argc, char** argv) {
  double seconds = 20;
  for (int i = 1; i < argc; ++i) {
    if (headgate::bench::IsChild(argv[i])) return 0;
    if (std::strncmp(argv[i], "--seconds=", 10) != 0 || !absl::SimpleAtod(argv[i] + 10, &seconds) ||
        seconds < 0) {
      std::fprintf(stderr, "usage: headgate-bench-cluster [--seconds=N]\n");
      return 2;
    }
  }
  return headgate::bench::Run(seconds);
}
