// Waits of Abseil's, and with them all of gRPC's timers, by the monotonic clock.
//
// Abseil waits until a time of the wall clock, with FUTEX_CLOCK_REALTIME. gRPC, which knows its
// times by the monotonic clock, turns them into such ones before it waits: where the wall clock is
// then set back by an hour, its timers go off an hour late, those of alarms, of deadlines, of
// connections that are idle, old or silent, and of attempts to connect. A server that is told to
// stop would wait for that.
//
// So this program has its own `syscall`, the function of the C library that Abseil calls: such a
// wait becomes one for the time that is left, by the monotonic clock. It is looked at anew after a
// second at most, as gRPC does with each wait that ends early. Everything else goes through as it
// is. docs/adr/0036 has the reasons.
//
//   app::WaitByTheMonotonicClock();  // before the first thread

#pragma once

namespace headgate::app {

// From now on. Harmless if repeated.
void WaitByTheMonotonicClock();

}  // namespace headgate::app
