// A stop with nothing in progress does not wait for whoever is connected and says nothing.

#include <grpcpp/grpcpp.h>
#include <headgate/v1/throttler_service.grpc.pb.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/govern/tls/raw_caller.h"
#include "tests/testing/certificates.h"
#include "tests/testing/own_channel.h"
#include "tests/testing/process_usage.h"
#include "tests/testing/rpc_call.h"
#include "tests/testing/running_headgated.h"
#include "tests/testing/temp_folder.h"
#include "tests/testing/wait_until.h"

namespace headgate::tls {
namespace {

// Alone on a machine it is 0.2 s; a server that waits does so for its grace of 10 s, each time.
constexpr absl::Duration kMostOfStop = absl::Seconds(4);

// The shortest of a few stops, and of more than one only where the machine was busy: each time of
// another server, with whoever is connected to it.
absl::Duration ShortestStop(absl::FunctionRef<absl::Duration()> stop) {
  absl::Duration shortest = stop();
  for (int tries = 1; tries < 5 && shortest >= kMostOfStop; ++tries) {
    shortest = std::min(shortest, stop());
  }
  return shortest;
}

absl::Duration TimeOfStop(RunningHeadgated& server) {
  const int64_t begun_ns = MonotonicNs();
  server.Terminate();
  const absl::Duration took = absl::Nanoseconds(MonotonicNs() - begun_ns);
  std::cout << "the stop took " << took << '\n';
  return took;
}

// What comes first of TLS, without its end.
const std::string kHalfHello = std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11);

absl::Duration StopBesideWhoeverSaysNothing() {
  RunningHeadgated server({.stateless = true, .http_address = "127.0.0.1:0"});
  const Raw silent(server.port());
  const Raw half_preface(server.port());
  half_preface.SendAll(kPreface.substr(0, 10));
  // It acknowledges nothing and answers no ping.
  const Raw idle(server.port());
  idle.SendAll(kPreface);
  const Raw half_headers(server.port());
  half_headers.SendAll(kPreface + Frame(1, 0, 1, Headers(1, "/a").substr(9)));
  const Raw half_message(server.port());
  half_message.SendAll(kPreface + Headers(1, "/headgate.v1.ThrottlerService/Check") +
                       Frame(0, 0, 1, Number(0, 1) + Number(100, 4)));
  const Raw reflection(server.port());
  reflection.SendAll(kPreface +
                     Headers(1, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"));
  const Raw watch(server.port());
  watch.SendAll(kPreface + Call(1, "/grpc.health.v1.Health/Watch", ""));
  const RawSocket http(server.http_port());
  http.SendAll("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
  const RawSocket half_http(server.http_port());
  half_http.SendAll("GET /healthz HTTP/1.1\r\nHo");
  // A stream that has had its answer, and a channel that has.
  OpenStream stream{OwnChannel(server.address())};
  EXPECT_TRUE(stream.Exchange());
  EXPECT_EQ(server.Check("job:etl").verdict(), v1::VERDICT_ALLOWED);
  return TimeOfStop(server);
}

TEST(QuickStop, DoesNotWaitForWhoeverSaysNothing) {
  EXPECT_LT(ShortestStop(StopBesideWhoeverSaysNothing), kMostOfStop);
}

// Its answer cannot be sent, and is nobody's who reads.
absl::Duration StopBesideWhoeverReadsNothing() {
  RunningHeadgated server({.stateless = true});
  const Raw deaf(server.port());
  deaf.SendAll(Preface(0) + Call(1, "/grpc.health.v1.Health/Check", ""));
  deaf.AwaitHeads(1);
  return TimeOfStop(server);
}

TEST(QuickStop, DoesNotWaitForWhoeverReadsNothing) {
  EXPECT_LT(ShortestStop(StopBesideWhoeverReadsNothing), kMostOfStop);
}

absl::Duration StopBesideHalfOfTls() {
  const TempFolder folder;
  CertificateAuthority authority("authority");
  const TestCertificate pair = authority.SignServer();
  ReplaceFile(folder.File("tls.crt"), pair.certificate);
  ReplaceFile(folder.File("tls.key"), pair.key);
  RunningHeadgated server({.yaml = absl::StrCat("tls: {certificate_file: ", folder.File("tls.crt"),
                                                ", key_file: ", folder.File("tls.key"), "}\n"),
                           .http_address = "127.0.0.1:0",
                           .flags = {"--health-address", "127.0.0.1:0"}});
  const Raw silent(server.port());
  const Raw half_hello(server.port());
  half_hello.SendAll(kHalfHello);
  const RawSocket half_https(server.http_port());
  half_https.SendAll(kHalfHello);
  const auto channel =
      OwnChannel(server.address(), grpc::SslCredentials({.pem_root_certs = authority.certificate(),
                                                         .pem_private_key = "",
                                                         .pem_cert_chain = ""}));
  EXPECT_TRUE(CallRpc(channel, &v1::ThrottlerService::Stub::Check, CheckOf("job:etl", 1)).ok());
  return TimeOfStop(server);
}

TEST(QuickStop, DoesNotWaitForHalfOfTls) {
  EXPECT_LT(ShortestStop(StopBesideHalfOfTls), kMostOfStop);
}

}  // namespace
}  // namespace headgate::tls
