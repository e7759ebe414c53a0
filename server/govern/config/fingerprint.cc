#include "server/govern/config/fingerprint.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <set>
#include <string>

#include "common/hash.h"

namespace headgate::config {
namespace {

// No secret: nobody gains by a file that looks like another one. All releases have the same.
constexpr uint64_t kSeed = 0x3c6ef372fe94f82b;

template <typename Items, typename IsToGo>
void RemoveIf(Items& items, IsToGo is_to_go) {
  items.erase(std::remove_if(items.begin(), items.end(), is_to_go), items.end());
}

std::string Bytes(const google::protobuf::Message& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);  // maps too
  message.SerializeToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

}  // namespace

uint64_t FingerprintOf(const v1::Config& proto, const std::string& target) {
  v1::Config about;
  for (const v1::Target& known : proto.targets()) {
    if (known.name() != target) continue;
    v1::Target& kept = *about.add_targets();
    kept = known;
    kept.clear_primary();
    if (known.has_primary()) kept.mutable_primary();  // that there is one does matter
    for (v1::Standby& standby : *kept.mutable_standbys()) {
      if (standby.has_connection()) standby.mutable_connection()->Clear();
    }
  }
  *about.mutable_health_profiles() = proto.health_profiles();
  *about.mutable_rules() = proto.rules();
  RemoveIf(*about.mutable_rules(), [&](const v1::Rule& rule) {
    const std::string& only = rule.match().target();
    return !only.empty() && only != target;
  });
  std::set<std::string> charged;
  for (const v1::Rule& rule : about.rules()) {
    charged.insert(rule.charge().begin(), rule.charge().end());
  }
  *about.mutable_budgets() = proto.budgets();
  RemoveIf(*about.mutable_budgets(),
           [&](const v1::Budget& budget) { return !charged.contains(budget.name()); });
  if (proto.engine().has_permit_ttl()) {
    *about.mutable_engine()->mutable_permit_ttl() = proto.engine().permit_ttl();
  }
  if (proto.server().has_line()) *about.mutable_server()->mutable_line() = proto.server().line();
  if (proto.has_access()) *about.mutable_access() = proto.access();
  about.mutable_access()->clear_token_file();  // a place on the machine
  // How long an owner lasts, and whether it goes on without the store.
  if (proto.cluster().has_lease()) {
    *about.mutable_cluster()->mutable_lease() = proto.cluster().lease();
  }
  about.mutable_cluster()->set_on_store_loss(proto.cluster().on_store_loss());
  return HashBytes(Bytes(about), kSeed);
}

}  // namespace headgate::config
