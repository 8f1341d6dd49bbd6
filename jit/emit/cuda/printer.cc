#include "jit/emit/cuda/printer.h"

#include <algorithm>

#include "core/check.h"
#include "jit/emit/cuda/expr.h"

namespace frazil::jit::cuda {
namespace {

using kir::Id;
using kir::Inst;
using kir::Kernel;
using kir::kNone;
using kir::Op;

constexpr size_t kMaxName = 60;

// FNV-1a: the same in every process.
uint64_t Hash(std::string_view bytes, uint64_t hash) {
  for (unsigned char c : bytes) hash = (hash ^ c) * 0x100000001b3u;
  return hash;
}

bool HasLanes(const Kernel& kernel) {
  for (const Inst& inst : kernel.body) {
    if (inst.op == Op::kReduce && inst.lanes) return true;
  }
  return false;
}

// Teams follow from the kernel's lanes.
CudaVariant Suited(const Kernel& kernel, CudaVariant v) {
  if (kernel.has_loop && kernel.vec == kir::VecAxis::kLoop) {
    if (v.team < 4) v.team = 32;
    v.vec = std::min<uint8_t>(v.vec, 2);
    // Where chunks are points there is nothing to cut between warps.
    if (kernel.chunked && HasLanes(kernel)) v.warps = 1;
    if (kernel.long_rows) v.warps = std::max<uint8_t>(v.warps, 2);
    if (v.warps > 1) {
      v.team = 32;
      v.threads = uint16_t(32 * v.warps);
    }
  } else {
    if (v.team != 8 || !kernel.has_loop) v.team = 1;
    v.warps = 1;
    v.keep = 0;
    if (kernel.has_loop) v.vec = 1;
  }
  if (!v.keep) v.keep_shared = false;
  if (!v.keep || v.keep_shared) v.full = false;
  return v;
}

}  // namespace

Printer::Printer(const Kernel& kernel, Kernel legal, const kir::LegalMap& map,
                 const CudaVariant& variant, absl::Span<const std::string> lines)
    : k_(std::move(legal)),
      v_(variant),
      lines_(lines),
      map_(map),
      row_(variant.team > 1 && k_.vec == kir::VecAxis::kLoop),
      column_(variant.team > 1 && !row_),
      made_(k_.body.size(), -1),
      used_(k_.body.size(), -1) {
  segments_ = row_ && v_.warps > 1 && HasLanes(k_);
  name_ = EntryName(kernel);
  if (v_.keep) FindArrays(kernel, map);
  FindNeeded();
}

std::string Printer::EntryName(const Kernel& kernel) const {
  std::string_view base = kernel.name;
  if (base.substr(0, 2) == "k_") base.remove_prefix(2);
  uint64_t hash = Hash(v_.Text(), kir::ContentHash(kernel));
  for (const std::string& line : lines_) hash = Hash(line, hash);
  const std::string digits = StrCat(absl::Hex(hash & 0xffffffffu, absl::kZeroPad8));
  return StrCat("frazil_", base.substr(0, kMaxName), "_", digits);
}

StatusOr<CudaSource> Printer::Run() {
  out_.variant = v_;
  out_.threads = v_.threads;
  out_.rank = k_.rank;
  out_.axes = k_.axes();
  Id begin = 0;
  for (Id end = 0; end <= Id(k_.body.size()); ++end) {
    if (end < Id(k_.body.size()) && k_.body[end].op != Op::kBarrier) continue;
    Entry(begin, end);
    begin = end + 1;
  }
  if (!arrays_.empty() && v_.keep_shared) {
    const int rows = v_.threads / (v_.team * v_.warps);
    out_.shared_bytes = int(rows * held_bytes_ * v_.keep * 64);
  }
  out_.static_shared_bytes = int(static_shared_);
  const std::string entries = t_.Take();
  Struct();
  out_.text = t_.Take() + entries;
  FZ_RETURN_IF_ERROR(CheckSizes());
  return std::move(out_);
}

Status Printer::CheckSizes() const {
  if (out_.args_bytes > kCudaArgBytes) {
    return NotImplementedError("[cuda] ", k_.name, " has ", out_.args_bytes,
                               " bytes of arguments, a launch takes ", kCudaArgBytes, ".");
  }
  if (static_shared_ > kCudaSharedUnasked) {
    return NotImplementedError("[cuda] ", k_.name, " reduces through ", static_shared_,
                               " bytes of shared memory, ", kCudaSharedUnasked, " are there.");
  }
  return absl::OkStatus();
}

// Values that legalisation has moved out of loops are not held.
void Printer::FindArrays(const Kernel& kernel, const kir::LegalMap& map) {
  std::vector<Id> loop_of(k_.body.size(), kNone);
  Id open = kNone;
  for (Id i = 0; i < Id(k_.body.size()); ++i) {
    if (k_.body[i].op == Op::kLoop) open = i;
    if (k_.body[i].op == Op::kEnd) open = kNone;
    loop_of[i] = open;
  }
  const HeldValues held = FindHeld(kernel);
  held_bytes_ = held.bytes;
  for (const Held& h : held.values) {
    const Id made = map.to[h.made];
    if (loop_of[made] == kNone) continue;
    made_[made] = int(arrays_.size());
    arrays_.push_back({loop_of[made], made, h.offset, h.load});
    for (Id use : h.uses) {
      if (loop_of[map.to[use]] != kNone) used_[map.to[use]] = made_[made];
    }
  }
}

// What stores and reductions need, and what is held for a later loop.
void Printer::FindNeeded() {
  needed_.assign(k_.body.size(), false);
  read_ = needed_;
  for (Id i = Id(k_.body.size()) - 1; i >= 0; --i) {
    const Inst& inst = k_.body[i];
    if (inst.op == Op::kStore) needed_[i] = true;
    if (used_[i] >= 0 && needed_[i]) needed_[arrays_[used_[i]].made] = true;
    if (!needed_[i] || used_[i] >= 0) continue;
    for (Id operand : {inst.a, inst.b, inst.c}) {
      if (operand != kNone) needed_[operand] = read_[operand] = true;
    }
  }
}

// One phase as one function.
void Printer::Entry(Id begin, Id end) {
  const std::string entry =
      out_.entries.empty() ? name_ : StrCat(name_, "_phase", out_.entries.size());
  out_.entries.push_back(entry);
  index_used_.assign(k_.axes(), false);
  lane_used_ = warp_used_ = shared_used_ = false;
  loaded_.assign(k_.buffers.size(), false);
  stored_ = mixed_ = loaded_;
  for (Id i = begin; i < end; ++i) {
    const Inst& inst = k_.body[i];
    if (inst.op == Op::kLoad) loaded_[inst.imm] = true;
    if (inst.op == Op::kStore) {
      if (inst.b != kNone || inst.c != kNone) mixed_[inst.imm] = true;
      stored_[inst.imm] = true;
    }
  }
  for (size_t b = 0; b < mixed_.size(); ++b) mixed_[b] = mixed_[b] || (loaded_[b] && stored_[b]);
  t_.Mark("");
  if (!lines_.empty()) t_.Directive("#line 1 \"", name_, ".cu\"");
  t_.Open("extern \"C\" __global__ void __launch_bounds__(", v_.threads, ") ", entry, "(const ",
          name_, "_args args)");
  const int block_points = v_.threads / (v_.team * v_.warps);
  if (!v_.narrow) {
    t_.Open("for (i64 tile = blockIdx.x; tile * ", block_points, " < ", Arg(CudaArg::kPoints, 0),
            "; tile += gridDim.x)");
  }
  if (lines_.size() == 1) t_.Mark(lines_[0]);
  const std::string body = t_.Capture([&] { Body(begin, end); });
  t_.Mark(lines_.size() == 1 ? lines_[0] : "");
  Point();
  t_.Append(body);
  if (!v_.narrow) {
    if (column_ || v_.warps > 1) t_.Line("__syncthreads();");
    t_.Close();
  }
  t_.Close();
}

void Printer::Body(Id begin, Id end) {
  if (!k_.has_loop) {
    const int last = k_.rank - 1;
    Pass pass{.begin = begin, .end = end, .axis = last, .elements = v_.vec};
    if (v_.vec > 1) pass.base = "column";
    EmitPass(pass);
    return;
  }
  for (const Array& a : arrays_) {
    if (a.made < begin || a.made >= end || !needed_[a.made]) continue;
    const std::string_view type = Type(a.made);
    if (InRegisters()) {
      t_.Line(type, " h", a.made, "[", 2 * v_.keep, "];");
      continue;
    }
    const int rows = v_.threads / (v_.team * v_.warps);
    const int64_t row_bytes = held_bytes_ * v_.keep * 64;
    shared_used_ = true;
    warp_used_ |= rows > 1;
    t_.Line(type, "* const h", a.made, " = (", type, "*)((char*)fz_shared + ",
            rows > 1 ? StrCat("warp * ", row_bytes, " + ") : std::string(), a.offset * v_.keep * 64,
            ");");
  }
  for (Id i = begin; i < end; ++i) {
    if (k_.body[i].op == Op::kLoop) {
      i = Loop(i);
      continue;
    }
    Id stop = i;
    while (stop < end && k_.body[stop].op != Op::kLoop) ++stop;
    EmitPass({.begin = i, .end = stop, .axis = k_.rank - 1});
    i = stop - 1;
  }
}

// The indices of the thread's point, as far as the body asks for them.
void Printer::Point() {
  const std::string index = Index(), points = Arg(CudaArg::kPoints, 0);
  const std::string tile = v_.narrow ? "(int)blockIdx.x" : "tile";
  const char* leave = v_.narrow ? "return" : "continue";
  const int block_points = v_.threads / (v_.team * v_.warps);
  int outermost = 0;
  while (outermost < k_.rank && !index_used_[outermost]) ++outermost;
  if (shared_used_) t_.Line("extern __shared__ uint4 fz_shared[];");
  if (row_ && lane_used_) t_.Line("const int lane = (int)threadIdx.x % ", v_.team, ";");
  if (row_ && (warp_used_ || block_points > 1))
    t_.Line("const int warp = (int)threadIdx.x / ", v_.team, ";");
  if (column_) {
    t_.Line("const int lane = (int)threadIdx.x / ", block_points, ";");
    t_.Line(index, " point = ", tile, " * ", block_points, " + (int)threadIdx.x % ", block_points,
            ";");
    // Threads without a point keep step with the others at one of theirs.
    t_.Line("const bool live = point < ", points, ";");
    t_.Line("if (!live) point = 0;");
  } else if (block_points == 1) {
    if (outermost < k_.rank) t_.Line("const ", index, " point = ", tile, ";");
  } else {
    t_.Line("const ", index, " point = ", tile, " * ", block_points, " + ",
            row_ ? "warp" : "(int)threadIdx.x", ";");
    t_.Line("if (point >= ", points, ") ", leave, ";");
  }
  std::string rest = "point";
  for (int axis = k_.rank - 1; axis >= outermost; --axis) {
    const bool vector = axis == k_.rank - 1 && v_.vec > 1 && v_.team == 1;
    const std::string name = vector ? "column" : StrCat("i", axis);
    const std::string times = vector ? StrCat(" * ", v_.vec) : "";
    if (axis == 0) {
      t_.Line("const ", index, " ", name, " = ", rest, times, ";");
      break;
    }
    const std::string columns = Arg(CudaArg::kColumns, axis), next = StrCat("rest", axis);
    if (v_.narrow) {
      t_.Line("const int ", next, " = fz_quotient(", rest, ", ", Arg(CudaArg::kMagic, axis), ", ",
              Arg(CudaArg::kShift, axis), ");");
    } else {
      t_.Line("const i64 ", next, " = ", rest, " / ", columns, ";");
    }
    if (index_used_[axis]) {
      const std::string remainder = StrCat(rest, " - ", next, " * ", columns);
      t_.Line("const ", index, " ", name, " = ", vector ? StrCat("(", remainder, ")") : remainder,
              times, ";");
    }
    rest = next;
  }
}

std::string Printer::IndexName(int axis) {
  index_used_[axis] = true;
  return StrCat("i", axis);
}

// The name of a field, which is there once asked for.
std::string Printer::Arg(CudaArg::Kind kind, int index, int axis) {
  CudaArg arg{kind, 8, int16_t(index), int16_t(axis)};
  std::string name;
  switch (kind) {
    case CudaArg::kAddress:
      name = StrCat("p_", k_.buffers[index].name);
      break;
    case CudaArg::kExtent:
      name = StrCat("n", index);
      break;
    case CudaArg::kStride:
      name = StrCat("st_", k_.buffers[index].name, "_", axis);
      break;
    case CudaArg::kScalar:
      name = StrCat("s_", k_.scalars[index].name);
      break;
    case CudaArg::kPoints:
      name = "points";
      break;
    case CudaArg::kColumns:
      name = StrCat("columns", index);
      break;
    case CudaArg::kMagic:
      name = StrCat("magic", index);
      break;
    case CudaArg::kShift:
      name = StrCat("shift", index);
      break;
  }
  if (kind == CudaArg::kScalar) {
    arg.bytes = SizeOf(k_.scalars[index].dtype) == 8 ? 8 : 4;
  } else if (kind == CudaArg::kMagic || kind == CudaArg::kShift ||
             (v_.narrow && kind != CudaArg::kAddress)) {
    arg.bytes = 4;
  }
  const auto same = [&](const CudaArg& a) {
    return a.kind == kind && a.index == arg.index && a.axis == arg.axis;
  };
  if (std::none_of(out_.args.begin(), out_.args.end(), same)) out_.args.push_back(arg);
  return StrCat("args.", name);
}

void Printer::Struct() {
  std::stable_sort(out_.args.begin(), out_.args.end(),
                   [](const CudaArg& a, const CudaArg& b) { return a.bytes > b.bytes; });
  t_.Open("struct ", name_, "_args");
  for (const CudaArg& arg : std::vector<CudaArg>(out_.args)) {
    const std::string name = Arg(arg.kind, arg.index, arg.axis).substr(5);
    std::string type = arg.bytes == 8 ? "i64" : "int";
    if (arg.kind == CudaArg::kScalar || arg.kind == CudaArg::kMagic || arg.kind == CudaArg::kShift)
      type = arg.bytes == 8 ? "u64" : "u32";
    if (arg.kind == CudaArg::kAddress) {
      const kir::Buffer& b = k_.buffers[arg.index];
      type = StrCat(b.out ? "" : "const ", TypeText(b.dtype), "*");
    }
    t_.Line(type, " ", name, ";");
    out_.args_bytes += arg.bytes;
  }
  out_.args_bytes = (out_.args_bytes + 7) / 8 * 8;
  t_.Close("};");
}

void Printer::MarkLine(Id i) {
  if (lines_.empty()) return;
  t_.Mark(lines_.size() == 1 ? lines_[0] : lines_[map_.from[i]]);
}

std::string_view Printer::Type(Id id) const { return TypeText(k_.body[id].type); }

StatusOr<CudaSource> PrintCuda(const Kernel& kernel, const CudaVariant& variant,
                               absl::Span<const std::string> lines) {
  FZ_RETURN_IF_ERROR(Verify(kernel));
  if (kernel.has_repeat()) return NotImplementedError("[cuda] ", kernel.name, " has a repeat.");
  FZ_CHECK(lines.size() <= 1 || lines.size() == kernel.body.size());
  kir::LegalMap map;
  FZ_ASSIGN_OR_RETURN(Kernel legal, kir::Legalize(kernel, {.lookup = true}, &map));
  return Printer(kernel, std::move(legal), map, Suited(kernel, variant), lines).Run();
}

}  // namespace frazil::jit::cuda
