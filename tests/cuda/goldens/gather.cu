struct frazil_gather_9f48829e_args {
  const i64* p_i;
  i8* p_o;
  u64 s_k;
  const f64* p_x;
  f16* p_h;
  int points;
};
extern "C" __global__ void __launch_bounds__(256) frazil_gather_9f48829e(const frazil_gather_9f48829e_args args) {
  const int point = (int)blockIdx.x * 256 + (int)threadIdx.x;
  if (point >= args.points) return;
  const int column = point * 4;
  const fz_vec<i64, 4> q0 = fz_load<1, 4>((args.p_i + column));
  fz_vec<i8, 4> w12;
  FZ_UNROLL for (int e = 0; e < 4; ++e) {
    const int i0 = column + e;
    const i64 v0 = q0.v[e];
    const i64 v1 = 7ll;
    const i64 v2 = v0 & v1;
    const i64 v3 = (i64)args.s_k;
    const bool v4 = v0 < v3;
    const f64 v5 = v4 ? *(args.p_x + v2) : (f64)0;
    const i32 v6 = fz_to_i32(v5);
    const i32 v7 = -128;
    const i32 v8 = 127;
    const i32 v9 = fz_max(v6, v7);
    const i32 v10 = fz_min(v9, v8);
    const i8 v11 = (i8)v10;
    w12.v[e] = v11;
    const f32 v13 = (f32)v5;
    const f64 v14 = (f64)v13;
    const i32 v15 = fz_bitcast<i32>(v13);
    const f64 v16 = fz_abs(v14);
    const f64 v17 = fz_abs(v5);
    const bool v18 = v17 < v16;
    const i32 v19 = (i32)v18;
    const bool v20 = v14 != v5;
    const i32 v21 = (i32)v20;
    const i32 v22 = fz_sub(v15, v19);
    const i32 v23 = v22 | v21;
    const f32 v24 = fz_bitcast<f32>(v23);
    const f16 v25 = fz_f32_to_f16(v24);
    const i64 v26 = fz_div(v0, v3);
    const i64 v27 = 0ll;
    const bool v28 = v26 != v27;
    if (v28) *(args.p_h + i0) = v25;
  }
  fz_store((args.p_o + column), w12);
}
