#include "jit/kir/kir.h"

#include <cstring>

namespace frazil::kir {
namespace {

struct OpRow {
  std::string_view name;
  int operands;
};
constexpr OpRow kOps[] = {
#define KIR_OP(E, name, operands, doc) {name, operands},
#include "jit/kir/ops.def"
#undef KIR_OP
};
constexpr std::string_view kReduceKinds[] = {"sum", "prod", "max", "min", "and", "or"};

template <typename T>
void Put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

}  // namespace

std::string_view Name(Op op) { return kOps[int(op)].name; }
int NumOperands(Op op) { return kOps[int(op)].operands; }
std::string_view Name(ReduceKind kind) { return kReduceKinds[int(kind)]; }

int Kernel::plain_scalars() const {
  int count = 0;
  for (const Scalar& scalar : scalars) count += !scalar.each;
  return count;
}

bool Kernel::has_repeat() const {
  for (const Inst& inst : body) {
    if (inst.op == Op::kRepeat) return true;
  }
  return false;
}

std::string ContentKey(const Kernel& kernel) {
  std::string key;
  key.reserve(16 + kernel.buffers.size() * 8 + kernel.body.size() * 23);
  Put(key, uint8_t(kernel.rank));
  Put(key, uint8_t(kernel.has_loop | kernel.chunked << 1 | kernel.stream << 2 |
                   (kernel.vec == VecAxis::kLoop) << 3 | kernel.long_rows << 4 |
                   (kernel.vec == VecAxis::kNone) << 5 | kernel.moves << 6));
  Put(key, uint16_t(kernel.buffers.size()));
  for (const Buffer& buffer : kernel.buffers) {
    Put(key, uint8_t(int(buffer.dtype) | buffer.out << 7));
    Put(key, uint8_t(buffer.strides.size()));
    for (Stride stride : buffer.strides) Put(key, uint8_t(stride));
  }
  Put(key, uint16_t(kernel.scalars.size()));
  for (const Scalar& scalar : kernel.scalars)
    Put(key, uint8_t(int(scalar.dtype) | scalar.each << 7));
  for (const Inst& inst : kernel.body) {
    Put(key, uint8_t(inst.op));
    Put(key, uint8_t(inst.type));
    Put(key, inst.lanes);
    Put(key, inst.a);
    Put(key, inst.b);
    Put(key, inst.c);
    Put(key, inst.imm);
  }
  return key;
}

uint64_t ContentHash(const Kernel& kernel) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const unsigned char c : ContentKey(kernel)) hash = (hash ^ c) * 0x100000001b3;
  return hash;
}

}  // namespace frazil::kir
