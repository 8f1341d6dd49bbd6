struct frazil_chain_3eb3cb1f_args {
  const f32* p_x;
  const f32* p_b;
  f32* p_o;
  int st_x_0;
  int st_o_0;
  u32 s_w;
  int points;
  int columns1;
  u32 shift1;
  u32 magic1;
};
extern "C" __global__ void __launch_bounds__(256) frazil_chain_3eb3cb1f(const frazil_chain_3eb3cb1f_args args) {
  const int point = (int)blockIdx.x * 256 + (int)threadIdx.x;
  if (point >= args.points) return;
  const int rest1 = fz_quotient(point, args.magic1, args.shift1);
  const int column = (point - rest1 * args.columns1) * 4;
  const int i0 = rest1;
  const fz_vec<f32, 4> q0 = fz_load<1, 4>((fz_at(args.p_x, i0 * args.st_x_0) + column));
  const fz_vec<f32, 4> q2 = fz_load<1, 4>((args.p_b + column));
  fz_vec<f32, 4> w7;
  FZ_UNROLL for (int e = 0; e < 4; ++e) {
    const f32 v0 = q0.v[e];
    const f32 v1 = fz_bitcast<f32>(args.s_w);
    const f32 v2 = q2.v[e];
    const f32 v3 = v0 * v1;
    const f32 v4 = v3 + v2;
    const f32 v5 = 0.0f;
    const f32 v6 = fz_max(v4, v5);
    w7.v[e] = v6;
  }
  fz_store((fz_at(args.p_o, i0 * args.st_o_0) + column), w7);
}
