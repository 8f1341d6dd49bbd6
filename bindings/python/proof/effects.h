// Effects: what a body did to the Python objects that its call compares: items of lists, deques and dicts,
// attributes of instances, cells of closures, global names. They are found by comparing what the
// objects held before and after, written behind the words of the result (bindings/python/result.h),
// and done again in that order when the body is skipped. Called by promised.cc and result.cc.
// Invariants: what the words describe turns the content before into the content after; a change
// that cannot be done again is refused.
#pragma once

#include <string>
#include <vector>

#include "bindings/python/result.h"

namespace frazil::python {

class Effects {
 public:
  // Before the body. Keeps what the containers of `nest` hold.
  explicit Effects(const Nest& nest);

  // After it: adds the changes to the result's words. False with refusal() set.
  bool Find(Result* form);
  const std::string& refusal() const { return refusal_; }

 private:
  struct Content {
    Object object;
    PyTypeObject* type;  // before
    std::vector<Object> items, slots;
    uint64_t structure = 0;  // of a module
  };
  static Content ContentOf(PyObject* object);
  bool Compare(size_t container, const Content& before, Result* form);
  bool CompareSlots(size_t container, const Content& before, Result* form);
  bool CompareList(size_t container, const Content& before, Result* form);
  bool CompareDict(size_t container, const Content& before, Result* form);
  bool Refuse(std::string_view why);

  std::vector<Content> before_;
  std::vector<std::pair<Nest::Place, Object>> names_;
  std::string refusal_;
};

}  // namespace frazil::python
