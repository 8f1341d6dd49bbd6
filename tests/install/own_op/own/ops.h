// Ops of a library outside of the tree, for all who include it.
#pragma once

#include <frazil/frazil.h>

#include <algorithm>
#include <cmath>

namespace own {

// The error function of float32, of C's library.
FRAZIL_OP(host_erf,
          {
              .shape = [](frazil::Specs in) { return std::vector{in[0]}; },
              .body =
                  [](frazil::HostArrays in, frazil::HostResults out) {
                    const std::span<const float> x = in[0].data<float>();
                    const std::span<float> y = out[0].data<float>();
                    for (size_t i = 0; i < x.size(); ++i) y[i] = std::erf(x[i]);
                  },
              .vjp =
                  [](frazil::Operands in, frazil::Operands, frazil::Operands g) {
                    return std::vector{g[0] * frazil::exp(-(in[0] * in[0])) * 1.1283791670955126};
                  },
          });

// The sums of rows, and how many elements each has; a batch is a sum of its own.
FRAZIL_OP(row_sums,
          {
              .shape =
                  [](frazil::Specs in) {
                    return std::vector<frazil::ArraySpec>{{{in[0].shape[0]}, frazil::float32},
                                                          {{}, frazil::int64}};
                  },
              .body =
                  [](frazil::HostArrays in, frazil::HostResults out) {
                    const std::span<const float> x = in[0].data<float>();
                    const size_t rows = out[0].size(), columns = x.size() / rows;
                    const std::span<float> sums = out[0].data<float>();
                    std::fill(sums.begin(), sums.end(), 0.0f);
                    for (size_t i = 0; i < x.size(); ++i) sums[i / columns] += x[i];
                    out[1].data<int64_t>()[0] = static_cast<int64_t>(columns);
                  },
              .batch =
                  [](int64_t size, frazil::Operands in, const std::vector<bool>&) {
                    return std::vector{
                        frazil::sum(in[0], {{2}}),
                        frazil::full({size}, frazil::Scalar::Int(in[0].dims()[2]), frazil::int64)};
                  },
          });

std::vector<float> Slope(const frazil::Tensor& x);

}  // namespace own
