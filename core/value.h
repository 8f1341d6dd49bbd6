// Value: an immutable array, or the promise of one. Created by ops; held by cells (core/tensor.h),
// tape nodes, traces and plans. Invariant: dtype, layout and (once set) data never change; a value
// is in one of three states:
//   ready      data points at the first element, in `storage` or, for immediates, in the value
//   itself
//   deferred   `pending` belongs to a trace that will fill it; only core::Read may wait for it. Or to
//   a batch, which never does (batch/batch.h): its storage holds what it stands for, and no bytes
//   error      made by an op that failed; carries the status, absorbs every further op
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

#include "core/device.h"
#include "core/dtype.h"
#include "core/layout.h"
#include "core/memory/storage.h"
#include "core/ref.h"

#pragma GCC visibility push(default)
namespace frazil {

class Value;
using ValueRef = Ref<Value>;

// What a deferred value belongs to: implemented by tracer/session. Force makes the value (and all
// it needs) ready.
class Pending {
 public:
  virtual Status Force(const Value* value) = 0;
  // The caller gives up its hold of a value that perhaps only the owner holds besides. True: it is
  // done, without an atomic subtraction; false: nothing has happened.
  virtual bool LetGo(const Value* value) = 0;
  // What stands for the value where all of its elements are asked about at once, or null
  // (batch/batch.h).
  virtual Ref<Value> Behind(const Value* value) { return nullptr; }

 protected:
  ~Pending() = default;
};

class Value : public RefCounted {
 public:
  DType dtype{};
  Device device;
  bool immediate = false;  // 0-d, data inside the value, passed to kernels as a scalar argument
  uint8_t unused = 0;      // the four together are kind()
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

  // dtype, device and whether it is immediate, as one word.
  uint32_t kind() const {
    uint32_t word;
    std::memcpy(&word, reinterpret_cast<const char*>(this) + kKindAt, sizeof word);
    return word;
  }
  static uint32_t KindOf(DType dtype, Device device, bool immediate) {
    return static_cast<uint32_t>(dtype) | uint32_t{device.word} << 8 | uint32_t{immediate} << 16;
  }

  static void Free(Value* v);
  bool DropRef() const { return holders() == 1 || DropShared(); }  // as RefCounted

  // A value over `storage`, whose first element lies at `data`.
  static ValueRef Make(DType dtype, Device device, const Layout* layout, StorageRef storage,
                       char* data);
  // A value of `kind` and its storage in one new block, for a dense layout of at most kSmallData
  // bytes: contents undefined. `block_class`: of those bytes and kSmallHeader.
  static Value* NewSmall(uint32_t kind, const Layout* layout, int block_class);
  // A dense value in new memory, contents undefined.
  static StatusOr<ValueRef> Allocate(DType dtype, Device device, const Layout* layout);
  // Has two references from the start: the owner's and the result's (ValueRef::Adopt twice).
  static Value* Deferred(uint32_t kind, const Layout* layout, Pending* owner, uint64_t tag);
  // One that its owner alone holds is handed out as if it were new.
  void DeferAgain(uint64_t new_tag) {
    std::atomic_ref<uint64_t>(tag).store(new_tag, std::memory_order_relaxed);
    StartWith(2);
  }
  // For the owner of a deferred value, while nobody else can take hold of it: one of two holders
  // lets go.
  bool LeaveOne() const {
    if (holders() != 2) return false;
    StartWith(1);
    return true;
  }
  static ValueRef Immediate(DType dtype, uint64_t bits);
  static ValueRef Error(Status status);

  // Makes a deferred value ready: data lies inside `storage`. Called by the trace that owns it.
  void Fill(StorageRef storage, char* data);
  // The same with what an eager op or a plan made in its place.
  Status FillFrom(const Value& made);

 private:
  static constexpr size_t kKindAt = sizeof(RefCounted);
  static constexpr int kClass = BlockClass(kValueRoom);

  static Value* New() { return new (TakeBlock(kClass)) Value; }
  static void FreeError(Value* v);
  bool DropShared() const;
  // Whether it lies in front of its storage, in the storage's block.
  bool inside() const {
    return reinterpret_cast<const char*>(storage) == reinterpret_cast<const char*>(this + 1);
  }
  void SetKind(uint32_t word) {
    std::memcpy(reinterpret_cast<char*>(this) + kKindAt, &word, sizeof word);
  }
  Value() : imm(0) {}
};
static_assert(sizeof(Value) == kValueRoom);

inline Value* Value::NewSmall(uint32_t kind, const Layout* layout, int block_class) {
  Storage* const s = NewSmallStorage(block_class);
  s->room = false;
  Value* const v = new (reinterpret_cast<char*>(s) - kValueRoom) Value;
  v->SetKind(kind);
  frazil::Retain(layout);
  v->layout = layout;
  v->storage = s;
  v->data = s->data;
  return v;
}

inline Value* Value::Deferred(uint32_t kind, const Layout* layout, Pending* owner, uint64_t tag) {
  Value* const v = New();
  v->SetKind(kind);
  frazil::Retain(layout);
  v->layout = layout;
  v->pending.store(owner, std::memory_order_relaxed);
  v->tag = tag;
  v->StartWith(2);
  return v;
}

}  // namespace frazil
#pragma GCC visibility pop
