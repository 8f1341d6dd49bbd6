// Value: an immutable array, or the promise of one. Created by ops; held by cells (core/tensor.h),
// tape nodes, traces and plans. Invariant: dtype, layout and (once set) data never change; a value
// is in one of three states:
//   ready      data points at the first element, in `storage` or, for immediates, in the value
//   itself
//   deferred   `pending` belongs to a trace that will fill it; only core::Read may wait for
//   it error      made by an op that failed; carries the status, absorbs every further op
#pragma once

#include <atomic>
#include <cstdint>

#include "core/device.h"
#include "core/dtype.h"
#include "core/layout.h"
#include "core/ref.h"
#include "core/storage.h"

namespace frazil {

class Value;
using ValueRef = Ref<Value>;

// What a deferred value belongs to: implemented by tracer/replayer. Force makes the value (and all
// it needs) ready.
class Pending {
 public:
  virtual Status Force(const Value* value) = 0;

 protected:
  ~Pending() = default;
};

class Value : public RefCounted {
 public:
  DType dtype;
  Device device;
  bool immediate = false;  // 0-d, data inside the value, passed to kernels as a scalar argument
  const Layout* layout = nullptr;  // null for errors
  char* data = nullptr;
  Storage* storage = nullptr;  // owned reference, null for immediates and while deferred
  std::atomic<Pending*> pending{nullptr};
  union {
    uint64_t imm;    // immediate bits
    Status* status;  // error (layout == null)
    uint64_t tag;    // while a trace records or replays: which op of which run made this value
  };

  bool is_error() const { return layout == nullptr; }
  // For values that are no errors. Once it is true, every thread that asked may read the data.
  bool ready() const { return pending.load(std::memory_order_acquire) == nullptr; }
  int64_t size() const { return layout->size; }
  Dims dims() const { return layout->dims(); }

  static void Free(Value* v);

  // A value over `storage`, whose first element lies at `data`.
  static ValueRef Make(DType dtype, Device device, const Layout* layout, StorageRef storage,
                       char* data);
  // A dense value in new memory, contents undefined.
  static StatusOr<ValueRef> Allocate(DType dtype, Device device, const Layout* layout);
  // Has two references from the start: the owner's and the result's (ValueRef::Adopt twice).
  static Value* Deferred(DType dtype, Device device, const Layout* layout, Pending* owner,
                         uint64_t tag);
  static ValueRef Immediate(DType dtype, uint64_t bits);
  static ValueRef Error(Status status);

  // Makes a deferred value ready: data lies inside `storage`. Called by the trace that owns it.
  void Fill(StorageRef storage, char* data);
  // The same with what an eager op or a plan made in its place.
  Status FillFrom(const Value& made);

 private:
  friend struct ValueAccess;
  Value() : imm(0) {}
};

}  // namespace frazil
