// The op table as Python data, for tests, benchmarks and documentation.
#include "bindings/python/table_module.h"

#include "core/op.h"

namespace frazil::python {
namespace {

namespace py = pybind11;

constexpr const char* kClasses[] = {
    "elementwise",  "cast",   "reduce",    "view",           "concat",
    "pad",          "take",   "put",       "positions",      "sort",
    "scan",         "matmul", "attention", "attention_grad", "conv",
    "conv_weights", "iota",   "transfer",  "random_bits"};
constexpr const char* kTypeSets[] = {"any",  "number", "bool_or_number", "float", "int",
                                     "bits", "bool"};

std::string Text(std::string_view s) { return std::string(s); }

py::list OpTable() {
  py::list rows;
  for (int i = 0; i < kNumOps; ++i) {
    const OpInfo& info = Info(static_cast<OpId>(i));
    py::dict row;
    row["name"] = Text(info.name);
    row["class"] = kClasses[static_cast<int>(info.klass)];
    row["arity"] = info.arity;
    row["types"] = kTypeSets[static_cast<int>(info.types)];
    row["differentiable"] = Differentiable(info);
    row["doc"] = Text(info.doc);
    row["lo"] = info.lo;
    row["hi"] = info.hi;
    row["ulp"] = info.ulp;
    row["may_fail"] = info.may_fail;
    rows.append(std::move(row));
  }
  return rows;
}

}  // namespace

void AddOpTable(pybind11::module_& module) {
  module.def("op_table", OpTable, "The rows of the op table as a list of dicts.");
}

}  // namespace frazil::python
