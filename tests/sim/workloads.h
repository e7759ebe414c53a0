// The seven workloads of docs/control.md, as models.

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

}  // namespace headgate::sim
