// The interpreter against hand-made answers, and legalisation against the interpreter.
#include "jit/emit/interp/interp.h"

#include "gtest/gtest.h"
#include "jit/kir/legalize.h"
#include "tests/jit/kernel_gen.h"

namespace frazil::jit {
namespace {

// An interpreter that legalises first: the same kernels must give the same bits.
class LegalizingInterpreter : public Emitter {
 public:
  const Caps& caps() const override {
    static constexpr Caps kCaps{.name = "legalized", .executes = true};
    return kCaps;
  }
  StatusOr<std::unique_ptr<Compiled>> Emit(const kir::Kernel& kernel) override {
    FZ_ASSIGN_OR_RETURN(const kir::Kernel legal, kir::Legalize(kernel));
    FZ_RETURN_IF_ERROR(kir::Verify(legal));
    for (const kir::Inst& inst : legal.body) {
      if (!kir::IsLegal(inst, legal, {})) return ValueError("[test] not legal: ", Print(legal));
    }
    return interpreter_->Emit(legal);
  }

 private:
  std::unique_ptr<Emitter> interpreter_ = NewInterpreter();
};

TEST(Legalize, KeepsEveryBitOfRandomKernels) {
  const auto interpreter = NewInterpreter();
  LegalizingInterpreter legalizing;
  for (uint64_t seed = 1; seed <= 600; ++seed) {
    const Comparison result = CompareEmitters(*interpreter, legalizing, seed);
    ASSERT_FALSE(result.refused);
    ASSERT_EQ(result.difference, "");
  }
}

}  // namespace
}  // namespace frazil::jit
