struct frazil_phases_34455328_args {
  const i32* p_x;
  i32* p_o;
  i32* p_p;
  int points;
};
extern "C" __global__ void __launch_bounds__(256) frazil_phases_34455328(const frazil_phases_34455328_args args) {
  const int point = (int)blockIdx.x * 256 + (int)threadIdx.x;
  if (point >= args.points) return;
  const int column = point * 4;
  const fz_vec<i32, 4> q0 = fz_load<1, 4>((args.p_x + column));
  fz_vec<i32, 4> w2;
  FZ_UNROLL for (int e = 0; e < 4; ++e) {
    const i32 v0 = q0.v[e];
    const i32 v1 = fz_mul(v0, v0);
    w2.v[e] = v1;
  }
  fz_store((args.p_o + column), w2);
}
extern "C" __global__ void __launch_bounds__(256) frazil_phases_34455328_phase1(const frazil_phases_34455328_args args) {
  const int point = (int)blockIdx.x * 256 + (int)threadIdx.x;
  if (point >= args.points) return;
  const int column = point * 4;
  const fz_vec<i32, 4> q4 = fz_load<0, 4>((args.p_o + column));
  fz_vec<i32, 4> w6;
  FZ_UNROLL for (int e = 0; e < 4; ++e) {
    const i32 v4 = q4.v[e];
    const i32 v5 = fz_neg(v4);
    w6.v[e] = v5;
  }
  fz_store((args.p_p + column), w6);
}
