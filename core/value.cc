#include "core/value.h"

#include <cstring>

#include "core/backend.h"
#include "core/check.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace frazil {

bool Value::DropShared() const {
  Pending* const owner = pending.load(std::memory_order_relaxed);
  if (owner && owner->LetGo(this)) return false;
  return RefCounted::DropRef();
}

void Value::FreeError(Value* v) {
  delete v->status;
  v->~Value();
  GiveBlock(v, kClass);
}

void Value::Free(Value* v) {
  if (__builtin_expect(v->is_error(), 0)) return FreeError(v);
  frazil::Release(v->layout);
  Storage* const s = v->storage;
  const bool inside = v->inside();
  v->~Value();
#if defined(__SANITIZE_ADDRESS__)
  if (inside) __asan_poison_memory_region(v, sizeof(Value));
#endif
  if (s && s->DropRef()) Storage::Free(s);
  if (!inside) GiveBlock(v, kClass);
}

ValueRef Value::Make(DType dtype, Device device, const Layout* layout, StorageRef storage,
                     char* data) {
  Storage* const s = storage.release();
  // Nobody else can see a storage with one holder.
  const bool inside = s->room && s->holders() == 1;
  if (inside) s->room = false;
  Value* const v = inside ? new (reinterpret_cast<char*>(s) - kValueRoom) Value : New();
  v->SetKind(KindOf(dtype, device, false));
  frazil::Retain(layout);
  v->layout = layout;
  v->storage = s;
  v->data = data;
  return ValueRef::Adopt(v);
}

StatusOr<ValueRef> Value::Allocate(DType dtype, Device device, const Layout* layout) {
  auto storage = frazil::Allocate(device, static_cast<size_t>(layout->size) * SizeOf(dtype));
  if (!storage.ok()) return std::move(storage).status();
  char* data = (*storage)->data;
  return Make(dtype, device, layout->shape, *std::move(storage), data);
}

ValueRef Value::Immediate(DType dtype, uint64_t bits) {
  Value* v = New();
  v->dtype = dtype;
  v->layout = Scalar0d();
  v->immediate = true;
  v->imm = bits;
  v->data = reinterpret_cast<char*>(&v->imm);
  return ValueRef::Adopt(v);
}

ValueRef Value::Error(Status status) {
  FZ_CHECK(!status.ok());
  Value* v = New();
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
