#include "core/cost.h"

#include <algorithm>
#include <cmath>

namespace frazil::cost {
namespace {

constexpr double kSlot = 0.14;  // ns: two vector instructions a cycle at 3.6 GHz
constexpr double kVector = 64;  // bytes

// ns a byte, by where all that is touched fits.
constexpr double kNear = 0.010;  // the second-level cache
constexpr double kFar = 0.038;
constexpr double kFarthest = 0.052;
constexpr double kNearBytes = 2 << 20, kFarBytes = 64 << 20;

constexpr double kProduct = 0.0115;  // ns of f32, of matrices that fill their tiles

constexpr double kUpdate = 1;  // ns an element that an index puts somewhere

// Ops that take more than an instruction: how long their code is (f64: half as much again where a
// polynomial is), and the slots of a vector of f32 and of f64.
struct Row {
  int instructions;
  bool polynomial;
  double f32, f64;
};

Row RowOf(OpId op) {
  switch (op) {
    case OpId::k_exp:
      return {25, true, 18, 30};
    case OpId::k_expm1:
      return {25, true, 41, 49};
    case OpId::k_log:
      return {25, true, 43, 58};
    case OpId::k_log1p:
      return {25, true, 51, 75};
    case OpId::k_sin:
    case OpId::k_cos:
      return {25, true, 120, 455};
    case OpId::k_tan:
      return {25, true, 139, 610};
    case OpId::k_atan:
      return {25, true, 78, 93};
    case OpId::k_tanh:
      return {25, true, 27, 83};
    case OpId::k_erf:
      return {25, true, 30, 123};
    case OpId::k_log2:
    case OpId::k_log10:
      return {60, false, 190, 87};
    case OpId::k_asin:
    case OpId::k_acos:
      return {60, false, 169, 72};
    case OpId::k_sinh:
    case OpId::k_cosh:
      return {60, false, 168, 69};
    case OpId::k_asinh:
    case OpId::k_acosh:
    case OpId::k_atanh:
      return {100, false, 256, 115};
    case OpId::k_pow:
      return {80, false, 256, 239};
    case OpId::k_floor_divide:
    case OpId::k_remainder:
      return {20, false, 62, 76};
    case OpId::k_divide:
      return {4, false, 21, 37};
    case OpId::k_sqrt:
      return {4, false, 28, 56};
    case OpId::k_pad:
      return {6, false, 4, 4};
    case OpId::k_take:
      return {6, false, 4, 4};
    case OpId::k_sign:
      return {6, false, 6, 6};
    case OpId::k_argmax:
    case OpId::k_argmin:
      return {4, false, 10, 10};
    case OpId::k_max:
    case OpId::k_min:
    case OpId::k_maximum:
    case OpId::k_minimum:
      return {Info(op).klass == OpClass::kReduce ? 4 : 1, false, 3, 3};
    case OpId::k_random_bits:
      return {100, false, 100, 100};
    default:
      return Info(op).klass == OpClass::kReduce ? Row{4, false, 2, 2} : Row{1, false, 1, 1};
  }
}

bool IsDivision(OpId op) { return op == OpId::k_floor_divide || op == OpId::k_remainder; }

}  // namespace

int Instructions(OpId op, DType dtype) {
  const Row row = RowOf(op);
  const int round = IsHalf(dtype) ? 3 : 1;
  if (op == OpId::k_pow && !IsFloat(dtype)) return 5 * std::max(32, BitsOf(dtype));
  if (row.polynomial) return (dtype == DType::kF64 ? 40 : row.instructions) + round;
  if (op == OpId::k_divide || op == OpId::k_sqrt) return row.instructions + round;
  return row.instructions > 1 ? row.instructions : round;
}

double Slots(OpId op, DType dtype) {
  const Row row = RowOf(op);
  if (IsInt(dtype)) {
    if (op == OpId::k_pow) return 5.0 * std::max(32, BitsOf(dtype));
    if (IsDivision(op)) return BitsOf(dtype) == 64 ? 390 : 150;
  }
  return (dtype == DType::kF64 ? row.f64 : row.f32) + (IsHalf(dtype) ? 2 : 0);
}

double Elements(double count, double slots, int width) {
  return count * slots * double(width) / kVector * kSlot;
}

double Points(double count, double slots) { return count * slots * kSlot; }

double Bytes(double bytes, double footprint) {
  return bytes * (footprint <= kNearBytes ? kNear : footprint <= kFarBytes ? kFar : kFarthest);
}

double Copy(double bytes) { return Bytes(2 * bytes, 2 * bytes); }

double Overlapped(double compute, double memory) { return std::max(compute, memory); }

double Products(double count, DType dtype, bool native) {
  const int size = int(SizeOf(dtype));
  const double integers = size == 1 ? 0.15 : size == 2 ? 0.6 : size == 4 ? 2.5 : 4;
  const double each = native ? 0.2 : dtype == DType::kF64 ? 2 : IsInt(dtype) ? integers : 1;
  return double(kCall) + count * each * kProduct;
}

double Updates(double count) { return count * kUpdate; }

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

double Attention(double pairs, double depth, DType dtype) {
  return Products(pairs * depth, dtype) +
         Elements(pairs, Slots(OpId::k_exp, dtype) + 40, int(SizeOf(dtype)));
}

int64_t Whole(double time) {
  constexpr double kMost = 1e15;
  return static_cast<int64_t>(std::clamp(time, 1.0, kMost));
}

}  // namespace frazil::cost
