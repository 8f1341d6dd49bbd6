// Functions of frazil.nn: the composites that are at home there, sigmoid and conv2d.
#include "bindings/python/bound.h"
#include "bindings/python/convert.h"
#include "bindings/python/functions.h"
#include "bindings/python/held.h"
#include "bindings/python/movement.h"
#include "core/functions/composites.h"

namespace frazil::python {
namespace {

// A number for both axes, or a pair.
bool ToPair(PyObject* o, const char* what, std::array<int64_t, 2>* out) {
  if (!o) return true;
  if (!PyTuple_Check(o) && !PyList_Check(o)) {
    if (!ToInt(o, "conv2d", what, &(*out)[0])) return false;
    (*out)[1] = (*out)[0];
    return true;
  }
  if (PySequence_Size(o) != 2) {
    Raise(ValueError("[conv2d] ", what, " takes one number or two, got ", PySequence_Size(o), "."));
    return false;
  }
  for (int i = 0; i < 2; ++i) {
    PyObject* item = PySequence_GetItem(o, i);
    const bool good = item && ToInt(item, "conv2d", what, &(*out)[i]);
    Py_XDECREF(item);
    if (!good) return false;
  }
  return true;
}

FZ_FAST(Conv2d) {
  FZ_ARGS(7, "conv2d(x, w, *, stride=1, padding=0, dilation=1, groups=1, layout='NHWC')");
  Tensor own_x, own_w;
  const Tensor* x = HeldTensor(a[0], "conv2d", &own_x);
  const Tensor* w = x ? HeldTensor(a[1], "conv2d", &own_w) : nullptr;
  ops::Conv2dOptions options;
  if (!w || !ToPair(a[2], "stride", &options.stride) ||
      !ToPair(a[3], "padding", &options.padding) || !ToPair(a[4], "dilation", &options.dilation) ||
      (a[5] && !ToInt(a[5], "conv2d", "groups", &options.groups))) {
    return nullptr;
  }
  if (a[6]) {
    const char* layout = PyUnicode_Check(a[6]) ? PyUnicode_AsUTF8(a[6]) : "";
    if (!layout) return nullptr;
    const std::string text = layout;
    if (text != "NHWC" && text != "NCHW") {
      return Raise(ValueError("[conv2d] layout must be \"NHWC\" or \"NCHW\", got \"", text, "\"."));
    }
    options.channels_first = text == "NCHW";
  }
  return Wrap(ops::conv2d(*x, *w, options));
}

}  // namespace

std::vector<FunctionRow> NnFunctions() {
  std::vector<FunctionRow> rows = CompositeFunctions("nn");
  rows.push_back({"sigmoid(x, /)", std::string(Info(OpId::k_sigmoid).doc),
                  Bound<"sigmoid(x, /)", ops::sigmoid>});
  rows.push_back(
      {"conv2d(x, w, *, stride=1, padding=0, dilation=1, groups=1, layout='NHWC')",
       std::string(Info(OpId::k_conv2d).doc) +
           " Strides, zeros around x and gaps in w are one number or two. layout \"NHWC\": x is "
           "(n, "
           "height, width, in), w (kernel height, kernel width, in / groups, out); \"NCHW\": x is "
           "(n, in, height, width), w (out, in / groups, kernel height, kernel width).",
       Conv2d});
  return rows;
}

}  // namespace frazil::python
