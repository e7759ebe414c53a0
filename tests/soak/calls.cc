#include "tests/soak/calls.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace headgate::soak {
namespace {

constexpr size_t kMaxKept = 20;

}  // namespace

bool Calls::Expect(const std::string& call, const grpc::Status& status,
                   std::initializer_list<grpc::StatusCode> expected) {
  MutexLock lock(&mutex_);
  CallCounts& counts = counts_[call];
  if (status.ok()) {
    ++counts.ok;
  } else if (std::find(expected.begin(), expected.end(), status.error_code()) != expected.end()) {
    ++counts.refused;
  } else {
    Surprise(absl::StrCat(call, ": code ", static_cast<int>(status.error_code()), ": ",
                          status.error_message()));
  }
  return status.ok();
}

void Calls::Require(bool holds, const std::string& what) {
  if (holds) return;
  MutexLock lock(&mutex_);
  Surprise(what);
}

void Calls::Surprise(const std::string& what) {
  ++surprise_count_;
  if (surprises_.size() < kMaxKept) surprises_.push_back(what);
}

std::map<std::string, CallCounts> Calls::counts() const {
  MutexLock lock(&mutex_);
  return counts_;
}

std::vector<std::string> Calls::surprises() const {
  MutexLock lock(&mutex_);
  return surprises_;
}

int64_t Calls::surprise_count() const {
  MutexLock lock(&mutex_);
  return surprise_count_;
}

}  // namespace headgate::soak
