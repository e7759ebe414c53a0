// What a member says it could own.
//
// With each of its rounds a member writes which targets it has, and of each: a hash of all in its
// configuration that matters for it, how well it could measure the target when it tried last, and
// whether it reads and writes what owners know of it. Placement gives a target to nobody who lacks
// it, or cannot keep its state. Members of a release that says nothing of that are taken to have
// all, and to measure all.
//
// Plain data and pure functions; thread-safe.
//
//   const Offer offer{.configuration = hash, .measures = Measures::kAll};
//   DecodeOffer(EncodeOffer("orders", offer));  // {"orders", offer}

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace headgate::cluster {

enum class Measures : uint8_t {
  kUntried = 0,  // it does not measure it, and knows nothing of how that would be
  kNothing = 1,  // the primary does not answer it
  kPartly = 2,   // the primary does, and a standby does not
  kAll = 3,
};

struct Offer {
  uint64_t configuration = 0;
  Measures measures = Measures::kUntried;
  bool keeps_state = true;  // false: it cannot read or write what owners know
  std::string why = {};     // of what is not well, for people; one line

  friend bool operator==(const Offer&, const Offer&) = default;
};
// By target.
using Offers = std::map<std::string, Offer, std::less<>>;

// What a member says, or that it says nothing. Copies share it: each round brings that of all.
class SharedOffers {
 public:
  SharedOffers() = default;  // it says nothing, as earlier releases do
  // NOLINTNEXTLINE(google-explicit-constructor): as std::optional has it.
  SharedOffers(Offers offers) : offers_(std::make_shared<const Offers>(std::move(offers))) {}

  bool has_value() const { return offers_ != nullptr; }
  const Offers& operator*() const { return *offers_; }
  const Offers* operator->() const { return offers_.get(); }
  void reset() { offers_.reset(); }

  friend bool operator==(const SharedOffers& a, const SharedOffers& b) {
    return a.has_value() == b.has_value() && (!a.has_value() || *a == *b);
  }

 private:
  std::shared_ptr<const Offers> offers_;
};

// How well a member could own a target; a higher one is better, but for kUntried, which has to be
// tried before anything is given.
enum class Fit : uint8_t {
  kNone = 0,   // it lacks the target
  kStateless,  // it cannot keep its state: it may go on with what it has while nobody else can
  kBlind,
  kPartly,
  kUntried,
  kFull
};
// Who may be given it.
inline bool MayOwn(Fit fit) { return fit > Fit::kStateless; }
Fit FitOf(const Offers& offers, std::string_view target);
// By that alone.
Fit FitOf(Measures measures);

// One line of text, without what is longer than a store needs to know.
std::string EncodeOffer(std::string_view target, const Offer& offer);
// Nothing: it makes no sense, as what a newer release writes may not.
std::optional<std::pair<std::string, Offer>> DecodeOffer(std::string_view text);

// For people: the hash of a configuration, by which two are told apart.
std::string ConfigurationText(uint64_t configuration);

}  // namespace headgate::cluster
