struct frazil_phases_args {
  const i32* p_x;
  i32* p_o;
  i32* p_p;
  i64 n[1];
  i64 st_x[1];
  i64 st_o[1];
  i64 st_p[1];
  i64 row_begin, row_end, col_begin, col_end;
};
extern "C" __global__ void frazil_phases(frazil_phases_args args) {
  const i64 cols = args.col_end - args.col_begin;
  const i64 point = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (point >= (args.row_end - args.row_begin) * cols) return;
  const i64 i0 = args.col_begin + point % cols;
  const i32 v0 = args.p_x[i0];
  const i32 v1 = fz_mul(v0, v0);
  args.p_o[i0] = v1;
}
extern "C" __global__ void frazil_phases_phase1(frazil_phases_args args) {
  const i64 cols = args.col_end - args.col_begin;
  const i64 point = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (point >= (args.row_end - args.row_begin) * cols) return;
  const i64 i0 = args.col_begin + point % cols;
  const i32 v4 = args.p_o[i0];
  const i32 v5 = fz_neg(v4);
  args.p_p[i0] = v5;
}
