// ChunkSize: how many rows the next chunk should have, by the server's advice.
//
// An auto budget advises for how long a chunk should keep the database busy: 5 to 10 ms beside a
// foreground, ten times that where there is none or where the job's sessions yield to it. Advice is
// a factor on the rows that a Check stated as its estimate. It is followed down at once, since a
// chunk that is too long is what harms; and up by doubling, so that each step is measured before
// the next.
//
// Thread-compatible: one for each loop.
//
//   ChunkSize size({.start = 500});
//   for (int64_t first = 0; first < last;) {
//     const int64_t rows = std::min(size.rows(), last - first);
//     absl::StatusOr<Permit> permit =
//         client.CheckOrWait({.estimated_cost = static_cast<double>(rows)}, absl::Hours(1));
//     if (!permit.ok()) return permit.status();
//     CopyRows(first, rows);
//     first += rows;
//     size.Follow(permit->answer());
//   }

#ifndef HEADGATE_CHUNK_SIZE_H_
#define HEADGATE_CHUNK_SIZE_H_

#include <headgate/check.h>

#include <cstdint>
#include <limits>

namespace headgate::client {

// What is out of order is put in order: at least one row, and `start` between the other two.
struct ChunkSizeOptions {
  int64_t start = 500;  // rows of the first chunk
  int64_t smallest = 1;
  // A bound of the job's own, where it has one: its memory, or what another budget admits at most.
  // Advice bounds a chunk by time.
  int64_t largest = std::numeric_limits<int64_t>::max();
};

class ChunkSize {
 public:
  explicit ChunkSize(const ChunkSizeOptions& options = {});

  // Of the next chunk; at least 1.
  int64_t rows() const { return rows_; }

  // What was advised when a chunk of rows() was asked for. Most answers advise nothing.
  void Follow(const Answer& answer);

 private:
  int64_t smallest_;
  int64_t largest_;
  int64_t rows_;
};

}  // namespace headgate::client

#endif  // HEADGATE_CHUNK_SIZE_H_
