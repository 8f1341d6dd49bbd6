// A cursor over the text of a graph or a program, and how both write the types of arrays:
// f32[64,10], with "@npu" behind it for another device than the CPU and "strides [1,64]" where it
// is not dense. Called by jit/graph and tracer/program_text. Invariant: errors name the line.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/device.h"
#include "core/dtype.h"
#include "core/layout.h"
#include "core/op.h"
#include "core/str.h"

namespace frazil {

struct ArrayType {
  DType dtype{};
  Device device;
  LayoutRef layout;
};

enum class Strides { kIfNotDense, kAlways };
void AppendType(std::string* out, const ArrayType& type, Strides strides);
// A number: "scalar f32", without axes.
void AppendScalarType(std::string* out, DType dtype, Device device);

// Words and single punctuation characters; line ends count as space, # begins a comment.
class TextCursor {
 public:
  // what: "graph", for errors.
  TextCursor(std::string_view what, std::string_view text) : what_(what), text_(text) {}

  template <typename... Args>
  Status Fail(const Args&... args) const {
    return ValueError("[", what_, "] line ", line_, ": ", args..., ".");
  }

  std::string_view Peek() const;  // empty at the end
  std::string_view Take();
  bool TakeIf(std::string_view word);
  Status Expect(std::string_view word);
  StatusOr<int64_t> TakeInt();
  // "..." with C's escapes.
  StatusOr<std::string> TakeQuoted();
  // Integers between `open` and `close`.
  StatusOr<Attrs> TakeList(std::string_view open, std::string_view close);
  // dtype and device; dims and strides unless it is a scalar.
  StatusOr<ArrayType> TakeType(bool scalar);
  // The comment that ends the line.
  std::optional<std::string_view> TakeComment();

 private:
  void SkipSpace(size_t* at, int* line) const;
  std::string_view Word(size_t at) const;

  std::string_view what_, text_;
  size_t at_ = 0;
  int line_ = 1;
};

}  // namespace frazil
