// The bytes of what was measured of a target, as its owner writes them for the next one.
//
// They begin with a version: what another release wrote is read as nothing, and so is what is
// damaged, since the next owner measures the target anyway.
//
// Pure functions.
//
//   std::string bytes = EncodeHealth(monitor.Hand());
//   health::HandedSample sample = DecodeHealth(bytes, age);

#pragma once

#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "server/observe/health/handed_sample.h"

namespace headgate::app {

// Empty: nothing was measured.
std::string EncodeHealth(const health::HandedSample& sample);

// `age` is how long ago it was encoded.
health::HandedSample DecodeHealth(std::string_view bytes, absl::Duration age);

}  // namespace headgate::app
