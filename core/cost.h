// The cost model: about how long work takes on one thread, in nanoseconds. Asked by everybody who
// decides by time: which nodes become one kernel (jit/graph/fuse), which values are computed twice
// (jit/graph/duplicate), how many threads share a kernel, a list or an update (jit/run,
// kernels), which branches run side by side, when the host's lock is let go. Invariant: an estimate
// depends on ops, dtypes and extents alone, never on a clock or the machine, so that the same graph
// becomes the same plan everywhere. How the numbers were measured: docs/decisions.md.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "core/op.h"

namespace frazil::cost {

// --- threads
inline constexpr int64_t kWorthSharing = 8'000;  // less than this stays on one thread
inline constexpr int64_t kPart = 2'000;          // what a thread is given at a time, at least
inline constexpr int64_t kWake = 5'000;          // until other threads that slept work
inline constexpr double kShared = 0.95;          // useful part of the time of threads that share

// --- the host
inline constexpr int64_t kLong =
    60'000;  // from here on its lock is let go (core/threads/long_work.h)
// For so long any plan may keep it in order to overwrite what cells hold.
inline constexpr int64_t kShortLock = 4'000'000;
// What overwrites an operand cannot be abandoned half-way: longer than this nothing may take.
inline constexpr int64_t kUninterrupted = 60'000'000;
inline constexpr int64_t kInterrupted = 3'000'000;  // a part of what may be abandoned, at most

// --- a step of a plan, whatever it does
inline constexpr int64_t kLaunch = 60;
inline constexpr int64_t kCall = 300;         // of a library
inline constexpr int64_t kGpuLaunch = 4'000;  // queueing it

// Instructions that an op becomes for each element or vector of elements: how long code grows.
int Instructions(OpId op, DType dtype);

// Time of an op on a vector of 64 bytes, in the time of an addition.
double Slots(OpId op, DType dtype);
inline constexpr double kMoveSlots = 1;    // a load or a store of a vector
inline constexpr double kTurnSlots = 4;    // of short rows, transposed in registers
inline constexpr double kGatherSlots = 2;  // of one element, by its own address

// `slots` on each of `count` elements, in lanes of `width` bytes.
double Elements(double count, double slots, int width);
// `slots` once for each of `count` points that no vector takes together.
double Points(double count, double slots);

// Moving `bytes`, where all that the work touches is `footprint` bytes.
double Bytes(double bytes, double footprint);

// Reading `bytes` and writing as many.
double Copy(double bytes);

// Work that computes while it waits for memory.
double Overlapped(double compute, double memory);

// --- library calls: products and sums of a matrix product or convolution; an update of `updates`
// of `size` elements; attention between pairs of positions of `depth` elements, q's and v's;
// `native`: bfloat16 under that precision.
double Products(double count, DType dtype, bool native = false);
double Put(double size, double updates, DType dtype);
double Updates(double count);                 // of it, without the copy
double Positions(double size, double count);  // of `count` elements of a mask
double Sort(double size, double row);         // of rows
double Scan(double size, DType dtype);
double Attention(double pairs, double depth, DType dtype);

// An estimate as a whole number, which is at least 1.
int64_t Whole(double time);

}  // namespace frazil::cost
