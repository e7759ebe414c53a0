#include "server/decide/engine/cost_model.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace headgate::engine {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

size_t SetsFor(size_t patterns) { return std::bit_ceil(std::max<size_t>(patterns, 1)); }

}  // namespace

CostModel::CostModel(size_t patterns)
    : sets_(std::make_unique<Set[]>(SetsFor(patterns / kWays))),
      details_(std::make_unique<Details[]>(kWays * SetsFor(patterns / kWays))),
      mask_(SetsFor(patterns / kWays) - 1) {}

CostModel::Prediction CostModel::PredictBusyTime(uint64_t owner, uint64_t pattern,
                                                 double estimate) const {
  Published by_pattern{};
  Published by_owner{};
  Cell* const of_pattern = pattern == 0 ? nullptr : Read(pattern, &Cell::busy, by_pattern);
  Cell* const of_owner = Read(owner, &Cell::busy, by_owner);
  Prediction prediction;
  prediction.unnamed = pattern == 0 ? of_owner == nullptr || by_owner.nameless()
                                    : of_pattern == nullptr || by_pattern.nameless();
  const auto by_ratio = [&](Cell* cell, const Published& known) {
    if (cell == nullptr || estimate < 0 || !known.has_ratio()) return false;
    prediction.value = std::min(estimate * static_cast<double>(known.ratio), kMaxAmount);
    prediction.by = cell;
    prediction.by_ratio = true;
    return true;
  };
  const auto by_mean = [&](Cell* cell, const Published& known) {
    if (cell == nullptr || !known.has_mean()) return false;
    prediction.value = known.mean();
    prediction.by = cell;
    return true;
  };
  static_cast<void>(by_ratio(of_pattern, by_pattern) || by_ratio(of_owner, by_owner) ||
                    by_mean(of_pattern, by_pattern) || by_mean(of_owner, by_owner));
  return prediction;
}

void CostModel::SetNames(Details& details, std::unique_ptr<CostNames::Text> names) {
  if (details.names != nullptr) held_.Add(-details.names->bytes());
  details.names = std::move(names);
  if (details.names != nullptr) held_.Add(details.names->bytes());
}

void CostModel::NoteNames(const CostSubject& subject, const CostNames::Names& names) {
  const uint64_t owner = subject.Owner();
  noted_.Note(owner, {.root = names.root, .caller = names.caller});
  if (subject.pattern != 0) noted_.Note(CostSubject::PatternKey(owner, subject.pattern), names);
}

std::optional<double> CostModel::Ratio(uint64_t key) const {
  Published known;
  if (Read(key, &Cell::cost, known) == nullptr || !known.has_ratio()) return std::nullopt;
  return known.ratio;
}

CostModel::Priors CostModel::PriorsOf(uint64_t owner, const Lesson& lesson) const {
  Priors priors;
  Published known;
  if (owner != 0 && Read(owner, &Cell::cost, known) != nullptr && known.has_ratio()) {
    priors.cost.ratio = known.ratio;
  }
  priors.cost.mean = lesson.charged_cost.value_or(lesson.estimate >= 0 ? lesson.estimate : 1);

  priors.busy.is_guess = true;
  priors.busy.mean = lesson.charged_busy_seconds.value_or(kUnbounded);
  priors.busy.ratio = lesson.estimate > 0 ? priors.busy.mean / lesson.estimate : kUnbounded;
  if (owner != 0 && Read(owner, &Cell::busy, known) != nullptr && known.has_ratio()) {
    priors.busy.ratio = known.ratio;
    priors.busy.is_guess = false;
  }
  return priors;
}

void CostModel::Learn(const Lesson& lesson) {
  if (!lesson.cost.has_value() && !lesson.busy_seconds.has_value()) return;
  const uint64_t owner = lesson.subject.Owner();
  if (lesson.subject.pattern != 0) {
    LearnOne(CostSubject::PatternKey(owner, lesson.subject.pattern), lesson.subject, lesson,
             PriorsOf(owner, lesson));
  }
  CostSubject root = lesson.subject;
  root.pattern = 0;
  LearnOne(owner, root, lesson, PriorsOf(0, lesson));
}

CostModel::Cell& CostModel::ChooseCell(Set& set, uint64_t key, const CostSubject& subject) {
  for (Cell& cell : set.ways) {
    // relaxed: its lock is held.
    if (cell.key.load(std::memory_order_relaxed) == key) return cell;
  }
  const auto owner_of = [&](const Cell& cell) { return details_[PlaceOf(cell)].subject.Owner(); };
  // How little is lost with a cell: an empty one first, then the newcomer's own, then one of an
  // owner of several.
  const auto worth = [&](const Cell& cell) {
    if (cell.key.load(std::memory_order_relaxed) == 0) return 0;
    const uint64_t owner = owner_of(cell);
    if (owner == subject.Owner()) return 1;
    const auto same = std::count_if(set.ways.begin(), set.ways.end(), [&](const Cell& other) {
      return other.key.load(std::memory_order_relaxed) != 0 && owner_of(other) == owner;
    });
    return same > 1 ? 2 : 3;
  };
  const auto rank = [&](const Cell& cell) {
    return std::pair(worth(cell), details_[PlaceOf(cell)].learnt_at);
  };
  Cell& cell = *std::min_element(set.ways.begin(), set.ways.end(),
                                 [&](const Cell& a, const Cell& b) { return rank(a) < rank(b); });
  // No key while the contents change owner, so that no reader pairs old and new.
  cell.key.store(0, std::memory_order_relaxed);
  cell.next_probe_ns.store(0, std::memory_order_relaxed);
  Details& details = details_[PlaceOf(cell)];
  details.subject = subject;
  details.cost = details.busy = LearntMeasure{};
  details.reports.store(0, std::memory_order_relaxed);
  SetNames(details, nullptr);
  return cell;
}

void CostModel::Publish(Cell& cell, const Details& details) {
  const auto word = [&](const LearntMeasure& measure) {
    const float mean = std::fabs(measure.Mean());
    return std::bit_cast<uint64_t>(
        Published{measure.Ratio(), details.names == nullptr ? -mean : mean});
  };
  // release, and the key after it: a reader that sees one of these words has seen the key cleared.
  cell.cost.store(word(details.cost), std::memory_order_release);
  cell.busy.store(word(details.busy), std::memory_order_release);
}

void CostModel::LearnOne(uint64_t key, const CostSubject& subject, const Lesson& lesson,
                         const Priors& priors) {
  const size_t place = SetOf(key);
  MutexLock lock(&LockOf(place));
  Cell& cell = ChooseCell(sets_[place], key, subject);
  Details& details = details_[PlaceOf(cell)];
  if (details.names == nullptr) SetNames(details, noted_.Find(key));
  details.learnt_at = reports_.fetch_add(1, std::memory_order_relaxed) + 1;
  details.reported_at_ns = lesson.wall_ns;
  details.reports.fetch_add(1, std::memory_order_relaxed);
  if (lesson.cost.has_value()) details.cost.Teach(lesson.estimate, *lesson.cost, priors.cost);
  if (lesson.busy_seconds.has_value()) {
    details.busy.Teach(lesson.estimate, *lesson.busy_seconds, priors.busy);
  }
  Publish(cell, details);
  cell.key.store(key, std::memory_order_release);
}

}  // namespace headgate::engine
