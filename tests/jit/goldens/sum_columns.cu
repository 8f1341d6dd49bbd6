struct frazil_sum_columns_args {
  const bf16* p_x;
  f32* p_o;
  bf16* p_p;
  i64 n[3];
  i64 st_x[3];
  i64 st_o[3];
  i64 st_p[3];
  i64 row_begin, row_end, col_begin, col_end;
};
extern "C" __global__ void frazil_sum_columns(frazil_sum_columns_args args) {
  const i64 cols = args.col_end - args.col_begin;
  const i64 point = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (point >= (args.row_end - args.row_begin) * cols) return;
  const i64 i1 = args.col_begin + point % cols;
  i64 row = args.row_begin + point / cols;
  const i64 i0 = row % args.n[0];
  const i64 first0 = i0 * 4096;
  const i64 last0 = fz_min(first0 + 4096, args.n[2]);
  f32 r3[8] = {-0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f};
  f32 r4 = fz_bitcast<f32>(0xff800000u);
  for (i64 base = first0; base < last0; base += 8) {
    #pragma unroll
    for (int lane = 0; lane < 8; ++lane) {
      const i64 i2 = base + lane;
      if (i2 >= last0) break;
      const bf16 v1 = fz_at(args.p_x, i2 * args.st_x[2])[i1];
      const f32 v2 = fz_bf16_to_f32(v1);
      r3[lane] = r3[lane] + v2;
      r4 = fz_max(r4, v2);
    }
  }
  for (int h = 4; h > 0; h /= 2) {
    for (int lane = 0; lane < h; ++lane) {
      r3[lane] = r3[lane] + r3[lane + h];
    }
  }
  const f32 v3 = last0 > first0 ? r3[0] : 0.0f;
  const f32 v4 = r4;
  fz_at(args.p_o, i0 * args.st_o[0])[i1] = v3;
  const bf16 v7 = fz_f32_to_bf16(v4);
  fz_at(args.p_p, i0 * args.st_p[0])[i1] = v7;
}
