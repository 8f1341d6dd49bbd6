// The cost model: about how long work takes on one thread, in nanoseconds. Asked by everybody who
// decides by time: which nodes become one kernel (jit/graph/fuse), which values are computed twice
// (jit/graph/duplicate), how many threads share a kernel, a list or an update (jit/run,
// kernels), which branches run side by side, when the host's lock is let go. Invariant: an estimate
// depends on ops, dtypes and extents alone, never on a clock or the machine, so that the same graph
// becomes the same plan everywhere. The numbers: core/tuned.def; how they were measured:
// docs/decisions.md.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "core/op.h"
#include "core/tuned.h"

namespace frazil::cost {

// What threads, the host's lock and steps cost.
using tuned::kCall, tuned::kGatherSlots, tuned::kGpuLaunch, tuned::kInterrupted, tuned::kLaunch,
    tuned::kLong, tuned::kMoveSlots, tuned::kPart, tuned::kShared, tuned::kShortLock,
    tuned::kTurnSlots, tuned::kUninterrupted, tuned::kWake, tuned::kWorthSharing;

// Instructions that an op becomes for each element or vector of elements: how long code grows.
int Instructions(OpId op, DType dtype);

// Time of an op on a vector of 64 bytes, in the time of an addition.
double Slots(OpId op, DType dtype);

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
double Fourier(double size, double points, DType dtype);  // transforms of `points`, together `size`
// Products of `entries` of a sparse matrix and rows of `width` elements.
double Sparse(double entries, double width, DType dtype);
double Attention(double pairs, double depth, DType dtype);

// An estimate as a whole number, which is at least 1.
int64_t Whole(double time);

}  // namespace frazil::cost
