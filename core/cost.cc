#include "core/cost.h"

#include <algorithm>
#include <cmath>

namespace frazil::cost {
namespace {

constexpr double kVector = 64;  // bytes

const OpCost::Code& CodeOf(OpId op, DType dtype) {
  const OpCost& cost = Info(op).cost;
  if (IsFloat(dtype)) return dtype == DType::kF64 ? cost.f64 : cost.f32;
  return BitsOf(dtype) == 64 ? cost.wide : cost.narrow;
}

}  // namespace

int Instructions(OpId op, DType dtype) {
  return CodeOf(op, dtype).instructions + (Info(op).cost.rounds ? IsHalf(dtype) ? 3 : 1 : 0);
}

double Slots(OpId op, DType dtype) { return CodeOf(op, dtype).slots + (IsHalf(dtype) ? 2 : 0); }

double Elements(double count, double slots, int width) {
  return count * slots * double(width) / kVector * tuned::kSlot;
}

double Points(double count, double slots) { return count * slots * tuned::kSlot; }

double Bytes(double bytes, double footprint) {
  return bytes * (footprint <= tuned::kNearBytes  ? tuned::kNearByte
                  : footprint <= tuned::kFarBytes ? tuned::kFarByte
                                                  : tuned::kFarthestByte);
}

double Copy(double bytes) { return Bytes(2 * bytes, 2 * bytes); }

double Overlapped(double compute, double memory) { return std::max(compute, memory); }

double Products(double count, DType dtype, bool native) {
  const int size = int(SizeOf(dtype));
  const double integers = size == 1 ? 0.15 : size == 2 ? 0.6 : size == 4 ? 2.5 : 4;
  const double each = native ? 0.2 : dtype == DType::kF64 ? 2 : IsInt(dtype) ? integers : 1;
  return double(kCall) + count * each * tuned::kProduct;
}

double Updates(double count) { return count * tuned::kUpdate; }

double Put(double size, double updates, DType dtype) {
  return double(kCall) + Copy(size * SizeOf(dtype)) + Updates(updates);
}

double Positions(double size, double count) { return double(kCall) + 0.15 * size + 0.3 * count; }

double Sort(double size, double row) {
  return double(kCall) + 0.4 * size * std::log2(std::max(row, 2.0));
}

double Scan(double size, DType dtype) {
  return double(kCall) + Copy(size * SizeOf(dtype)) + 0.3 * size;
}

double Fourier(double size, double points, DType dtype) {
  const double butterflies = size * std::log2(std::max(points, 2.0));
  return double(kCall) + (SizeOf(dtype) > 8 ? 0.5 : 0.3) * butterflies;
}

double Sparse(double entries, double width, DType dtype) {
  return double(kCall) + entries * (0.8 + 0.03 * width * SizeOf(dtype));
}

double Attention(double pairs, double depth, DType dtype) {
  return Products(pairs * depth, dtype) +
         Elements(pairs, Slots(OpId::k_exp, dtype) + 40, int(SizeOf(dtype)));
}

int64_t Whole(double time) {
  constexpr double kMost = 1e15;
  return static_cast<int64_t>(std::clamp(time, 1.0, kMost));
}

}  // namespace frazil::cost
