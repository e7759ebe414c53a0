// What a model database is like: the machine, its foreground and its batch.
//
// Plain data. Times are seconds, needs of a core are exponential on average unless said otherwise.

#pragma once

#include "tests/sim/processors.h"

namespace headgate::sim {

struct ForegroundModel {
  int clients = 8;
  double pace = 0;                 // transactions a second; 0: each client as fast as it can
  double cpu = 3e-4;               // of a transaction
  double commit = 9e-4;            // its wait; 0: it only reads
  double outside = 6e-4;           // between two transactions of a client
  double statements = 7;           // of a transaction
  double present = 0, absent = 0;  // in turn; 0: always there
  double from = 0;                 // when it comes first
  // More clients, that are there for a while, as at noon.
  int more_clients = 0;
  double more_from = 0, more_until = 0;
  double swing = 0, period = 1;  // how its need of a core rises and falls, and in how long
  // Sessions beside it that run long queries one after another, of the same role.
  int analysts = 0;
  double query = 0.5, thought = 2;  // of a core; between two queries
};

// How many times as long something takes with so many chunks at work.
struct Drag {
  double each = 0, square = 0;
  double Of(double chunks) const { return 1 + each * chunks + square * chunks * chunks; }
};

struct BatchModel {
  int workers = 8;
  double cpu = 0.06;    // of a chunk, lognormal
  double spread = 0.3;  // of its logarithm
  Drag on_commit = {};  // of the foreground
  Drag on_cpu = {};
  double lock_share = 0;         // of transactions that wait for the end of a given chunk
  double transactions_each = 1;  // of a chunk
  // A busy second leaves as much to be written later, which slows commits by this share of them.
  double leaves = 0;
  int unasked = 0;  // more workers, that never ask
  // Where there is a log: what a chunk has written to it when it ends, as a share of its need of a
  // core.
  double log_share = 0.1;
  // Chunks of any length. 0: they are as `cpu` says, whatever is advised.
  double rows = 0;    // of the first one; from then on as is advised
  double row = 3e-6;  // of a core
  // Of a core, for each chunk: what the job itself does beside the database. Of normal rank.
  double client = 0;
};

// Sessions of batch work that have idle rank, and the agent that sees to it.
struct YieldingModel {
  bool works = false;
  double until = 1e9;  // when the agent goes, and all have normal rank again
  Switching switching = {.preempts = 6e-5, .resumes = 4e-5};
  double looks = 0.1;  // s between two looks
  bool raises = true;  // whom others wait for, and who starves
};

// The write-ahead log. It is flushed for all who wait at once; who comes meanwhile waits for the
// next time. So commits wait longer the more there is to be written, as in any queue.
struct LogModel {
  double flush = 0;  // s that one takes; 0: there is none, and a commit waits by itself
};

struct ModelSpec {
  double cores = 2;
  double wobble = 0.085;   // of the machine's speed from one moment to the next: over 2 s,
  double flicker = 0.08;   // and over a twentieth of a second
  double neighbours = 1;   // speed while others use the machine, 15 s in 30 on average
  double drift = 0;        // of the machine's speed over minutes
  bool statements = true;  // pg_stat_statements is loaded
  bool told_apart = true;  // sessions of batch work are known as such
  int entries = 50;        // in the view of pg_stat_statements, each of which has to be read
  LogModel log = {};
  ForegroundModel foreground = {};
  BatchModel batch = {};
  YieldingModel yielding = {};
};

}  // namespace headgate::sim
