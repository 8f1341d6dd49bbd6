/* The same in C: plain FILE.frz */
#include <frazil/c.h>
#include <stdio.h>
#include <string.h>

static int failed(int where) {
  printf("%d: %s\n", where, frz_last_error());
  return where;
}

int main(int argc, char** argv) {
  frz_program* model = NULL;
  frz_tensor *inputs[2] = {NULL, NULL}, *results[2] = {NULL, NULL};
  const int64_t shape[2] = {6, 4}, three[1] = {3}, index[3] = {0, 5, -1};
  float x[24], first[9], again[9];
  int i;
  if (argc != 2 || frz_abi_version() != FRZ_ABI_VERSION) return 1;
  if (frz_load("there is no such file", NULL, &model) != FRZ_FILE_ERROR || model) return failed(2);
  if (frz_load(argv[1], NULL, &model) != FRZ_OK) return failed(3);
  for (i = 0; i < 24; ++i) x[i] = 1;
  if (frz_tensor_new(FRZ_F32, 2, shape, x, &inputs[0]) != FRZ_OK) return failed(4);
  if (frz_tensor_new(FRZ_I64, 1, three, index, &inputs[1]) != FRZ_OK) return failed(5);
  for (i = 0; i < 4; ++i) {
    if (frz_call(model, 2, inputs, 2, results) != FRZ_OK) return failed(6);
    if (frz_tensor_rank(results[0]) != 2 || frz_tensor_extent(results[0], 1) != 3) return failed(7);
    if (frz_tensor_read(results[0], i ? again : first, sizeof first) != FRZ_OK) return failed(8);
    if (i && memcmp(first, again, sizeof first) != 0) return failed(9);
    frz_tensor_free(results[0]);
    frz_tensor_free(results[1]);
  }
  if (frz_call(model, 1, inputs, 2, results) != FRZ_TYPE_ERROR) return failed(10);
  puts(frz_last_error());
  frz_tensor_free(inputs[0]);
  frz_tensor_free(inputs[1]);
  frz_program_free(model);
  return 0;
}
