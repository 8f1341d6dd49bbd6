struct frazil_softmax_711977ce_args {
  const f32* p_x;
  f32* p_o;
  int n1;
  int st_x_0;
  int st_o_0;
  int points;
};
extern "C" __global__ void __launch_bounds__(64) frazil_softmax_711977ce(const frazil_softmax_711977ce_args args) {
  extern __shared__ uint4 fz_shared[];
  const int lane = (int)threadIdx.x % 32;
  const int warp = (int)threadIdx.x / 32;
  const int point = (int)blockIdx.x * 2 + warp;
  if (point >= args.points) return;
  const int i0 = point;
  f32* const h1 = (f32*)((char*)fz_shared + warp * 16384 + 0);
  f32* const h48 = (f32*)((char*)fz_shared + warp * 16384 + 0);
  f32 v2;
   {
    f32 r2[2] = {fz_bitcast<f32>(0xff800000u), fz_bitcast<f32>(0xff800000u)};
    const int first = 0;
    const int last = args.n1;
    FZ_UNROLL_BY(16) for (int base = first + lane * 2; base < last; base += 64) {
      const fz_vec<f32, 2> q1 = fz_load<1, 2>((fz_at(args.p_x, i0 * args.st_x_0) + base));
      FZ_UNROLL for (int e = 0; e < 2; ++e) {
        h1[base + e] = q1.v[e];
      }
    }
    FZ_UNROLL_BY(4) for (int base = first + lane * 2; base < last; base += 64) {
      FZ_UNROLL for (int e = 0; e < 2; ++e) {
        const f32 v1 = h1[base + e];
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
  f32 v49;
   {
    f32 r49[2] = {-0.0f, -0.0f};
    const int first = 0;
    const int last = args.n1;
    FZ_UNROLL_BY(4) for (int base = first + lane * 2; base < last; base += 64) {
      FZ_UNROLL for (int e = 0; e < 2; ++e) {
        const f32 v5 = h1[base + e];
        const f32 v6 = v5 - v2;
        const f32 v7 = -104.0f;
        const bool v8 = v6 < v7;
        const f32 v9 = v8 ? v7 : v6;
        const f32 v10 = 89.0f;
        const bool v11 = v10 < v9;
        const f32 v12 = v11 ? v10 : v9;
        const f32 v13 = 12582912.0f;
        const f32 v14 = 1.9046542e-09f;
        const f32 v15 = 1.442695f;
        const f32 v16 = fz_fma(v12, v15, v13);
        const f32 v17 = v16 - v13;
        const f32 v18 = -0.6931472f;
        const f32 v19 = fz_fma(v17, v18, v12);
        const u32 v20 = fz_bitcast<u32>(v16);
        const f32 v21 = fz_fma(v17, v14, v19);
        const f32 v22 = 1.0f;
        const f32 v23 = 0.0013940457f;
        const f32 v24 = 0.008368833f;
        const f32 v25 = fz_fma(v23, v21, v24);
        const f32 v26 = 0.041666403f;
        const f32 v27 = fz_fma(v25, v21, v26);
        const f32 v28 = 0.1666652f;
        const f32 v29 = fz_fma(v27, v21, v28);
        const f32 v30 = 0.5f;
        const f32 v31 = fz_fma(v29, v21, v30);
        const f32 v32 = fz_fma(v31, v21, v22);
        const f32 v33 = fz_fma(v32, v21, v22);
        const f32 v34 = 0.0f;
        const f32 v35 = v8 ? v34 : v33;
        const u32 v36 = 23u;
        const u32 v37 = 1065353216u;
        const u32 v38 = 1u;
        const u32 v39 = fz_shr(v20, v38);
        const u32 v40 = fz_shl(v39, v36);
        const u32 v41 = fz_shl(v20, v36);
        const u32 v42 = v41 - v40;
        const u32 v43 = v42 + v37;
        const f32 v44 = fz_bitcast<f32>(v43);
        const u32 v45 = v40 + v37;
        const f32 v46 = fz_bitcast<f32>(v45);
        const f32 v47 = v35 * v46;
        const f32 v48 = v47 * v44;
        h48[base + e] = v48;
        r49[e] = r49[e] + v48;
      }
    }
    FZ_UNROLL for (int h = 16; h > 0; h /= 2) {
      r49[0] = r49[0] + fz_exchange(r49[0], h);
      r49[1] = r49[1] + fz_exchange(r49[1], h);
    }
    r49[0] = r49[0] + r49[1];
    v49 = last > first ? r49[0] : 0.0f;
  }
   {
    const int first = 0;
    const int last = args.n1;
    FZ_UNROLL_BY(4) for (int base = first + lane * 2; base < last; base += 64) {
      fz_vec<f32, 2> w97;
      FZ_UNROLL for (int e = 0; e < 2; ++e) {
        const f32 v95 = h48[base + e];
        const f32 v96 = v95 / v49;
        w97.v[e] = v96;
      }
      fz_store((fz_at(args.p_o, i0 * args.st_o_0) + base), w97);
    }
  }
}
