// What another project calls core/tensor.h.
namespace another {
inline constexpr int kTensor = 1;
}
