// The op table as Python data, for tests, benchmarks and documentation.
#include "bindings/python/table_module.h"

#include "bindings/python/movement.h"
#include "bindings/python/other_names.h"
#include "core/op.h"

namespace frazil::python {
namespace {

constexpr const char* kTypeSets[] = {"any", "number", "bool_or_number", "float",
                                     "int", "bits",   "bool",           "complex"};

PyObject* Row(const OpInfo& info) {
  const std::string name(info.name), klass(Info(info.klass).text), doc(info.doc);
  return Py_BuildValue("{sssssisssOsssdsdsisO}", "name", name.c_str(), "class", klass.c_str(),
                       "arity", info.arity, "types", kTypeSets[static_cast<int>(info.types)],
                       "differentiable", Differentiable(info) ? Py_True : Py_False, "doc",
                       doc.c_str(), "lo", info.lo, "hi", info.hi, "ulp", info.ulp, "may_fail",
                       Info(info.klass).fails == Fails::kOnData ? Py_True : Py_False);
}

FZ_FAST(OpTable) {
  FZ_ARGS(0, "op_table()");
  Object rows = Object::Steal(PyList_New(0));
  for (int i = 0; rows && i < kNumOps; ++i) {
    Object row = Object::Steal(Row(Info(static_cast<OpId>(i))));
    if (!row || PyList_Append(rows.get(), row.get()) < 0) return nullptr;
  }
  return rows.release();
}

FZ_FAST(OtherNamesTable) {
  FZ_ARGS(0, "other_names()");
  return OtherNames();
}

}  // namespace

std::vector<FunctionRow> TableFunctions() {
  return {{"op_table()", "The rows of the op table as a list of dicts.", OpTable},
          {"other_names()", "What other libraries call what frazil has under another name.",
           OtherNamesTable}};
}

}  // namespace frazil::python
