// Loops and the order of reductions (core/SEMANTICS.md): 64 lanes along rows, 8 along columns.
//
// A row is a team's, at most a warp: thread t has the lanes t and t + 32, or 2 t and 2 t + 1 where
// two elements are accessed at once, and the halving tree runs through shuffles. Shuffles exchange:
// thread t + h computes what thread t does with the operands swapped, which gives the same bits,
// and so every thread ends with the result. A row of at most 2 T elements needs a team of T: the
// lanes that are missing would hold the identity.
#include "core/tuned.h"
#include "jit/emit/cuda/expr.h"
#include "jit/emit/cuda/printer.h"

namespace frazil::jit::cuda {

using kir::Id;
using kir::Inst;
using kir::Op;
using kir::ReduceKind;

namespace {}  // namespace

std::vector<Id> Printer::Reduces(Id loop, Id end) const {
  std::vector<Id> reduces;
  for (Id i = loop; i < end; ++i) {
    if (k_.body[i].op == Op::kReduce && needed_[i]) reduces.push_back(i);
  }
  return reduces;
}

bool Printer::Laned(const std::vector<Id>& reduces) const {
  for (Id r : reduces) {
    if (k_.body[r].lanes) return true;
  }
  return false;
}

Id Printer::Loop(Id loop) {
  Id end = loop;
  while (k_.body[end].op != Op::kEnd) ++end;
  bool needed = false;
  for (Id i = loop + 1; i < end; ++i) needed |= needed_[i];
  if (!needed) return end;
  // A scope for each loop, around its names; results are declared before it.
  const std::vector<Id> reduces = Reduces(loop, end);
  for (Id r : reduces) t_.Line(Type(r), " v", r, ";");
  t_.Open("");
  if (row_) {
    LoopOfRow(loop, end);
  } else if (column_) {
    LoopOfColumn(loop, end);
  } else {
    LoopOfThread(loop, end);
  }
  t_.Close();
  return end;
}

// first and last of the loop, or of chunk number `chunk`, as far as `text` has them.
void Printer::Bounds(const char* chunk, const std::string& text) {
  const std::string extent = Arg(CudaArg::kExtent, k_.rank);
  const bool last = HasWord(text, "last");
  if (last || HasWord(text, "first")) {
    t_.Line("const ", Index(),
            " first = ", chunk == nullptr ? "0" : StrCat(chunk, " * ", kir::kChunk), ";");
  }
  if (!last) return;
  t_.Line("const ", Index(), " last = ",
          chunk == nullptr ? extent : StrCat("fz_min(first + ", kir::kChunk, ", ", extent, ")"),
          ";");
}

// One thread does it all, its 8 lanes in registers.
void Printer::LoopOfThread(Id loop, Id end) {
  const std::vector<Id> reduces = Reduces(loop, end);
  const std::string j = StrCat("i", k_.rank), index = Index();
  Bounds(k_.chunked ? IndexName(0).c_str() : nullptr, "first last");
  const bool laned = Laned(reduces);
  for (Id r : reduces) {
    if (laned) {
      t_.Line(Type(r), " lanes", r, "[8];");
      t_.Line("FZ_UNROLL for (int e = 0; e < 8; ++e) lanes", r, "[e] = ", IdentityText(k_.body[r]),
              ";");
    } else {
      t_.Line(Type(r), " r", r, " = ", IdentityText(k_.body[r]), ";");
    }
  }
  Pass pass{.begin = loop + 1, .end = end, .in_loop = true, .axis = k_.rank};
  if (!laned) {
    t_.Open("FZ_UNROLL_BY(", tuned::kGpuUnroll, ") for (", index, " ", j, " = first; ", j,
            " < last; ++", j, ")");
    EmitPass(pass);
    t_.Close();
  } else {
    t_.Open("for (", index, " base = first; base < last; base += 8)");
    t_.Open("FZ_UNROLL for (int e = 0; e < 8; ++e)");
    t_.Line("const ", index, " ", j, " = base + e;");
    t_.Open("if (", j, " < last)");
    for (Id r : reduces) t_.Line(Type(r), "& r", r, " = lanes", r, "[e];");
    EmitPass(pass);
    t_.Close();
    t_.Close();
    t_.Close();
    t_.Open("FZ_UNROLL for (int h = 4; h > 0; h /= 2)");
    t_.Open("FZ_UNROLL for (int e = 0; e < h; ++e)");
    for (Id r : reduces) Combine(r, StrCat("lanes", r, "[e]"), StrCat("lanes", r, "[e + h]"));
    t_.Close();
    t_.Close();
  }
  for (Id r : reduces) Result(r, laned ? StrCat("lanes", r, "[0]") : StrCat("r", r));
}

// Eight threads, one a lane, for each of the block's neighbouring points.
void Printer::LoopOfColumn(Id loop, Id end) {
  const std::vector<Id> reduces = Reduces(loop, end);
  const std::string j = StrCat("i", k_.rank);
  Bounds(k_.chunked ? IndexName(0).c_str() : nullptr, "first last");
  for (Id r : reduces) {
    t_.Line("__shared__ ", Type(r), " lanes", r, "[", v_.threads, "];");
    t_.Line(Type(r), " r", r, " = ", IdentityText(k_.body[r]), ";");
    static_shared_ += v_.threads * SizeOf(k_.body[r].type);
  }
  t_.Open("FZ_UNROLL_BY(", tuned::kGpuUnroll, ") for (", Index(), " ", j, " = first + lane; ", j,
          " < last; ", j, " += 8)");
  EmitPass({.begin = loop + 1, .end = end, .in_loop = true, .axis = k_.rank});
  t_.Close();
  if (reduces.empty()) return;
  for (Id r : reduces) t_.Line("lanes", r, "[threadIdx.x] = r", r, ";");
  t_.Line("__syncthreads();");
  const int points = v_.threads / 8;
  for (Id r : reduces) {
    t_.Open("");
    t_.Line(Type(r), " all[8];");
    t_.Line("FZ_UNROLL for (int e = 0; e < 8; ++e) all[e] = lanes", r, "[e * ", points,
            " + (int)threadIdx.x % ", points, "];");
    t_.Open("FZ_UNROLL for (int h = 4; h > 0; h /= 2)");
    t_.Open("FZ_UNROLL for (int e = 0; e < h; ++e)");
    Combine(r, "all[e]", "all[e + h]");
    t_.Close();
    t_.Close();
    Result(r, "all[0]");
    t_.Close();
  }
}

void Printer::LoopOfRow(Id loop, Id end) {
  const std::vector<Id> reduces = Reduces(loop, end);
  lane_used_ = true;
  const bool across = v_.warps > 1;
  warp_used_ |= across;
  for (Id r : reduces) {
    const std::string identity = IdentityText(k_.body[r]);
    t_.Line(Type(r), " r", r, "[2] = {", identity, ", ", identity, "};");
    if (!across) continue;
    t_.Line("__shared__ ", Type(r), " part", r, "[", kPartials, "];");
    static_shared_ += kPartials * SizeOf(k_.body[r].type);
  }
  std::vector<Id> laned;
  for (Id r : reduces) {
    if (segments_ && k_.body[r].lanes) laned.push_back(r);
  }
  const std::string extent = Arg(CudaArg::kExtent, k_.rank);
  if (segments_) {
    t_.Open("for (", Index(), " chunk = warp; chunk * ", kir::kChunk, " < ", extent,
            "; chunk += ", v_.warps, ")");
  }
  const auto passes = [&] {
    RowPasses(loop, end, true);
    RowPasses(loop, end, false);
    if (!segments_) return RowResults(reduces);
    CombineLanes(laned);
    for (Id r : laned) {
      t_.Line("if (lane == 0) part", r, "[chunk] = r", r, "[0];");
      t_.Line("r", r, "[0] = r", r, "[1] = ", IdentityText(k_.body[r]), ";");
    }
  };
  const std::string text = t_.Capture(passes);
  Bounds(segments_ ? "chunk" : k_.chunked ? IndexName(0).c_str() : nullptr, text);
  t_.Append(text);
  if (!segments_) return;
  t_.Close();
  const std::string results = t_.Capture([&] { RowResults(reduces); });
  if (HasWord(results, "last")) t_.Line("const ", Index(), " last = ", extent, ";");
  t_.Append(results);
}

void Printer::RowResults(const std::vector<Id>& reduces) {
  CombineLanes(reduces);
  if (v_.warps > 1 && !reduces.empty()) CombineWarps(reduces);
  for (Id r : reduces) Result(r, StrCat("r", r, "[0]"));
}

// All passes of a warp over its row; `fill`: only loads what is held from this loop on.
void Printer::RowPasses(Id loop, Id end, bool fill) {
  bool fills = false, holds = false;
  for (Id i = loop + 1; i < end; ++i) {
    if (!needed_[i]) continue;
    fills |= made_[i] >= 0 && arrays_[made_[i]].load;
    holds |= made_[i] >= 0 || used_[i] >= 0;
  }
  if (fill && !fills) return;
  Pass pass{.begin = loop + 1, .end = end, .in_loop = true, .axis = k_.rank, .elements = 2};
  pass.step = v_.vec == 2 ? 1 : v_.team;
  pass.base = "base";
  pass.end_index = "last";
  pass.fill = fill;
  const std::string start = StrCat("first + lane", v_.vec == 2 ? " * 2" : "",
                                   v_.warps > 1 && !segments_ ? " + warp * 64" : "");
  if (holds && InRegisters()) {
    pass.slot = "k * 2 + e";
    if (v_.full) pass.end_index.clear();
    t_.Open("FZ_UNROLL for (int k = 0; k < ", v_.keep, "; ++k)");
    const std::string text = t_.Capture([&] { EmitPass(pass); });
    if (HasWord(text, pass.base)) t_.Line("const ", Index(), " base = ", start, " + k * 64;");
    t_.Append(text);
  } else {
    pass.slot = StrCat(pass.base, pass.step == 1 ? " + e" : StrCat(" + e * ", pass.step),
                       k_.chunked ? " - first" : "");
    pass.first_exists = true;
    t_.Open("FZ_UNROLL_BY(", fill ? tuned::kGpuFillUnroll : tuned::kGpuUnroll, ") for (", Index(),
            " base = ", start, "; base < last; base += ", segments_ ? 64 : 64 * v_.warps, ")");
    EmitPass(pass);
  }
  t_.Close();
}

// r[0] of each reduction becomes its result over the warp, in every thread.
void Printer::CombineLanes(const std::vector<Id>& reduces) {
  if (reduces.empty()) return;
  const bool pairs = v_.vec == 2;
  if (!pairs) {
    for (Id r : reduces) Combine(r, StrCat("r", r, "[0]"), StrCat("r", r, "[1]"));
  }
  t_.Open("FZ_UNROLL for (int h = ", v_.team / 2, "; h > 0; h /= 2)");
  for (Id r : reduces) {
    for (int e = 0; e <= int(pairs); ++e) {
      const std::string mine = StrCat("r", r, "[", e, "]");
      Combine(r, mine, StrCat("fz_exchange(", mine, ", h)"));
    }
  }
  t_.Close();
  if (!pairs) return;
  for (Id r : reduces) Combine(r, StrCat("r", r, "[0]"), StrCat("r", r, "[1]"));
}

// From the results of warps, or of chunks where their order matters, by the rule of 64 lanes.
void Printer::CombineWarps(const std::vector<Id>& reduces) {
  const auto chunks = [&](Id r) { return segments_ && k_.body[r].lanes; };
  for (Id r : reduces) {
    if (!chunks(r)) t_.Line("if (lane == 0) part", r, "[warp] = r", r, "[0];");
  }
  t_.Line("__syncthreads();");
  for (Id r : reduces) {
    const std::string identity = IdentityText(k_.body[r]);
    const std::string parts =
        chunks(r) ? StrCat("(last + ", kir::kChunk - 1, ") / ", kir::kChunk) : StrCat(v_.warps);
    for (int e = 0; e < 2; ++e) {
      const std::string at = e ? "lane + 32" : "lane";
      t_.Line("r", r, "[", e, "] = ", at, " < ", parts, " ? part", r, "[", at, "] : ", identity,
              ";");
    }
    Combine(r, StrCat("r", r, "[0]"), StrCat("r", r, "[1]"));
  }
  t_.Open("FZ_UNROLL for (int h = 16; h > 0; h /= 2)");
  for (Id r : reduces) Combine(r, StrCat("r", r, "[0]"), StrCat("fz_exchange(r", r, "[0], h)"));
  t_.Close();
}

void Printer::Combine(Id r, const std::string& target, const std::string& element) {
  t_.Line(target, " = ", CombineText(k_.body[r], target, element), ";");
}

// The identity of a float sum is -0, an empty sum is +0.
void Printer::Result(Id r, const std::string& value) {
  const Inst& inst = k_.body[r];
  const bool float_sum = IsFloat(inst.type) && ReduceKind(inst.imm) == ReduceKind::kSum;
  t_.Line("v", r, " = ",
          float_sum && !v_.full ? StrCat(segments_ ? "last > 0 ? " : "last > first ? ", value,
                                         " : ", ConstText(inst.type, 0))
                                : value,
          ";");
}

}  // namespace frazil::jit::cuda
