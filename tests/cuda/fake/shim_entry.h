// The table of a text's kernels: HostText() closes the source with FZ_SHIM_IMAGE. Part of shim.h.
#pragma once

template <class... Rest>
struct FzApply;
template <>
struct FzApply<> {
  template <class F, class... Done>
  static void Run(F f, void* const*, Done&... done) {
    f(done...);
  }
};
template <class T, class... Rest>
struct FzApply<T, Rest...> {
  template <class F, class... Done>
  static void Run(F f, void* const* params, Done&... done) {
    FzApply<Rest...>::Run(f, params + 1, done..., *(T*)*params);
  }
};

template <auto F, class = decltype(F)>
struct FzKernel;
template <auto F, class... Params>
struct FzKernel<F, void (*)(Params...)> {
  static constexpr unsigned kCount = sizeof...(Params);
  static constexpr unsigned kSizes[kCount + 1] = {sizeof(Params)..., 0};
  static constexpr unsigned kAlignments[kCount + 1] = {alignof(Params)..., 0};
  static void Run(void* const* params) { FzApply<Params...>::Run(F, params); }
};

#define FZ_SHIM_ENTRY(kernel)                                                             \
  {#kernel, FzKernel<&kernel>::Run, FzKernel<&kernel>::kCount, FzKernel<&kernel>::kSizes, \
   FzKernel<&kernel>::kAlignments},
#define FZ_SHIM_IMAGE(...)                                                                     \
  static const FzEntry fz_entries[] = {__VA_ARGS__{}};                                         \
  extern "C" __attribute__((weak, visibility("hidden"))) const char __start_fz_shared[],       \
      __stop_fz_shared[]; /* the linker makes them */                                          \
  extern "C" __attribute__((visibility("default"))) const FzImage fz_image;                    \
  const FzImage fz_image = {&fz_context, fz_entries, sizeof(fz_entries) / sizeof(FzEntry) - 1, \
                            __start_fz_shared, __stop_fz_shared};
