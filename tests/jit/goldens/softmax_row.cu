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
  __shared__ f32 lane50[64];
  FZ_THREADS {
    f32 r50 = -0.0f;
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
      r50 = r50 + v49;
    }
    lane50[thread] = r50;
  }
  FZ_SYNC;
  for (int h = 32; h > 0; h /= 2) {
    FZ_THREADS if (thread < h) {
      lane50[thread] = lane50[thread] + lane50[thread + h];
    }
    FZ_SYNC;
  }
  const f32 v50 = last4 > first4 ? lane50[0] : 0.0f;
  const i64 first52 = 0, last52 = args.n[1];
  FZ_THREADS {
    for (i64 i1 = first52 + thread; i1 < last52; i1 += 64) {
      const f32 v53 = fz_at(args.p_x, i0 * args.st_x[0])[i1];
      const f32 v54 = v53 - v2;
      const f32 v55 = -104.0f;
      const f32 v56 = 89.0f;
      const bool v57 = v54 < v55;
      const f32 v58 = v57 ? v55 : v54;
      const bool v59 = v56 < v58;
      const f32 v60 = v59 ? v56 : v58;
      const f32 v61 = 12582912.0f;
      const f32 v62 = 1.9046542e-09f;
      const f32 v63 = 1.442695f;
      const f32 v64 = fz_fma(v60, v63, v61);
      const f32 v65 = v64 - v61;
      const f32 v66 = -0.6931472f;
      const f32 v67 = fz_fma(v65, v66, v60);
      const u32 v68 = fz_bitcast<u32>(v64);
      const f32 v69 = v65 * v62;
      const f32 v70 = fz_fma(v65, v62, v67);
      const f32 v71 = 1.0f;
      const f32 v72 = 0.0013940457f;
      const f32 v73 = 0.008368833f;
      const f32 v74 = fz_fma(v72, v70, v73);
      const f32 v75 = 0.041666403f;
      const f32 v76 = fz_fma(v74, v70, v75);
      const f32 v77 = 0.1666652f;
      const f32 v78 = fz_fma(v76, v70, v77);
      const f32 v79 = 0.5f;
      const f32 v80 = fz_fma(v78, v70, v79);
      const f32 v81 = v70 * v70;
      const f32 v82 = fz_fma(v81, v80, v69);
      const f32 v83 = v67 + v82;
      const f32 v84 = v83 + v71;
      const u32 v85 = 23u;
      const u32 v86 = 1065353216u;
      const u32 v87 = 1u;
      const u32 v88 = fz_shr(v68, v87);
      const u32 v89 = fz_shl(v88, v85);
      const u32 v90 = fz_shl(v68, v85);
      const u32 v91 = v90 - v89;
      const u32 v92 = v91 + v86;
      const f32 v93 = fz_bitcast<f32>(v92);
      const u32 v94 = v89 + v86;
      const f32 v95 = fz_bitcast<f32>(v94);
      const f32 v96 = v84 * v95;
      const f32 v97 = v96 * v93;
      const f32 v98 = v97 / v50;
      fz_at(args.p_o, i0 * args.st_o[0])[i1] = v98;
    }
  }
  FZ_SYNC;
}
