#include "jit/emit/interp/interp.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <vector>

#include "core/check.h"
#include "jit/emit/interp/block.h"
#include "jit/kir/legalize.h"

namespace frazil::jit {
namespace {

using kir::Id;
using kir::Inst;
using kir::Kernel;
using kir::kNone;
using kir::Op;

constexpr int kBlock = 256;

// One execution of a kernel over a range.
class Machine {
 public:
  Machine(const Kernel& kernel, const kir::KernelArgs& args)
      : k_(kernel),
        args_(args),
        lane_axis_(kernel.vec == kir::VecAxis::kLoop ? kernel.rank : kernel.rank - 1),
        slot_((kernel.vec == kir::VecAxis::kNone ? 1 : kBlock) * 8),
        index_(kernel.axes(), 0),
        values_(kernel.body.size() * slot_) {
    CheckStrides();
  }

  void Run(int64_t row_begin, int64_t row_end, int64_t col_begin, int64_t col_end) {
    Id begin = 0;
    for (Id end = 0; end <= Id(k_.body.size()); ++end) {
      if (end < Id(k_.body.size()) && k_.body[end].op != Op::kBarrier) continue;
      RunPhase(begin, end, row_begin, row_end, col_begin, col_end);
      begin = end + 1;
    }
  }

 private:
  // Strides keep the promise of their class on every axis along which the address moves.
  void CheckStrides() const {
    for (size_t b = 0; b < k_.buffers.size(); ++b) {
      for (int axis = 0; axis < k_.axes(); ++axis) {
        const kir::Stride known = k_.buffers[b].strides[axis];
        if (args_.extents[axis] <= 1 || known == kir::Stride::kAny) continue;
        FZ_CHECK(StrideOf(b, axis) ==
                 (known == kir::Stride::kOne ? SizeOf(k_.buffers[b].dtype) : 0));
      }
    }
  }

  void RunPhase(Id begin, Id end, int64_t row_begin, int64_t row_end, int64_t col_begin,
                int64_t col_end) {
    const int columns = k_.vec == kir::VecAxis::kSpace ? kBlock : 1;
    for (int64_t row = row_begin; row < row_end; ++row) {
      int64_t rest = row;
      for (int axis = k_.rank - 2; axis >= 0; --axis) {
        index_[axis] = rest % args_.extents[axis];
        rest /= args_.extents[axis];
      }
      for (int64_t col = col_begin; col < col_end; col += columns) {
        index_[k_.rank - 1] = col;
        n_ = int(std::min<int64_t>(columns, col_end - col));
        for (Id i = begin; i < end; ++i) {
          if (k_.body[i].op == Op::kLoop)
            i = RunLoop(i);
          else if (k_.body[i].op == Op::kRepeat)
            i = RunRepeat(i);
          else
            Step(i);
        }
      }
    }
  }

  // Runs the loop that instruction `loop` opens; the number of its end.
  Id RunLoop(Id loop) {
    Id end = loop;
    while (k_.body[end].op != Op::kEnd) ++end;
    const int64_t extent = args_.extents[k_.rank];
    const int64_t first = k_.chunked ? index_[0] * kir::kChunk : 0;
    const int64_t last = k_.chunked ? std::min(first + kir::kChunk, extent) : extent;
    const bool across = k_.vec == kir::VecAxis::kLoop;
    const int points = n_;
    if (across) SpreadOperands(loop, end, int(std::clamp<int64_t>(last - first, 0, kBlock)));
    std::vector<std::vector<uint64_t>> lanes(end - loop);
    for (Id i = loop; i < end; ++i) {
      const Inst& inst = k_.body[i];
      if (inst.op != Op::kReduce) continue;
      FZ_CHECK(inst.lanes == 0 || last - first <= kir::kChunk || k_.long_rows);
      lanes[i - loop].resize(interp::LanesOf(inst) * points);
      interp::StartReduce(inst, lanes[i - loop].data(), points);
    }
    const bool in_chunks = k_.long_rows && last > kir::kChunk;
    std::vector<std::vector<std::byte>> chunks(end - loop);  // results of chunks
    in_loop_ = true;
    for (int64_t j = first; j < last; j += across ? kBlock : 1) {
      index_[k_.rank] = j;
      if (in_chunks && j > 0 && j % kir::kChunk == 0) EndChunk(loop, end, &lanes, &chunks);
      if (across) n_ = int(std::min<int64_t>(kBlock, last - j));
      for (Id i = loop + 1; i < end; ++i) {
        const Inst& inst = k_.body[i];
        if (inst.op != Op::kReduce)
          Step(i);
        else
          interp::AddToReduce(inst, lanes[i - loop].data(), Value(inst.a), j - first, n_, across);
      }
    }
    in_loop_ = false;
    n_ = points;
    if (in_chunks) EndChunk(loop, end, &lanes, &chunks);
    for (Id i = loop; i < end; ++i) {
      const Inst& inst = k_.body[i];
      if (!in_chunks || inst.op != Op::kReduce || !inst.lanes) continue;
      const int count = int(chunks[i - loop].size()) / SizeOf(inst.type);
      interp::AddToReduce(inst, lanes[i - loop].data(), chunks[i - loop].data(), 0, count, true);
    }
    for (Id i = loop; i < end; ++i) {
      if (k_.body[i].op != Op::kReduce) continue;
      const int64_t count = std::max<int64_t>(0, last - first);
      interp::FinishReduce(k_.body[i], lanes[i - loop].data(), Value(i), count, points);
    }
    return end;
  }

  // Runs the repeat that instruction `repeat` opens; the number of its done.
  Id RunRepeat(Id repeat) {
    Id done = repeat;
    while (k_.body[done].op != Op::kDone) ++done;
    int64_t count = 0;
    std::memcpy(&count, Value(k_.body[repeat].a), sizeof(count));
    FZ_CHECK(count >= 1);
    Id first = repeat + 1, last = done;  // of what is between carries and nexts
    for (; k_.body[first].op == Op::kCarry; ++first) CopyValue(first, k_.body[first].a);
    while (k_.body[last - 1].op == Op::kNext) --last;
    in_loop_ = k_.moves;
    for (iteration_ = 0; iteration_ < count; ++iteration_) {
      if (k_.moves) index_[k_.rank] = iteration_;
      for (Id i = first; i < last; ++i) Step(i);
      // All are read before any carry is written: a next has the room of a value too.
      for (Id i = last; i < done; ++i) CopyValue(i, k_.body[i].b);
      for (Id i = last; i < done; ++i) CopyValue(k_.body[i].a, i);
      if (k_.body[done].a != kNone && !GoesOn(k_.body[done].a)) break;
    }
    in_loop_ = false;
    return done;
  }

  bool GoesOn(Id carry) const {
    int32_t word = 0;
    std::memcpy(&word, Value(carry), sizeof(word));
    return word != 0;
  }

  void CopyValue(Id to, Id from) {
    std::memcpy(Value(to), Value(from), size_t(n_) * SizeOf(k_.body[from].type));
  }

  // The word of a scalar, in the running iteration if it has one for each.
  uint64_t Word(int scalar) const {
    const int plain = k_.plain_scalars(), each = int(k_.scalars.size()) - plain;
    return args_.scalars[scalar + (scalar < plain ? 0 : iteration_ * each)];
  }

  // Of a long row (one point): the lanes' result goes to the others, and the lanes start again.
  void EndChunk(Id loop, Id end, std::vector<std::vector<uint64_t>>* lanes,
                std::vector<std::vector<std::byte>>* chunks) {
    for (Id i = loop; i < end; ++i) {
      const Inst& inst = k_.body[i];
      if (inst.op != Op::kReduce || !inst.lanes) continue;
      std::byte result[8];
      interp::FinishReduce(inst, (*lanes)[i - loop].data(), result, kir::kChunk, 1);
      std::vector<std::byte>& all = (*chunks)[i - loop];
      all.insert(all.end(), result, result + SizeOf(inst.type));
      interp::StartReduce(inst, (*lanes)[i - loop].data(), 1);
    }
  }

  // With vec loop a value from outside has one element; the loop reads up to a block of copies.
  void SpreadOperands(Id loop, Id end, int copies) {
    for (Id i = loop + 1; i < end; ++i) {
      for (Id id : {k_.body[i].a, k_.body[i].b, k_.body[i].c}) {
        if (id == kNone || id > loop) continue;
        VisitSize(SizeOf(k_.body[id].type), [&]<typename Bits>() {
          for (int lane = 1; lane < copies; ++lane) {
            std::memcpy(Value(id) + lane * sizeof(Bits), Value(id), sizeof(Bits));
          }
        });
      }
    }
  }

  void Step(Id i) {
    const Inst& inst = k_.body[i];
    switch (inst.op) {
      case Op::kParam:
        return Fill(i, Word(int(inst.imm)));
      case Op::kConst:
        return Fill(i, inst.imm);
      case Op::kIndex: {
        int64_t* out = reinterpret_cast<int64_t*>(Value(i));
        for (int lane = 0; lane < n_; ++lane) {
          out[lane] = index_[inst.imm] + (int(inst.imm) == lane_axis_ ? lane : 0);
        }
        return;
      }
      case Op::kLoad:
        return Load(i);
      case Op::kStore:
        return Store(inst);
      default:
        break;
    }
    const DType from = k_.body[inst.a].type;
    interp::Compute(inst, from, {Value(inst.a), Value(inst.b), Value(inst.c), Value(i), n_});
  }

  void Fill(Id i, uint64_t word) {
    VisitSize(SizeOf(k_.body[i].type), [&]<typename Bits>() {
      for (int lane = 0; lane < n_; ++lane)
        std::memcpy(Value(i) + lane * sizeof(Bits), &word, sizeof(Bits));
    });
  }

  void Load(Id i) {
    const Inst& inst = k_.body[i];
    const Place place = PlaceOf(inst.imm, inst.a);
    const bool* pred = reinterpret_cast<const bool*>(Value(inst.b));
    if (place.Dense() && pred == nullptr) {
      std::memcpy(Value(i), place.base, size_t(n_) * place.size);
      return;
    }
    VisitSize(place.size, [&]<typename Bits>() {
      for (int lane = 0; lane < n_; ++lane) {
        std::byte* out = Value(i) + lane * sizeof(Bits);
        if (pred == nullptr || pred[lane])
          std::memcpy(out, place.At(lane), sizeof(Bits));
        else
          std::memset(out, 0, sizeof(Bits));
      }
    });
  }

  void Store(const Inst& inst) {
    const Place place = PlaceOf(inst.imm, inst.b);
    const bool* pred = reinterpret_cast<const bool*>(Value(inst.c));
    if (place.Dense() && pred == nullptr) {
      std::memcpy(place.base, Value(inst.a), size_t(n_) * place.size);
      return;
    }
    VisitSize(place.size, [&]<typename Bits>() {
      for (int lane = 0; lane < n_; ++lane) {
        if (pred != nullptr && !pred[lane]) continue;
        Bits bits;
        std::memcpy(&bits, Value(inst.a) + lane * sizeof(Bits), sizeof(Bits));
        // Threads that share a kernel may all store a number that does not vary: the same bits.
        std::atomic_ref<Bits>(*reinterpret_cast<Bits*>(place.At(lane)))
            .store(bits, std::memory_order_relaxed);
      }
    });
  }

  // Calls f.operator()<an unsigned integer of that many bytes>(): copies of a known size are single
  // moves.
  template <typename F>
  static void VisitSize(int size, F f) {
    if (size == 1)
      f.template operator()<uint8_t>();
    else if (size == 2)
      f.template operator()<uint16_t>();
    else if (size == 4)
      f.template operator()<uint32_t>();
    else
      f.template operator()<uint64_t>();
  }

  // Where the elements of the current block lie in a buffer.
  struct Place {
    std::byte* base;
    int64_t step;           // bytes from lane to lane
    const int64_t* offset;  // elements, per lane; may be null
    int size;

    bool Dense() const { return step == size && offset == nullptr; }
    std::byte* At(int lane) const {
      return base + lane * step + (offset ? offset[lane] * size : 0);
    }
  };

  Place PlaceOf(uint64_t buffer, Id offset) const {
    int64_t bytes = 0;
    for (int axis = 0; axis < (in_loop_ ? k_.axes() : k_.rank); ++axis) {
      bytes += index_[axis] * StrideOf(buffer, axis);
    }
    return {static_cast<std::byte*>(args_.buffers[buffer]) + bytes, StrideOf(buffer, lane_axis_),
            reinterpret_cast<const int64_t*>(Value(offset)), SizeOf(k_.buffers[buffer].dtype)};
  }

  int64_t StrideOf(uint64_t buffer, int axis) const {
    return args_.strides[buffer * k_.axes() + axis];
  }

  // The block of a value; null for an absent operand.
  std::byte* Value(Id id) const {
    return id == kNone ? nullptr : const_cast<std::byte*>(values_.data()) + size_t(id) * slot_;
  }

  const Kernel& k_;
  const kir::KernelArgs& args_;
  const int lane_axis_;         // the axis along which the elements of a block lie
  const size_t slot_;           // bytes of one value: a block of the widest type, or one
  std::vector<int64_t> index_;  // of the block's first element
  std::vector<std::byte> values_;
  int n_ = 0;  // elements in the current block
  bool in_loop_ = false;
  int64_t iteration_ = 0;  // of the repeat
};

class Interpreted : public Compiled {
 public:
  explicit Interpreted(Kernel kernel) : kernel_(std::move(kernel)) {}

  void Run(const kir::KernelArgs& args, int64_t row_begin, int64_t row_end, int64_t col_begin,
           int64_t col_end) const override {
    Machine(kernel_, args).Run(row_begin, row_end, col_begin, col_end);
  }
  size_t code_bytes() const override { return sizeof(*this) + kernel_.body.size() * sizeof(Inst); }
  std::string text() const override { return Print(kernel_); }

 private:
  const Kernel kernel_;
};

class Interpreter : public Emitter {
 public:
  const Caps& caps() const override {
    static constexpr Caps kCaps{.name = "interp", .executes = true};
    return kCaps;
  }

  // Only calls are legalised here: casts and small types keep their direct meaning, which is what
  // legalisation itself is tested against.
  StatusOr<std::unique_ptr<Compiled>> Emit(const Kernel& kernel) override {
    FZ_RETURN_IF_ERROR(Verify(kernel));
    FZ_ASSIGN_OR_RETURN(Kernel inlined, kir::InlineCalls(kernel));
    return std::make_unique<Interpreted>(std::move(inlined));
  }
};

}  // namespace

std::unique_ptr<Emitter> NewInterpreter() { return std::make_unique<Interpreter>(); }

}  // namespace frazil::jit
