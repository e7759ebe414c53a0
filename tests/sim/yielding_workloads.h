// Models of a database beside which sessions of batch work yield the processor, as measured on two
// cores with pgbench as the foreground: docs/health.md.
//
// A transaction's need of a core has pgbench's own in it, and a job takes two milliseconds or so of
// a core beside the database for each chunk, whatever its rank there. `YieldingAs` makes the same
// of any other model.

#pragma once

#include "tests/sim/model_spec.h"
#include "tests/sim/workloads.h"

namespace headgate::sim {

inline ModelSpec YieldingAs(ModelSpec model, double rows = 1000) {
  model.yielding.works = true;
  model.batch.workers = 4;
  model.batch.rows = rows;
  model.batch.row = 3e-6;
  model.batch.client = 2.5e-3;
  model.batch.log_share = 0.02;
  model.batch.on_cpu = {.each = 0.2};
  return model;
}

// Eight clients, each as fast as it can.
inline ModelSpec YieldingClosed(double rows = 1000) {
  ModelSpec model = YieldingAs(ClosedLoop(), rows);
  model.foreground.cpu = 4.5e-4;
  model.foreground.outside = 3e-4;
  model.log.flush = 1e-3;
  return model;
}

// As many as come, a thousand a second.
inline ModelSpec YieldingOpen() {
  ModelSpec model = YieldingClosed();
  model.foreground.clients = 40;
  model.foreground.pace = 1000;
  return model;
}

inline ModelSpec YieldingReads() {
  ModelSpec model = YieldingAs(ReadOnly());
  model.foreground.cpu = 1.2e-4;
  model.foreground.outside = 5e-4;
  // One statement wakes up once, and a transaction of seven seven times.
  model.yielding.switching = {.preempts = 1.5e-5, .resumes = 1.5e-5};
  return model;
}

inline ModelSpec YieldingOneClient() {
  ModelSpec model = YieldingClosed();
  model.foreground.clients = 1;
  return model;
}

inline ModelSpec YieldingPeriodic(double seconds) {
  ModelSpec model = YieldingClosed();
  model.foreground.swing = 0.5;
  model.foreground.period = seconds;
  return model;
}

inline ModelSpec YieldingAnalytics() {
  ModelSpec model = YieldingClosed();
  model.foreground.analysts = 2;
  return model;
}

// Two clients, then 24 for a while, and two again.
inline ModelSpec YieldingRamp(double from, double until) {
  ModelSpec model = YieldingClosed();
  model.foreground.clients = 2;
  model.foreground.more_clients = 22;
  model.foreground.more_from = from;
  model.foreground.more_until = until;
  return model;
}

// Rows of the foreground's own table, on a machine that is saturated by 32 clients: of a given
// chunk at work three transactions in a thousand want a row.
inline ModelSpec YieldingSameRows(double rows = 20'000) {
  ModelSpec model = YieldingClosed(rows);
  model.foreground.clients = 32;
  model.foreground.outside = 5.5e-3;
  model.batch.lock_share = 0.003;
  return model;
}

}  // namespace headgate::sim
