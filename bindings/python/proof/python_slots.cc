#include "bindings/python/proof/python_slots.h"

namespace frazil::python {

const PythonSlots& SlotsOfPython() {
  static const PythonSlots slots = [] {
    const Object names = Object::Steal(PyDict_New());
    const Object made =
        Object::Steal(PyRun_String("class Plain: pass\n"
                                   "class Probe:\n"
                                   "  def __new__(cls): pass\n"
                                   "  def __init__(self): pass\n"
                                   "  def __call__(self): pass\n"
                                   "  def __next__(self): pass\n"
                                   "  def __getitem__(self, i): pass\n"
                                   "  def __contains__(self, i): pass\n"
                                   "  def __len__(self): pass\n"
                                   "  def __get__(self, o, t): pass\n"
                                   "  def __set__(self, o, v): pass\n",
                                   Py_file_input, names.get(), names.get()));
    const auto find = [&](const char* name) {
      return reinterpret_cast<const PyTypeObject*>(PyDict_GetItemString(names.get(), name));
    };
    const PyTypeObject *plain = find("Plain"), *type = find("Probe");
    if (!plain || !type) return PyErr_Clear(), PythonSlots{};
    return PythonSlots{plain->tp_iternext,
                       type->tp_iternext,
                       type->tp_as_mapping->mp_subscript,
                       type->tp_as_sequence->sq_contains,
                       type->tp_as_sequence->sq_length,
                       type->tp_new,
                       type->tp_init,
                       type->tp_call,
                       type->tp_descr_get,
                       type->tp_descr_set};
  }();
  return slots;
}

}  // namespace frazil::python
