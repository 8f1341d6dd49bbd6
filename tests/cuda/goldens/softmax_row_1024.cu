struct frazil_softmax_ccf00617_args {
  const f32* p_x;
  f32* p_o;
  int n1;
  int st_x_0;
  int st_o_0;
  int points;
};
extern "C" __global__ void __launch_bounds__(128) frazil_softmax_ccf00617(const frazil_softmax_ccf00617_args args) {
  const int lane = (int)threadIdx.x % 32;
  const int warp = (int)threadIdx.x / 32;
  const int point = (int)blockIdx.x * 4 + warp;
  if (point >= args.points) return;
  const int i0 = point;
  f32 h1[32];
  f32 h49[32];
  f32 v2;
   {
    f32 r2[2] = {fz_bitcast<f32>(0xff800000u), fz_bitcast<f32>(0xff800000u)};
    const int first = 0;
    FZ_UNROLL for (int k = 0; k < 16; ++k) {
      const int base = first + lane * 2 + k * 64;
      const fz_vec<f32, 2> q1 = fz_load<1, 2>((fz_at(args.p_x, i0 * args.st_x_0) + base));
      FZ_UNROLL for (int e = 0; e < 2; ++e) {
        h1[k * 2 + e] = q1.v[e];
      }
    }
    FZ_UNROLL for (int k = 0; k < 16; ++k) {
      FZ_UNROLL for (int e = 0; e < 2; ++e) {
        const f32 v1 = h1[k * 2 + e];
        r2[e] = fz_max(r2[e], v1);
      }
    }
    FZ_UNROLL for (int h = 16; h > 0; h /= 2) {
      r2[0] = fz_max(r2[0], fz_exchange(r2[0], h));
      r2[1] = fz_max(r2[1], fz_exchange(r2[1], h));
    }
    r2[0] = fz_max(r2[0], r2[1]);
    v2 = r2[0];
  }
  f32 v50;
   {
    f32 r50[2] = {-0.0f, -0.0f};
    FZ_UNROLL for (int k = 0; k < 16; ++k) {
      FZ_UNROLL for (int e = 0; e < 2; ++e) {
        const f32 v5 = h1[k * 2 + e];
        const f32 v6 = v5 - v2;
        const f32 v7 = -104.0f;
        const f32 v8 = 89.0f;
        const bool v9 = v6 < v7;
        const f32 v10 = v9 ? v7 : v6;
        const bool v11 = v8 < v10;
        const f32 v12 = v11 ? v8 : v10;
        const f32 v13 = 12582912.0f;
        const f32 v14 = 1.9046542e-09f;
        const f32 v15 = 1.442695f;
        const f32 v16 = fz_fma(v12, v15, v13);
        const f32 v17 = v16 - v13;
        const f32 v18 = -0.6931472f;
        const f32 v19 = fz_fma(v17, v18, v12);
        const u32 v20 = fz_bitcast<u32>(v16);
        const f32 v21 = v17 * v14;
        const f32 v22 = fz_fma(v17, v14, v19);
        const f32 v23 = 1.0f;
        const f32 v24 = 0.0013940457f;
        const f32 v25 = 0.008368833f;
        const f32 v26 = fz_fma(v24, v22, v25);
        const f32 v27 = 0.041666403f;
        const f32 v28 = fz_fma(v26, v22, v27);
        const f32 v29 = 0.1666652f;
        const f32 v30 = fz_fma(v28, v22, v29);
        const f32 v31 = 0.5f;
        const f32 v32 = fz_fma(v30, v22, v31);
        const f32 v33 = v22 * v22;
        const f32 v34 = fz_fma(v33, v32, v21);
        const f32 v35 = v19 + v34;
        const f32 v36 = v35 + v23;
        const u32 v37 = 23u;
        const u32 v38 = 1065353216u;
        const u32 v39 = 1u;
        const u32 v40 = fz_shr(v20, v39);
        const u32 v41 = fz_shl(v40, v37);
        const u32 v42 = fz_shl(v20, v37);
        const u32 v43 = v42 - v41;
        const u32 v44 = v43 + v38;
        const f32 v45 = fz_bitcast<f32>(v44);
        const u32 v46 = v41 + v38;
        const f32 v47 = fz_bitcast<f32>(v46);
        const f32 v48 = v36 * v47;
        const f32 v49 = v48 * v45;
        h49[k * 2 + e] = v49;
        r50[e] = r50[e] + v49;
      }
    }
    FZ_UNROLL for (int h = 16; h > 0; h /= 2) {
      r50[0] = r50[0] + fz_exchange(r50[0], h);
      r50[1] = r50[1] + fz_exchange(r50[1], h);
    }
    r50[0] = r50[0] + r50[1];
    v50 = r50[0];
  }
   {
    const int first = 0;
    FZ_UNROLL for (int k = 0; k < 16; ++k) {
      const int base = first + lane * 2 + k * 64;
      fz_vec<f32, 2> w99;
      FZ_UNROLL for (int e = 0; e < 2; ++e) {
        const f32 v97 = h49[k * 2 + e];
        const f32 v98 = v97 / v50;
        w99.v[e] = v98;
      }
      fz_store((fz_at(args.p_o, i0 * args.st_o_0) + base), w99);
    }
  }
}
