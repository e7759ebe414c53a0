#include "server/share/cluster/offers.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/strings.h"

namespace headgate::cluster {
namespace {

constexpr size_t kHashDigits = 16;
// "0123456789abcdef 3s target", and a reason after a line's end.
constexpr size_t kPrefixBytes = kHashDigits + 4;
constexpr size_t kMaxWhyBytes = 200;
constexpr char kKeepsState = 's', kKeepsNoState = '-';

}  // namespace

Fit FitOf(const Offers& offers, std::string_view target) {
  const auto found = offers.find(target);
  if (found == offers.end()) return Fit::kNone;
  return found->second.keeps_state ? FitOf(found->second.measures) : Fit::kStateless;
}

Fit FitOf(Measures measures) {
  switch (measures) {
    case Measures::kUntried:
      return Fit::kUntried;
    case Measures::kNothing:
      return Fit::kBlind;
    case Measures::kPartly:
      return Fit::kPartly;
    case Measures::kAll:
      break;
  }
  return Fit::kFull;
}

std::string EncodeOffer(std::string_view target, const Offer& offer) {
  std::string why = offer.why.substr(0, kMaxWhyBytes);
  // It may be in whatever language and encoding, and must not keep a round from the store.
  for (char& c : why) {
    if (!absl::ascii_isprint(static_cast<unsigned char>(c))) c = c == '\n' ? ' ' : '?';
  }
  std::string text = absl::StrCat(
      ConfigurationText(offer.configuration), " ", static_cast<int>(offer.measures),
      std::string(1, offer.keeps_state ? kKeepsState : kKeepsNoState), " ", Sv(target));
  if (!why.empty()) absl::StrAppend(&text, "\n", why);
  return text;
}

std::optional<std::pair<std::string, Offer>> DecodeOffer(std::string_view text) {
  if (text.size() < kPrefixBytes) return std::nullopt;
  const std::string_view hash = text.substr(0, kHashDigits);
  const std::string_view flags = text.substr(kHashDigits, kPrefixBytes - kHashDigits);
  Offer offer;
  if (!absl::SimpleHexAtoi(Sv(hash), &offer.configuration)) return std::nullopt;
  if (flags[0] != ' ' || flags[3] != ' ' || flags[1] < '0' || flags[1] > '3') return std::nullopt;
  offer.measures = static_cast<Measures>(flags[1] - '0');
  offer.keeps_state = flags[2] == kKeepsState;
  std::string_view target = text.substr(kPrefixBytes);
  if (const size_t end = target.find('\n'); end != std::string_view::npos) {
    offer.why = std::string(target.substr(end + 1));
    target = target.substr(0, end);
  }
  return std::pair(std::string(target), std::move(offer));
}

std::string ConfigurationText(uint64_t configuration) {
  return absl::StrCat(absl::Hex(configuration, absl::kZeroPad16));
}

}  // namespace headgate::cluster
