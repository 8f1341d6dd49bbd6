#include "jit/library/fourier.h"

#include <cmath>
#include <new>

#include "core/cost.h"
#include "core/str.h"
#include "kernels/dense_copy.h"
#include "kernels/fourier/fourier.h"

namespace frazil::jit {
namespace {

class FourierCall final : public LibraryCall {
 public:
  FourierCall(const Node& x, const Node& node)
      : x_(x.layout), out_(node.layout), from_(x.dtype), op_(node.op), attrs_(node.attrs) {
    using Form = FourierArgs::Form;
    const bool to_real = op_ == OpId::k_fft_c2r;
    const LayoutRef& whole = to_real ? out_ : x_;
    args_.dims = whole->dims();
    args_.axes = static_cast<uint64_t>(attrs_[kFourierAxes]);
    args_.forward = attrs_[kFourierForward] != 0;
    args_.wide = PartOf(from_) == DType::kF64;
    args_.form = to_real                                    ? Form::kToReal
                 : op_ == OpId::k_fft_c2c                   ? Form::kComplex
                 : out_->shape == x_->shape && points() > 2 ? Form::kFromReal
                                                            : Form::kHalfFromReal;
    const auto n = static_cast<double>(points());
    const int64_t norm = attrs_[kFourierNorm];
    args_.scale = norm == kNormWhole ? 1 / n : norm == kNormRoot ? 1 / std::sqrt(n) : 1;
  }

  Status Run(absl::Span<char* const> operands, char* result) const override {
    if (out_->size == 0) return absl::OkStatus();
    try {
      std::unique_ptr<char[]> dense;
      FourierArgs args = args_;
      args.x = operands[0];
      args.out = result;
      if (!x_->dense) {  // as it is rounded may depend on where lines lie
        dense.reset(new char[static_cast<size_t>(x_->size * SizeOf(from_))]);
        CopyDense(*x_, SizeOf(from_), operands[0], dense.get());
        args.x = dense.get();
      }
      return Fourier(args);
    } catch (const std::bad_alloc&) {
      return MemoryError("[", std::string(Info(op_).name), "] no memory to work on ",
                         ToString(x_->dims()), ".");
    }
  }
  int64_t work() const override {
    return cost::Whole(cost::Fourier(double(out_->size), double(points()), from_));
  }
  std::string text() const override {
    return StrCat(Info(op_).name, " ", ShortName(from_), " ", ToString(AttrSpan(attrs_)), " of ",
                  ToString(x_->dims()));
  }

 private:
  // Of one transform.
  int64_t points() const {
    int64_t n = 1;
    for (size_t i = 0; i < args_.dims.size(); ++i) n *= args_.axes >> i & 1 ? args_.dims[i] : 1;
    return n;
  }

  LayoutRef x_, out_;
  DType from_;
  OpId op_;
  Attrs attrs_;
  FourierArgs args_;  // without pointers
};

}  // namespace

std::unique_ptr<const LibraryCall> MakeFourier(const Graph& graph, int32_t id) {
  const Node& node = graph.nodes[id];
  return std::make_unique<FourierCall>(graph.nodes[node.operands[0]], node);
}

}  // namespace frazil::jit
