// One product of matrices by cuBLASLt, prepared: descriptor, layouts, algorithm. Made and called by
// the products of plans (jit/run/cuda). Invariants: the algorithm is the heuristic's first for
// dense operands that are aligned to 16 bytes and a workspace of a fixed size, so it depends on the
// device, the types, the shape and which operands lie transposed, never on other strides or
// addresses; calls of one device share one workspace, in stream order.
#pragma once

#include <array>
#include <memory>

#include "core/dtype.h"
#include "jit/cuda/device.h"

namespace frazil::cuda {

// A row-major matrix of [rows, columns], or its transpose as it lies in memory.
struct LtOperand {
  bool transposed = false;
  int64_t leading = 0;       // elements between rows (of the transpose: columns)
  int64_t batch_stride = 0;  // elements; 0: one for all
};

struct LtShape {
  DType dtype;  // f16, bf16, f32 or f64
  bool tf32 = false;
  int64_t batches = 1, m, n, k;  // none is 0
};

// What a product may add to its result before it is written: an element of `bias` for each column.
enum class LtEpilogue { kNone, kBias };

class LtProduct {
 public:
  // d = a b for every batch, d dense. NotImplementedError: cuBLASLt has no algorithm for it;
  // RuntimeError: it failed or is not there.
  static StatusOr<std::unique_ptr<const LtProduct>> Make(Device* device, const LtShape& shape,
                                                         const LtOperand& a, const LtOperand& b,
                                                         LtEpilogue epilogue = LtEpilogue::kNone);

  // Operands that do not lie as Make was told, but densely; of the same orientation.
  struct Dense {
    bool a = false, b = false;
  };
  // Pointers are 16-byte aligned. Queued on the device's stream.
  Status Run(CUdeviceptr a, CUdeviceptr b, CUdeviceptr d, CUdeviceptr bias, Dense dense,
             const LaunchNameRef& name) const;

  // False: the algorithm cannot read them as they lie. They are to be copied, and are Dense.
  bool reads_strided() const { return reads_strided_; }

 private:
  struct Destroy {
    const CublasLtTable* table;
    void operator()(LtMatmulDesc p) const { table->MatmulDescDestroy(p); }
    void operator()(LtLayout p) const { table->MatrixLayoutDestroy(p); }
    void operator()(LtPreference p) const { table->MatmulPreferenceDestroy(p); }
  };
  template <typename Handle>
  using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Destroy>;

  LtProduct(Device* device, const CublasLtTable* table, const LtShape& shape, LtEpilogue epilogue)
      : device_(device), table_(table), shape_(shape), epilogue_(epilogue) {}

  Status Prepare(const LtOperand& a, const LtOperand& b);
  Status MakeDescriptor(bool a_transposed, bool b_transposed, LtEpilogue epilogue,
                        Owned<LtMatmulDesc>* out) const;
  Status MakeLayout(int64_t rows, int64_t columns, const LtOperand& operand,
                    Owned<LtLayout>* out) const;
  Status ChooseAlgorithm();
  bool Supports(LtMatmulDesc descriptor, LtLayout a, LtLayout b) const;
  Status Check(LtStatus status, std::string_view what) const;

  Device* const device_;
  const CublasLtTable* const table_;
  const LtShape shape_;
  const LtEpilogue epilogue_;
  LtHandle handle_ = nullptr;
  Owned<LtMatmulDesc> plain_;                       // without an epilogue
  Owned<LtMatmulDesc> descriptor_;                  // with it
  std::array<Owned<LtLayout>, 2> dense_, strided_;  // of a and b
  Owned<LtLayout> result_;
  LtAlgo algorithm_;
  size_t workspace_bytes_ = 0;
  bool reads_strided_ = true;
};

}  // namespace frazil::cuda
