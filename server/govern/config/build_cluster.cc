// Servers that share the targets: what they agree through, and how they know each other.

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/govern/config/builder.h"
#include "server/govern/config/suggest.h"

namespace headgate::config {
namespace {

constexpr int64_t kMinMessageBytes = int64_t{1} << 20;

bool IsAlternativeName(const std::string& name) {
  for (const char* const kind : {"DNS:", "URI:"}) {
    if (absl::StartsWith(name, kind) && name.size() > 4) return true;
  }
  return false;
}

OnStoreLoss OnStoreLossOf(v1::OnStoreLoss on_store_loss) {
  if (on_store_loss == v1::ON_STORE_LOSS_KEEP) return OnStoreLoss::kKeep;
  if (on_store_loss == v1::ON_STORE_LOSS_APPROXIMATE) return OnStoreLoss::kApproximate;
  return OnStoreLoss::kStop;
}

}  // namespace

void Builder::BuildCluster() {
  if (!positions().Given(proto, v1::Config::kClusterFieldNumber)) return;
  using Proto = v1::Cluster;
  const Proto& from = proto.cluster();
  ClusterSettings& to = config.cluster.emplace();
  if (from.has_store()) {
    to.store = BuildSource(from.store());
  } else if (!positions().Spoilt(from, Proto::kStoreFieldNumber)) {
    findings.Say(from, "cluster needs a store");
  }
  to.secret_file = from.secret_file();
  if (to.secret_file.empty() && !positions().Spoilt(from, Proto::kSecretFileFieldNumber)) {
    findings.Say(from, "cluster needs a secret_file");
  }
  for (const std::string& name : from.peer_certificates()) {
    if (!IsAlternativeName(name)) {
      findings.Say(from, Proto::kPeerCertificatesFieldNumber,
                   absl::StrCat("peer_certificates must be \"DNS:name\" or \"URI:name\"; one is ",
                                Quoted(name)));
    }
    to.peer_certificates.push_back(name);
  }
  if (to.peer_certificates.empty() &&
      !positions().Spoilt(from, Proto::kPeerCertificatesFieldNumber)) {
    findings.Say(from, "cluster needs peer_certificates: the names in the servers' certificates");
  }
  if (from.has_lease()) {
    to.lease = findings.InRange(from, Proto::kLeaseFieldNumber, from.lease(), absl::Seconds(1),
                                absl::Minutes(1));
  }
  to.on_store_loss = OnStoreLossOf(from.on_store_loss());
  if (!positions().Given(proto.tls(), v1::Tls::kClientCaFileFieldNumber)) {
    findings.Say(
        from, "cluster needs tls with a client_ca_file: servers prove to each other who they are");
  }
  if (config.server.max_message_bytes < kMinMessageBytes) {
    findings.Say(proto.server(), v1::ServerConfig::kMaxMessageBytesFieldNumber,
                 absl::StrCat("max_message_bytes must be at least ", kMinMessageBytes,
                              " with cluster: servers hand each other calls in messages as large"));
  }
  if (proto.targets().empty() && !positions().Spoilt(proto, v1::Config::kTargetsFieldNumber)) {
    findings.Say(from, "cluster needs targets: they are what servers share");
  }
}

}  // namespace headgate::config
