#include "core/value.h"

#include <cstring>

#include "core/check.h"
#include "core/device_memory.h"
#include "core/small_blocks.h"

namespace frazil {

struct ValueAccess {
  static Value* New() { return new (TakeBlock(sizeof(Value))) Value; }
};

void Value::Free(Value* v) {
  if (v->is_error()) {
    delete v->status;
  } else if (v->storage && v->storage->DropRef()) {
    Storage::Free(v->storage);
  }
  if (v->layout) Release(v->layout);
  v->~Value();
  GiveBlock(v, sizeof(Value));
}

ValueRef Value::Make(DType dtype, Device device, const Layout* layout, StorageRef storage,
                     char* data) {
  Value* v = ValueAccess::New();
  v->dtype = dtype;
  v->device = device;
  frazil::Retain(layout);
  v->layout = layout;
  v->storage = storage.release();
  v->data = data;
  return ValueRef::Adopt(v);
}

StatusOr<ValueRef> Value::Allocate(DType dtype, Device device, const Layout* layout) {
  auto storage = frazil::Allocate(device, static_cast<size_t>(layout->size) * SizeOf(dtype));
  if (!storage.ok()) return std::move(storage).status();
  char* data = (*storage)->data;
  return Make(dtype, device, layout->shape, *std::move(storage), data);
}

Value* Value::Deferred(DType dtype, Device device, const Layout* layout, Pending* owner,
                       uint64_t tag) {
  Value* v = ValueAccess::New();
  v->dtype = dtype;
  v->device = device;
  frazil::Retain(layout);
  v->layout = layout;
  v->pending.store(owner, std::memory_order_relaxed);
  v->tag = tag;
  v->StartWith(2);
  return v;
}

ValueRef Value::Immediate(DType dtype, uint64_t bits) {
  Value* v = ValueAccess::New();
  v->dtype = dtype;
  v->layout = Scalar0d();
  v->immediate = true;
  v->imm = bits;
  v->data = reinterpret_cast<char*>(&v->imm);
  return ValueRef::Adopt(v);
}

ValueRef Value::Error(Status status) {
  FZ_CHECK(!status.ok());
  Value* v = ValueAccess::New();
  v->dtype = DType::kBool;
  v->status = new Status(std::move(status));
  return ValueRef::Adopt(v);
}

void Value::Fill(StorageRef s, char* d) {
  FZ_CHECK(!ready());
  storage = s.release();
  data = d;
  pending.store(nullptr, std::memory_order_release);
}

Status Value::FillFrom(const Value& made) {
  FZ_CHECK(made.layout == layout && made.dtype == dtype);
  if (made.storage) {
    Fill(StorageRef::Share(made.storage), made.data);
    return absl::OkStatus();
  }
  FZ_ASSIGN_OR_RETURN(StorageRef memory, frazil::Allocate(SizeOf(made.dtype)));
  std::memcpy(memory->data, made.data, SizeOf(made.dtype));
  char* const first = memory->data;
  Fill(std::move(memory), first);
  return absl::OkStatus();
}

}  // namespace frazil
