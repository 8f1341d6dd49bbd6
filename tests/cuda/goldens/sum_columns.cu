struct frazil_sum_columns_3db645ec_args {
  const bf16* p_x;
  f32* p_o;
  bf16* p_p;
  int n2;
  int st_x_2;
  int st_o_0;
  int st_p_0;
  int points;
  int columns1;
  u32 shift1;
  u32 magic1;
};
extern "C" __global__ void __launch_bounds__(256) frazil_sum_columns_3db645ec(const frazil_sum_columns_3db645ec_args args) {
  const int lane = (int)threadIdx.x / 32;
  int point = (int)blockIdx.x * 32 + (int)threadIdx.x % 32;
  const bool live = point < args.points;
  if (!live) point = 0;
  const int rest1 = fz_quotient(point, args.magic1, args.shift1);
  const int i1 = point - rest1 * args.columns1;
  const int i0 = rest1;
  f32 v3;
  f32 v4;
   {
    const int first = i0 * 4096;
    const int last = fz_min(first + 4096, args.n2);
    __shared__ f32 lanes3[256];
    f32 r3 = -0.0f;
    __shared__ f32 lanes4[256];
    f32 r4 = fz_bitcast<f32>(0xff800000u);
    FZ_UNROLL_BY(4) for (int i2 = first + lane; i2 < last; i2 += 8) {
      const bf16 v1 = fz_fetch((fz_at(args.p_x, i2 * args.st_x_2) + i1));
      const f32 v2 = fz_bf16_to_f32(v1);
      r3 = r3 + v2;
      r4 = fz_max(r4, v2);
    }
    lanes3[threadIdx.x] = r3;
    lanes4[threadIdx.x] = r4;
    __syncthreads();
     {
      f32 all[8];
      FZ_UNROLL for (int e = 0; e < 8; ++e) all[e] = lanes3[e * 32 + (int)threadIdx.x % 32];
      FZ_UNROLL for (int h = 4; h > 0; h /= 2) {
        FZ_UNROLL for (int e = 0; e < h; ++e) {
          all[e] = all[e] + all[e + h];
        }
      }
      v3 = last > first ? all[0] : 0.0f;
    }
     {
      f32 all[8];
      FZ_UNROLL for (int e = 0; e < 8; ++e) all[e] = lanes4[e * 32 + (int)threadIdx.x % 32];
      FZ_UNROLL for (int h = 4; h > 0; h /= 2) {
        FZ_UNROLL for (int e = 0; e < h; ++e) {
          all[e] = fz_max(all[e], all[e + h]);
        }
      }
      v4 = all[0];
    }
  }
  if (live && lane == 0) *(fz_at(args.p_o, i0 * args.st_o_0) + i1) = v3;
  const bf16 v7 = fz_f32_to_bf16(v4);
  if (live && lane == 0) *(fz_at(args.p_p, i0 * args.st_p_0) + i1) = v7;
}
