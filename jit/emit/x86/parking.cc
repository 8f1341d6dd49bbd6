// Code for values that are parked in an output (selection_parking.cc).
#include "jit/emit/x86/codegen.h"

namespace frazil::jit {

void Codegen::ParkValue(Id id) {
  const DType t = k_.body[id].type;
  StoreContiguous(t, R(id), PlaceOf(parking_, true).At(v_ * SizeOf(t)), TailMask());
}

void Codegen::TakeBack(Id id) {
  const DType t = k_.body[id].type;
  Set(id, LoadContiguous(t, PlaceOf(parking_, true).At(v_ * SizeOf(t)), TailMask()));
}

}  // namespace frazil::jit
