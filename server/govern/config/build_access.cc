// Access: who may call, how each is known, and what it is granted.

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/file_text.h"
#include "common/identity.h"
#include "server/govern/access/access_policy.h"
#include "server/govern/access/token_book.h"
#include "server/govern/config/builder.h"
#include "server/govern/config/suggest.h"

namespace headgate::config {
namespace {

using Field = v1::AccessCaller;

constexpr int kMaxCallers = 10'000;
constexpr int kMaxGrants = 1000;  // of one kind, of one caller

class AccessBuilder {
 public:
  explicit AccessBuilder(Builder& builder)
      : builder_(builder), findings_(builder.findings), proto_(builder.proto.access()) {}

  access::PolicySpec Run() {
    spec_.token_file = proto_.token_file();
    TokenFile();
    const bool spoilt = positions().Spoilt(proto_, v1::Access::kCallersFieldNumber);
    if (proto_.callers().empty() && !spoilt) {
      findings_.Say(proto_,
                    "access without callers lets nobody in; list callers, or leave access out to "
                    "let everybody do everything");
    }
    if (proto_.callers_size() > kMaxCallers) {
      findings_.Say(
          proto_, v1::Access::kCallersFieldNumber,
          absl::StrCat("there are ", proto_.callers_size(), " callers; at most ", kMaxCallers));
      return std::move(spec_);
    }
    NameTable names("caller", NameTable::Completeness::kComplete, findings_);
    names.AddAll(proto_.callers());
    for (const v1::AccessCaller& caller : proto_.callers()) Caller(caller);
    Protect();
    return std::move(spec_);
  }

 private:
  const SourcePositions& positions() const { return findings_.positions(); }

  bool HasTls() const { return positions().Given(builder_.proto, v1::Config::kTlsFieldNumber); }
  bool HasClientCa() const {
    return positions().Given(builder_.proto.tls(), v1::Tls::kClientCaFileFieldNumber);
  }

  // Names in the file are known only where it can be read, and is in order: a server says more.
  void TokenFile() {
    if (proto_.token_file().empty()) return;
    if (!HasTls()) {
      findings_.Say(proto_, v1::Access::kTokenFileFieldNumber,
                    "tokens are taken over TLS only, and there is no tls");
    }
    if (builder_.other_files != OtherFiles::kRead) return;
    const auto text = ReadFileText(proto_.token_file(), access::TokenBook::kMaxFileBytes);
    if (!text.ok()) return;
    absl::StatusOr<access::TokenBook> book = access::TokenBook::Parse(*text, proto_.token_file());
    if (book.ok()) {
      tokens_ = *std::move(book);
      return;
    }
    for (const auto line : absl::StrSplit(book.status().message(), '\n')) {
      findings_.Say(proto_, v1::Access::kTokenFileFieldNumber, std::string(line));
    }
  }

  void Caller(const v1::AccessCaller& from) {
    access::CallerSpec& to = spec_.callers.emplace_back();
    to.name = NameOr(from.name());
    switch (from.known_by_case()) {
      case v1::AccessCaller::kCertificate:
        Certificate(from, to);
        break;
      case v1::AccessCaller::kToken:
        Token(from, to);
        break;
      default:
        Anybody(from, to);
    }
    Identities(from, to);
    Tags(from, to);
    Segments(from, to);
    to.overrides = from.overrides();
    to.exempt_overrides = from.exempt_overrides();
    to.everything = from.everything();
    to.costs = from.costs();
    to.forgive = from.forgive();
    to.logs = from.logs();
    to.status = from.status();
    to.servers = from.servers();
    to.agent = from.agent();
    Something(from, to);
  }

  // Says so if another caller is known by the same.
  void Once(const v1::AccessCaller& from, int field, const std::string& what,
            const std::string& shown) {
    const int line = positions().At(from, field).line;
    const auto [first, is_new] = known_by_.emplace(what, line);
    if (is_new) return;
    findings_.Say(from, field,
                  absl::StrCat(shown, " is another caller's, in line ", first->second));
  }

  void Certificate(const v1::AccessCaller& from, access::CallerSpec& to) {
    const int field = Field::kCertificateFieldNumber;
    const std::string& name = to.certificate = from.certificate();
    const bool typed = absl::StartsWith(name, "URI:") || absl::StartsWith(name, "DNS:");
    if (!typed || name.size() == 4) {
      findings_.Say(from, field,
                    absl::StrCat("certificate must be one of its alternative names, "
                                 "'URI:spiffe://...' or 'DNS:...'; it is ",
                                 Quoted(name)));
    } else {
      Once(from, field, access::CanonicalName(name), absl::StrCat("certificate ", Quoted(name)));
    }
    if (!HasTls()) {
      findings_.Say(from, field, "a certificate is seen over TLS only, and there is no tls");
    } else if (!HasClientCa()) {
      findings_.Say(from, field,
                    "callers' certificates are verified with tls.client_ca_file, "
                    "which is not set");
    }
  }

  void Token(const v1::AccessCaller& from, access::CallerSpec& to) {
    const int field = Field::kTokenFieldNumber;
    const std::string& name = to.token = from.token();
    if (!access::TokenBook::IsName(name)) {
      findings_.Say(from, field,
                    "token is a name in the token file, never a token: 1 to 128 letters, digits, "
                    "'_', '-', '.', '@' or '/'");
    } else {
      Once(from, field, absl::StrCat("token ", name), absl::StrCat("token ", Quoted(name)));
    }
    if (!positions().Given(proto_, v1::Access::kTokenFileFieldNumber)) {
      findings_.Say(from, field, "a token is looked up in access.token_file, which is not set");
    }
    if (tokens_.has_value() && !tokens_->HasName(name)) {
      findings_.Say(from, field,
                    absl::StrCat("no token ", Quoted(name), " in ", Quoted(proto_.token_file()),
                                 Suggestion(name, tokens_->Names())));
    }
  }

  void Anybody(const v1::AccessCaller& from, access::CallerSpec& to) {
    const int field = Field::kAnybodyFieldNumber;
    to.anybody = true;
    Once(from, field, "anybody", "anybody");
  }

  // Whether there are more than anybody needs; that is said.
  bool TooMany(const v1::AccessCaller& from, int field, int count) {
    if (count <= kMaxGrants) return false;
    findings_.Say(from, field, absl::StrCat("has ", count, " entries; at most ", kMaxGrants));
    return true;
  }

  void Identities(const v1::AccessCaller& from, access::CallerSpec& to) {
    const int field = Field::kIdentitiesFieldNumber;
    if (TooMany(from, field, from.identities_size())) return;
    for (int i = 0; i < from.identities_size(); ++i) {
      const std::string& selector = from.identities(i);
      const absl::Status valid = selector == access::kAnyIdentity
                                     ? absl::OkStatus()
                                     : Identity::Parse(selector, 0).status();
      if (!valid.ok()) {
        const char* const hint = absl::StrContains(selector, '*')
                                     ? "; '*' stands alone, for any identity, and a level "
                                       "includes all below it"
                                     : "";
        findings_.Say(positions().AtItem(from, field, i), absl::StrCat(valid.message(), hint));
      }
      WarnOfTwin(positions().AtItem(from, field, i), to.name, selector);
      to.identities.push_back(selector);
    }
  }

  // Its Checks would be matched by no such rule.
  void WarnOfTwin(Position at, const std::string& caller, const std::string& selector) {
    const auto twin = builder_.identity_names->TwinOf(selector);
    if (!twin.has_value()) return;
    findings_.Warn(at,
                   absl::StrCat("caller ", Quoted(caller), " may speak for ", Quoted(twin->spelled),
                                ", and rule ", Quoted(twin->rule), " is for ", Quoted(twin->known),
                                ": identities are case-sensitive, and these are two"));
  }

  void Tags(const v1::AccessCaller& from, access::CallerSpec& to) {
    const int field = Field::kTagsFieldNumber;
    if (TooMany(from, field, from.tags_size())) return;
    for (int i = 0; i < from.tags_size(); ++i) {
      const std::string& tag = from.tags(i);
      const size_t equals = tag.find('=');
      if (equals == std::string::npos || equals == 0) {
        findings_.Say(positions().AtItem(from, field, i),
                      absl::StrCat("expected key=value, got ", Quoted(tag)));
        continue;
      }
      to.tags.emplace_back(tag.substr(0, equals), tag.substr(equals + 1));
    }
  }

  void Segments(const v1::AccessCaller& from, access::CallerSpec& to) {
    const int field = Field::kSegmentsFieldNumber;
    if (TooMany(from, field, from.segments_size())) return;
    for (int i = 0; i < from.segments_size(); ++i) {
      const absl::Status valid = Identity::ValidateSegment(from.segments(i));
      if (!valid.ok()) {
        findings_.Say(positions().AtItem(from, field, i), std::string(valid.message()));
      }
      to.segments.push_back(from.segments(i));
    }
  }

  void Something(const v1::AccessCaller& from, const access::CallerSpec& to) {
    const bool for_identities =
        to.overrides || to.exempt_overrides || to.costs || to.forgive || to.logs;
    if (!from.identities().empty()) return;
    if (positions().Spoilt(from, Field::kIdentitiesFieldNumber)) return;
    if (!to.tags.empty() || !to.segments.empty() || for_identities) {
      findings_.Say(from, absl::StrCat("caller ", Quoted(to.name),
                                       " is granted something for its identities, and has none"));
    } else if (!to.status && !to.everything && !to.servers && !to.agent) {
      findings_.Say(from, absl::StrCat("caller ", Quoted(to.name),
                                       " is granted nothing; give it identities or status"));
    }
  }

  // Whether who claims what the rule matches may be treated better for it: is exempt, is gated by
  // another profile, or gets rid of a rule for a wider range of addresses, since of those that
  // match only the narrowest applies.
  static bool MayFavor(const engine::RuleSpec& rule) {
    return std::holds_alternative<engine::ExemptAction>(rule.action) ||
           std::holds_alternative<engine::HealthAction>(rule.action) ||
           !rule.match.remote_address.empty();
  }

  // Such claims are not for everybody.
  void Protect() {
    for (const engine::RuleSpec& rule : builder_.config.policy.rules) {
      if (!MayFavor(rule)) continue;
      for (const auto& tag : rule.match.tags) spec_.protected_tags.push_back(tag);
      if (!rule.match.segment.empty()) spec_.protected_segments.push_back(rule.match.segment);
    }
  }

  Builder& builder_;
  Findings& findings_;
  const v1::Access& proto_;
  access::PolicySpec spec_;
  std::optional<access::TokenBook> tokens_;         // of the file, if it could be read
  absl::flat_hash_map<std::string, int> known_by_;  // where each is first
};

}  // namespace

void Builder::BuildAccess() {
  if (!proto.has_access()) return;
  config.access = AccessBuilder(*this).Run();
  config.policy.share_patterns = proto.access().share_patterns();
}

}  // namespace headgate::config
