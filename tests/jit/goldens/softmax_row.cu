struct frazil_softmax_args {
  const f32* p_x;
  f32* p_o;
  i64 n[2];
  i64 st_x[2];
  i64 st_o[2];
  i64 row_begin, row_end, col_begin, col_end;
};
extern "C" __global__ void frazil_softmax(frazil_softmax_args args) {
  const i64 cols = args.col_end - args.col_begin;
  const i64 point = blockIdx.x;
  const i64 i0 = args.col_begin + point % cols;
  const i64 first0 = 0, last0 = args.n[1];
  __shared__ f32 lane2[64];
  FZ_THREADS {
    f32 r2 = fz_bitcast<f32>(0xff800000u);
    for (i64 i1 = first0 + thread; i1 < last0; i1 += 64) {
      const f32 v1 = fz_at(args.p_x, i0 * args.st_x[0])[i1];
      r2 = fz_max(r2, v1);
    }
    lane2[thread] = r2;
  }
  FZ_SYNC;
  for (int h = 32; h > 0; h /= 2) {
    FZ_THREADS if (thread < h) {
      lane2[thread] = fz_max(lane2[thread], lane2[thread + h]);
    }
    FZ_SYNC;
  }
  const f32 v2 = lane2[0];
  const i64 first4 = 0, last4 = args.n[1];
  __shared__ f32 lane52[64];
  FZ_THREADS {
    f32 r52 = -0.0f;
    for (i64 i1 = first4 + thread; i1 < last4; i1 += 64) {
      const f32 v5 = fz_at(args.p_x, i0 * args.st_x[0])[i1];
      const f32 v6 = v5 - v2;
      const f32 v7 = -104.0f;
      const f32 v8 = 89.0f;
      const bool v9 = v6 < v7;
      const f32 v10 = v9 ? v7 : v6;
      const bool v11 = v8 < v10;
      const f32 v12 = v11 ? v8 : v10;
      const f32 v13 = 12582912.0f;
      const f32 v14 = 1.442695f;
      const f32 v15 = fz_fma(v12, v14, v13);
      const f32 v16 = v15 - v13;
      const f32 v17 = -0.6931472f;
      const f32 v18 = fz_fma(v16, v17, v12);
      const f32 v19 = 1.9046542e-09f;
      const f32 v20 = v16 * v19;
      const f32 v21 = v18 + v20;
      const u32 v22 = fz_bitcast<u32>(v15);
      const f32 v23 = v18 - v21;
      const f32 v24 = v23 + v20;
      const f32 v25 = 1.0f;
      const f32 v26 = 0.0013940457f;
      const f32 v27 = 0.008368833f;
      const f32 v28 = fz_fma(v26, v21, v27);
      const f32 v29 = 0.041666403f;
      const f32 v30 = fz_fma(v28, v21, v29);
      const f32 v31 = 0.1666652f;
      const f32 v32 = fz_fma(v30, v21, v31);
      const f32 v33 = 0.5f;
      const f32 v34 = fz_fma(v32, v21, v33);
      const f32 v35 = v21 * v21;
      const f32 v36 = fz_fma(v35, v34, v24);
      const f32 v37 = v21 + v36;
      const f32 v38 = v37 + v25;
      const u32 v39 = 23u;
      const u32 v40 = 1065353216u;
      const u32 v41 = 1u;
      const u32 v42 = fz_shr(v22, v41);
      const u32 v43 = fz_shl(v42, v39);
      const u32 v44 = fz_shl(v22, v39);
      const u32 v45 = v44 - v43;
      const u32 v46 = v45 + v40;
      const f32 v47 = fz_bitcast<f32>(v46);
      const u32 v48 = v43 + v40;
      const f32 v49 = fz_bitcast<f32>(v48);
      const f32 v50 = v38 * v49;
      const f32 v51 = v50 * v47;
      r52 = r52 + v51;
    }
    lane52[thread] = r52;
  }
  FZ_SYNC;
  for (int h = 32; h > 0; h /= 2) {
    FZ_THREADS if (thread < h) {
      lane52[thread] = lane52[thread] + lane52[thread + h];
    }
    FZ_SYNC;
  }
  const f32 v52 = last4 > first4 ? lane52[0] : 0.0f;
  const i64 first54 = 0, last54 = args.n[1];
  FZ_THREADS {
    for (i64 i1 = first54 + thread; i1 < last54; i1 += 64) {
      const f32 v55 = fz_at(args.p_x, i0 * args.st_x[0])[i1];
      const f32 v56 = v55 - v2;
      const f32 v57 = -104.0f;
      const f32 v58 = 89.0f;
      const bool v59 = v56 < v57;
      const f32 v60 = v59 ? v57 : v56;
      const bool v61 = v58 < v60;
      const f32 v62 = v61 ? v58 : v60;
      const f32 v63 = 12582912.0f;
      const f32 v64 = 1.442695f;
      const f32 v65 = fz_fma(v62, v64, v63);
      const f32 v66 = v65 - v63;
      const f32 v67 = -0.6931472f;
      const f32 v68 = fz_fma(v66, v67, v62);
      const f32 v69 = 1.9046542e-09f;
      const f32 v70 = v66 * v69;
      const f32 v71 = v68 + v70;
      const u32 v72 = fz_bitcast<u32>(v65);
      const f32 v73 = v68 - v71;
      const f32 v74 = v73 + v70;
      const f32 v75 = 1.0f;
      const f32 v76 = 0.0013940457f;
      const f32 v77 = 0.008368833f;
      const f32 v78 = fz_fma(v76, v71, v77);
      const f32 v79 = 0.041666403f;
      const f32 v80 = fz_fma(v78, v71, v79);
      const f32 v81 = 0.1666652f;
      const f32 v82 = fz_fma(v80, v71, v81);
      const f32 v83 = 0.5f;
      const f32 v84 = fz_fma(v82, v71, v83);
      const f32 v85 = v71 * v71;
      const f32 v86 = fz_fma(v85, v84, v74);
      const f32 v87 = v71 + v86;
      const f32 v88 = v87 + v75;
      const u32 v89 = 23u;
      const u32 v90 = 1065353216u;
      const u32 v91 = 1u;
      const u32 v92 = fz_shr(v72, v91);
      const u32 v93 = fz_shl(v92, v89);
      const u32 v94 = fz_shl(v72, v89);
      const u32 v95 = v94 - v93;
      const u32 v96 = v95 + v90;
      const f32 v97 = fz_bitcast<f32>(v96);
      const u32 v98 = v93 + v90;
      const f32 v99 = fz_bitcast<f32>(v98);
      const f32 v100 = v88 * v99;
      const f32 v101 = v100 * v97;
      const f32 v102 = v101 / v52;
      fz_at(args.p_o, i0 * args.st_o[0])[i1] = v102;
    }
  }
  FZ_SYNC;
}
