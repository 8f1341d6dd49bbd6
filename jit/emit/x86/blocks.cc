// Blocks: several neighbouring elements of each lane (rows of a few 32-bit elements, written out),
// read or written as rows and transposed in registers. AVX-512 only; elsewhere each column is
// gathered or scattered by itself.
#include <algorithm>

#include "core/check.h"
#include "jit/emit/x86/codegen.h"

namespace frazil::jit {

using kir::Inst;
using kir::kNone;
using kir::Stride;
namespace I = x86::Inst;

namespace {

constexpr int kSide = 16;
// Columns from which a block is cheaper than a gather for each, or a lane after another.
constexpr size_t kMinLoads = 5, kMinStores = 2;

}  // namespace

int64_t Codegen::DistanceOf(const Inst& inst) const {
  const Id offset = inst.op == Op::kStore ? inst.b : inst.a;
  return offset == kNone ? 0 : int64_t(k_.body[offset].imm);
}

// The loads or stores that one block serves, in order; empty if `id` is not worth one or not one of
// them.
std::vector<Codegen::Id> Codegen::BlockOf(Id id) const {
  const Inst& first = k_.body[id];
  const auto fits = [&](Id i) {
    const Inst& inst = k_.body[i];
    if (inst.op != first.op || inst.imm != first.imm) return false;
    if (info_[i].level != info_[id].level || info_[i].region != info_[id].region) return false;
    const Id offset = inst.op == Op::kStore ? inst.b : inst.a;
    const Id pred = inst.op == Op::kStore ? inst.c : inst.b;
    return pred == kNone && (offset == kNone || HasDistance(inst));
  };
  const kir::Buffer& buffer = k_.buffers[first.imm];
  if (!z_ || !space_ || v_ != kSide || repeats_ || info_[id].level < kPointLevel ||
      SizeOf(buffer.dtype) != 4 || buffer.strides[k_.rank - 1] != Stride::kAny || !fits(id)) {
    return {};
  }
  std::vector<Id> ids;
  int64_t low = DistanceOf(first), high = low;
  for (Id i = 0; i < Id(k_.body.size()); ++i) {
    if (!fits(i)) continue;
    ids.push_back(i);
    low = std::min(low, DistanceOf(k_.body[i]));
    high = std::max(high, DistanceOf(k_.body[i]));
  }
  const bool worth = ids.size() >= (first.op == Op::kLoad ? kMinLoads : kMinStores);
  return worth && high - low < kSide ? ids : std::vector<Id>();
}

Codegen::Gp Codegen::BlockBase(const std::vector<Id>& ids, bool in_loop, int64_t* low) {
  *low = DistanceOf(k_.body[ids[0]]);
  for (Id i : ids) *low = std::min(*low, DistanceOf(k_.body[i]));
  Place place = PlaceOf(int(k_.body[ids[0]].imm), in_loop);
  place.disp += *low * place.size;
  return Pointer(place);
}

// Column c of 16 rows, for those asked for.
std::vector<Codegen::Vec> Codegen::Transpose(const std::vector<Vec>& rows,
                                             const std::vector<bool>& wanted) {
  const auto two = [&](InstId op, const Vec& a, const Vec& b) {
    return a.isValid() ? MakeBytes(64, op, a, b.isValid() ? b : a) : Vec();
  };
  const auto lanes = [&](const Vec& a, const Vec& b, int which) {
    return MakeBytes(64, I::kIdVshuff32x4, a, b.isValid() ? b : a, which);
  };
  // Lane l of quads[g][c]: column 4 l + c of rows 4 g to 4 g + 3. Rows that are not there make what
  // nobody reads.
  Vec quads[4][4];
  for (int g = 0; g < 4; ++g) {
    const Vec* r = &rows[size_t(4 * g)];
    const Vec low01 = two(I::kIdVunpcklps, r[0], r[1]), high01 = two(I::kIdVunpckhps, r[0], r[1]);
    const Vec low23 = two(I::kIdVunpcklps, r[2], r[3]), high23 = two(I::kIdVunpckhps, r[2], r[3]);
    quads[g][0] = two(I::kIdVunpcklpd, low01, low23);
    quads[g][1] = two(I::kIdVunpckhpd, low01, low23);
    quads[g][2] = two(I::kIdVunpcklpd, high01, high23);
    quads[g][3] = two(I::kIdVunpckhpd, high01, high23);
  }
  std::vector<Vec> columns(kSide);
  for (int c = 0; c < 4; ++c) {
    for (int odd = 0; odd < 2; ++odd) {  // columns 4 l + c with l even or odd
      if (!wanted[size_t(4 * odd + c)] && !wanted[size_t(8 + 4 * odd + c)]) continue;
      const int pick = odd ? 0xDD : 0x88;
      const Vec a = lanes(quads[0][c], quads[1][c], pick);
      const Vec b = quads[2][c].isValid() ? lanes(quads[2][c], quads[3][c], pick) : a;
      if (wanted[size_t(4 * odd + c)]) columns[size_t(4 * odd + c)] = lanes(a, b, 0x88);
      if (wanted[size_t(8 + 4 * odd + c)]) columns[size_t(8 + 4 * odd + c)] = lanes(a, b, 0xDD);
    }
  }
  return columns;
}

Codegen::K Codegen::FirstLanes(int count) {
  K k = NewK();
  Gp bits = cc_.newUInt32();
  cc_.mov(bits, (1 << count) - 1);
  cc_.kmovw(k, bits);
  return k;
}

// All columns at once. Lanes that are off read the first row again.
void Codegen::LoadBlock(const std::vector<Id>& ids) {
  const int buffer = int(k_.body[ids[0]].imm);
  int64_t low = 0;
  const Gp base = BlockBase(ids, info_[ids[0]].region != 0, &low);
  std::vector<bool> wanted(kSide, false);
  int width = 0;
  for (Id i : ids) {
    const int column = int(DistanceOf(k_.body[i]) - low);
    wanted[size_t(column)] = true;
    width = std::max(width, column + 1);
  }
  const K columns = width < kSide ? FirstLanes(width) : K();
  Gp walk = cc_.newIntPtr(), stride = cc_.newInt64();
  cc_.mov(walk, base);
  cc_.mov(stride, StrideMem(buffer, k_.rank - 1));
  std::vector<Vec> rows;
  for (int lane = 0; lane < kSide; ++lane) {
    Gp at = walk;
    if (lane > 0) {
      cc_.add(walk, stride);
      if (masked_) {
        at = cc_.newIntPtr();
        cc_.mov(at, walk);
        cc_.cmp(tail_count_, lane);
        cc_.cmovle(at, base);
      }
    }
    Vec row = NewVec(64);
    if (width < kSide) cc_.k(columns).z();
    cc_.emit(I::kIdVmovups, row, x86::zmmword_ptr(at));
    rows.push_back(row);
  }
  const std::vector<Vec> made = Transpose(rows, wanted);
  for (Id i : ids) Set(i, made[size_t(DistanceOf(k_.body[i]) - low)]);
}

// Of every lane that is on, its row.
void Codegen::StoreBlock(const std::vector<Id>& ids) {
  const int buffer = int(k_.body[ids[0]].imm);
  int64_t low = 0;
  const Gp base = BlockBase(ids, info_[ids[0]].region != 0, &low);
  std::vector<Vec> columns(kSide);
  unsigned stored = 0;
  for (Id i : ids) {
    const int column = int(DistanceOf(k_.body[i]) - low);
    columns[size_t(column)] = R(k_.body[i].a);
    stored |= 1u << column;
  }
  // Columns between those that are stored.
  for (int c = kSide; c-- > 0;) {
    if (!columns[size_t(c)].isValid() && stored >> c) columns[size_t(c)] = columns[size_t(c) + 1];
  }
  const std::vector<Vec> rows = Transpose(columns, std::vector<bool>(kSide, true));
  K mask = NewK();
  Gp bits = cc_.newUInt32(), walk = cc_.newIntPtr(), stride = cc_.newInt64();
  cc_.mov(bits, int(stored));
  cc_.kmovw(mask, bits);
  cc_.mov(walk, base);
  cc_.mov(stride, StrideMem(buffer, k_.rank - 1));
  Label done = cc_.newLabel();
  for (int lane = 0; lane < kSide; ++lane) {
    if (lane > 0) {
      if (masked_) {
        cc_.cmp(tail_count_, lane);
        cc_.jle(done);
      }
      cc_.add(walk, stride);
    }
    cc_.k(mask).emit(I::kIdVmovups, x86::zmmword_ptr(walk), rows[size_t(lane)]);
  }
  cc_.bind(done);
}

}  // namespace frazil::jit
