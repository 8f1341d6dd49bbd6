struct frazil_chain_args {
  const f32* p_x;
  const f32* p_b;
  f32* p_o;
  i64 n[2];
  i64 st_x[2];
  i64 st_b[2];
  i64 st_o[2];
  u64 s_w;
  i64 row_begin, row_end, col_begin, col_end;
};
extern "C" __global__ void frazil_chain(frazil_chain_args args) {
  const i64 cols = args.col_end - args.col_begin;
  const i64 point = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (point >= (args.row_end - args.row_begin) * cols) return;
  const i64 i1 = args.col_begin + point % cols;
  i64 row = args.row_begin + point / cols;
  const i64 i0 = row % args.n[0];
  const f32 v0 = fz_at(args.p_x, i0 * args.st_x[0])[i1];
  const f32 v1 = fz_bitcast<f32>((u32)args.s_w);
  const f32 v2 = args.p_b[i1];
  const f32 v3 = v0 * v1;
  const f32 v4 = v3 + v2;
  const f32 v5 = 0.0f;
  const f32 v6 = fz_max(v4, v5);
  fz_at(args.p_o, i0 * args.st_o[0])[i1] = v6;
}
