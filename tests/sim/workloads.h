// The seven workloads of docs/health.md, as models.

#pragma once

#include "tests/sim/model_spec.h"

namespace headgate::sim {

// w1: updates of 10,000 rows of the table that the foreground writes to.
inline ModelSpec SameTable() {
  ModelSpec model;
  model.batch.on_commit = {.each = 0.82, .square = 0.38};
  return model;
}

// w2: the same in chunks of 1,000 rows.
inline ModelSpec SmallChunks() {
  ModelSpec model;
  model.batch.cpu = 0.006;
  model.batch.on_commit = {.each = 0.9, .square = 0.05};
  return model;
}

// w3: sequential scans, the foreground reads only.
inline ModelSpec Scans() {
  ModelSpec model;
  model.foreground.cpu = 3e-4;
  model.foreground.commit = 0;
  model.foreground.outside = 1e-4;
  model.foreground.statements = 1;
  model.batch.cpu = 0.03;
  model.batch.on_cpu = {.each = 0.05};
  return model;
}

// w4: updates of another table.
inline ModelSpec OtherTable() {
  ModelSpec model;
  model.batch.on_commit = {.each = 0.35, .square = 0.02};
  return model;
}

// w5: w1's batch, and a foreground that comes at its own pace.
inline ModelSpec Paced() {
  ModelSpec model = SameTable();
  model.foreground.pace = 800;
  return model;
}

// w6: no foreground.
inline ModelSpec NoForeground() {
  ModelSpec model = SameTable();
  model.foreground.clients = 0;
  return model;
}

// w7: w1, with a foreground that comes and goes every 10 s.
inline ModelSpec ComesAndGoes() {
  ModelSpec model = SameTable();
  model.foreground.present = model.foreground.absent = 10;
  return model;
}

// From here on latency follows load: commits queue for a log, and chunks of 8 ms go between.

// Eight clients, each as fast as it can.
inline ModelSpec ClosedLoop() {
  ModelSpec model;
  model.log.flush = 4e-4;
  model.batch.cpu = 0.006;
  return model;
}

// As many as come, a thousand a second.
inline ModelSpec OpenLoop() {
  ModelSpec model = ClosedLoop();
  model.foreground.clients = 40;
  model.foreground.pace = 1000;
  return model;
}

inline ModelSpec ReadOnly() {
  ModelSpec model = ClosedLoop();
  model.foreground.commit = 0;
  model.foreground.cpu = 1e-4;
  model.foreground.outside = 1e-4;
  model.foreground.statements = 1;
  return model;
}

inline ModelSpec OneClient() {
  ModelSpec model = ClosedLoop();
  model.foreground.clients = 1;
  return model;
}

// Its need of a core rises and falls by half.
inline ModelSpec Periodic(double seconds) {
  ModelSpec model = ClosedLoop();
  model.foreground.swing = 0.5;
  model.foreground.period = seconds;
  return model;
}

// Two sessions of the same role run queries of half a second.
inline ModelSpec Analytics() {
  ModelSpec model = ClosedLoop();
  model.foreground.analysts = 2;
  return model;
}

// Batch work beside it that does not ask, and is not told apart either.
inline ModelSpec UnaskedNeighbour() {
  ModelSpec model = ClosedLoop();
  model.batch.unasked = 1;
  return model;
}

// Another server on the machine takes half of it by turns.
inline ModelSpec NoisyMachine() {
  ModelSpec model = ClosedLoop();
  model.neighbours = 0.5;
  return model;
}

inline ModelSpec LongChunks() {
  ModelSpec model = ClosedLoop();
  model.batch.cpu = 3;
  model.batch.log_share = 0.005;
  return model;
}

inline ModelSpec DriftingMachine() {
  ModelSpec model = ClosedLoop();
  model.drift = 0.2;
  return model;
}

inline ModelSpec ManyStatements() {
  ModelSpec model = ClosedLoop();
  model.entries = 5000;
  return model;
}

}  // namespace headgate::sim
