// CUDA's vector types with their alignments. Part of shim.h.
#pragma once

#define FZ_VECTOR_2(type, name, bytes)             \
  struct __attribute__((aligned(bytes))) name##2 { \
    type x, y;                                     \
  };                                               \
  inline name##2 make_##name##2(type x, type y) { return {x, y}; }
#define FZ_VECTOR_4(type, name, bytes)             \
  struct __attribute__((aligned(bytes))) name##4 { \
    type x, y, z, w;                               \
  };                                               \
  inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
FZ_VECTOR_2(signed char, char, 2)
FZ_VECTOR_4(signed char, char, 4)
FZ_VECTOR_2(unsigned char, uchar, 2)
FZ_VECTOR_4(unsigned char, uchar, 4)
FZ_VECTOR_2(short, short, 4)
FZ_VECTOR_4(short, short, 8)
FZ_VECTOR_2(unsigned short, ushort, 4)
FZ_VECTOR_4(unsigned short, ushort, 8)
FZ_VECTOR_2(int, int, 8)
FZ_VECTOR_4(int, int, 16)
FZ_VECTOR_2(unsigned, uint, 8)
FZ_VECTOR_4(unsigned, uint, 16)
FZ_VECTOR_2(float, float, 8)
FZ_VECTOR_4(float, float, 16)
FZ_VECTOR_2(double, double, 16)
FZ_VECTOR_4(double, double, 16)
FZ_VECTOR_2(long long, longlong, 16)
FZ_VECTOR_4(long long, longlong, 16)
FZ_VECTOR_2(unsigned long long, ulonglong, 16)
FZ_VECTOR_4(unsigned long long, ulonglong, 16)
#undef FZ_VECTOR_2
#undef FZ_VECTOR_4
