// Blocks: several neighbouring elements of each lane (rows of a few 32-bit elements, written out),
// read or written as rows and transposed in registers. AVX-512 only; elsewhere each column is
// gathered or scattered by itself.
#include <algorithm>

#include "core/check.h"
#include "core/tuned.h"
#include "jit/emit/x86/codegen.h"

namespace frazil::jit {

using kir::Inst;
using kir::kNone;
using kir::Stride;
namespace I = x86::Inst;

namespace {

constexpr int kSide = 16;

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
    if (Of(i).level != Of(id).level || Of(i).region != Of(id).region) return false;
    const Id offset = inst.op == Op::kStore ? inst.b : inst.a;
    const Id pred = inst.op == Op::kStore ? inst.c : inst.b;
    return pred == kNone && (offset == kNone || HasDistance(inst));
  };
  const kir::Buffer& buffer = k_.buffers[first.imm];
  if (!z_ || !space_ || v_ != kSide || repeats_ || Of(id).level < kPointLevel ||
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
  const bool worth =
      ids.size() >= (first.op == Op::kLoad ? tuned::kMinBlockLoads : tuned::kMinBlockStores);
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

bool Codegen::HasBlocks() const {
  for (size_t i = 0; i < k_.body.size(); ++i) {
    const Op op = k_.body[i].op;
    if ((op == Op::kLoad || op == Op::kStore) && !BlockOf(Id(i)).empty()) return true;
  }
  return false;
}

// All columns at once. Lanes that are off read the first row again.
void Codegen::LoadBlock(const std::vector<Id>& ids) {
  const int buffer = int(k_.body[ids[0]].imm);
  int64_t low = 0;
  const Gp base = BlockBase(ids, Of(ids[0]).region != 0, &low);
  std::vector<bool> wanted(kSide, false);
  int width = 0;
  for (Id i : ids) {
    const int column = int(DistanceOf(k_.body[i]) - low);
    wanted[size_t(column)] = true;
    width = std::max(width, column + 1);
  }
  Gp walk = cc_.newIntPtr(), stride = cc_.newInt64();
  cc_.mov(walk, base);
  cc_.mov(stride, StrideMem(buffer, k_.rank - 1));
  const auto row_at = [&](int lane) {  // called for one after another
    if (lane == 0) return walk;
    cc_.add(walk, stride);
    if (!masked_) return walk;
    Gp at = cc_.newIntPtr();
    cc_.mov(at, walk);
    cc_.cmp(tail_count_, lane);
    cc_.cmovle(at, base);
    return at;
  };
  const std::vector<Vec> made =
      width == kSide / 2 ? LoadHalves(row_at) : Transpose(LoadRows(row_at, width), wanted);
  for (Id i : ids) Set(i, made[size_t(DistanceOf(k_.body[i]) - low)]);
}

std::vector<Codegen::Vec> Codegen::LoadRows(const std::function<Gp(int)>& row_at, int width) {
  const K columns = width < kSide ? FirstLanes(width) : K();
  std::vector<Vec> rows;
  for (int lane = 0; lane < kSide; ++lane) {
    const Gp at = row_at(lane);
    Vec row = NewVec(64);
    if (width < kSide) cc_.k(columns).z();
    cc_.emit(I::kIdVmovups, row, x86::zmmword_ptr(at));
    rows.push_back(row);
  }
  return rows;
}

// The eight columns of 16 rows of eight: a vector holds a row and the fourth after it, which takes
// no shuffle to load, and 24 shuffles do what takes 56 with a row a vector.
std::vector<Codegen::Vec> Codegen::LoadHalves(const std::function<Gp(int)>& row_at) {
  Vec quads[2][4];  // [rows 0 to 7, 8 to 15][column c, and c + 4, of four rows and four]
  for (int g = 0; g < 2; ++g) {
    std::vector<Vec> rows;
    for (int r = 0; r < 4; ++r) {
      rows.push_back(NewVec(64));
      cc_.emit(I::kIdVmovups, rows.back().ymm(), x86::ymmword_ptr(row_at(8 * g + r)));
    }
    for (int r = 0; r < 4; ++r) {
      const Mem fourth = x86::ymmword_ptr(row_at(8 * g + 4 + r));
      cc_.emit(I::kIdVinsertf32x8, rows[size_t(r)], rows[size_t(r)], fourth, 1);
    }
    Quads(rows.data(), quads[g]);
  }
  std::vector<Vec> columns;
  for (const int pick : {0x88, 0xDD}) {
    for (int c = 0; c < 4; ++c)
      columns.push_back(MakeBytes(64, I::kIdVshuff32x4, quads[0][c], quads[1][c], pick));
  }
  return columns;
}

// In each quarter of the vectors 4 x 4 elements transposed.
void Codegen::Quads(const Vec* rows, Vec* quads) {
  const Vec low01 = MakeBytes(64, I::kIdVunpcklps, rows[0], rows[1]);
  const Vec high01 = MakeBytes(64, I::kIdVunpckhps, rows[0], rows[1]);
  const Vec low23 = MakeBytes(64, I::kIdVunpcklps, rows[2], rows[3]);
  const Vec high23 = MakeBytes(64, I::kIdVunpckhps, rows[2], rows[3]);
  quads[0] = MakeBytes(64, I::kIdVunpcklpd, low01, low23);
  quads[1] = MakeBytes(64, I::kIdVunpckhpd, low01, low23);
  quads[2] = MakeBytes(64, I::kIdVunpcklpd, high01, high23);
  quads[3] = MakeBytes(64, I::kIdVunpckhpd, high01, high23);
}

// 16 rows of five to eight columns: [r][p] holds rows 8 p + r and 8 p + r + 4.
std::vector<Codegen::Vec> Codegen::HalfRows(const std::vector<Vec>& columns) {
  static constexpr int64_t kPick[2][8] = {{0, 1, 8, 9, 2, 3, 10, 11}, {4, 5, 12, 13, 6, 7, 14, 15}};
  Vec quads[2][4];  // [half of a row][row of four]
  for (int h = 0; h < 2; ++h) Quads(&columns[size_t(4 * h)], quads[h]);
  std::vector<Vec> rows;
  for (int p = 0; p < 2; ++p) {
    const Vec pick = MakeBytes(64, I::kIdVmovups, PoolBytes(kPick[p], 64));
    for (int r = 0; r < 4; ++r) {
      Vec d = NewVec(64);
      Copy(d, quads[0][r]);
      cc_.emit(I::kIdVpermt2q, d, pick, quads[1][r]);
      rows.push_back(d);
    }
  }
  return rows;
}

// Of every lane that is on, its row.
void Codegen::StoreBlock(const std::vector<Id>& ids) {
  const int buffer = int(k_.body[ids[0]].imm);
  int64_t low = 0;
  const Gp base = BlockBase(ids, Of(ids[0]).region != 0, &low);
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
  const bool halves = stored > 0xF && stored <= 0xFF;
  for (int c = 0; halves && c < 8; ++c) {
    if (!columns[size_t(c)].isValid()) columns[size_t(c)] = columns[size_t(c) - 1];
  }
  const std::vector<Vec> rows =
      halves ? HalfRows(columns) : Transpose(columns, std::vector<bool>(kSide, true));
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
    const bool upper = lane / 4 % 2;
    const Vec& row = rows[size_t(halves ? lane / 8 * 4 + lane % 4 : lane)];
    if (!halves) {
      cc_.k(mask).emit(I::kIdVmovups, x86::zmmword_ptr(walk), row);
    } else if (upper) {
      cc_.k(mask).emit(I::kIdVextractf32x8, x86::ymmword_ptr(walk), row, 1);
    } else {
      cc_.k(mask).emit(I::kIdVmovups, x86::ymmword_ptr(walk), row.ymm());
    }
  }
  cc_.bind(done);
}

}  // namespace frazil::jit
