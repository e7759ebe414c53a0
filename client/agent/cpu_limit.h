// What a proof on one processor does not see of PostgreSQL's cgroup: against whom a rank counts,
// and a limit of the processor, which what yields uses up too; and how much there is of it.
//
// Thread-safe.
//
//   log(RangeOf(server.postmaster));
#pragma once

#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "client/scheduling/group_text.h"

namespace headgate::agent {

// How many processors' time the cgroup may use, or one above it, as far as they are seen. Absent:
// there is no limit. `read` reads a file.
std::optional<double> ProcessorLimit(
    const scheduling::CpuGroupPlace& place,
    absl::FunctionRef<std::optional<std::string>(const std::string& path)> read);

// How many processors a process may use at once: of those that it may run on, as its cgroup lets
// it. One where that is not known, as where its cgroup is not seen from here.
double ProcessorsOf(int pid);

// Of a process that yields there.
struct Range {
  std::string within = {};  // against whom its rank counts; empty: against all of the machine
  std::string limit = {};   // empty: there is none
};
// A cgroup that is not seen from here may have a limit, which is said.
Range RangeOf(int pid);

}  // namespace headgate::agent
