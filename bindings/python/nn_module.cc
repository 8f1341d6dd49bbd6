// Functions of frazil.nn: the composites of core/functions/composites.h.
#include "bindings/python/convert.h"
#include "bindings/python/functions.h"
#include "bindings/python/held.h"
#include "bindings/python/movement.h"
#include "core/functions/composites.h"

namespace frazil::python {
namespace {

template <OpName name, Tensor (*function)(const Tensor&)>
FZ_FAST(Activation) {
  FZ_ARGS(1, std::string(name.text) + "(x, /)");
  Tensor own;
  const Tensor* x = HeldTensor(a[0], name.text, &own);
  return x ? Wrap(function(*x)) : nullptr;
}

FZ_FAST(Gelu) {
  FZ_ARGS(2, "gelu(x, /, *, approximate='none')");
  Tensor own;
  const Tensor* x = HeldTensor(a[0], "gelu", &own);
  if (!x) return nullptr;
  if (!a[1]) return Wrap(ops::gelu(*x));
  const char* kind = PyUnicode_Check(a[1]) ? PyUnicode_AsUTF8(a[1]) : "";
  if (!kind) return nullptr;
  const std::string text = kind;
  if (text == "none" || text == "tanh") return Wrap(ops::gelu(*x, text == "tanh"));
  return Raise(ValueError("[gelu] approximate must be \"none\" or \"tanh\", got \"", text, "\"."));
}

template <OpName name, Tensor (*function)(const Tensor&, int64_t)>
FZ_FAST(AlongAxis) {
  FZ_ARGS(2, std::string(name.text) + "(x, /, axis=-1)");
  Tensor own;
  const Tensor* x = HeldTensor(a[0], name.text, &own);
  int64_t axis = -1;
  if (!x || (a[1] && !ToInt(a[1], name.text, "axis", &axis))) return nullptr;
  return Wrap(function(*x, axis));
}

FZ_FAST(LayerNorm) {
  FZ_ARGS(4, "layer_norm(x, /, weight=None, bias=None, *, eps=1e-05)");
  Tensor own[3];
  const Tensor* inputs[3] = {};
  double eps = 1e-5;
  for (int i = 0; i < 3; ++i) {
    if (i > 0 && !Given(a[i])) continue;
    inputs[i] = HeldTensor(a[i], "layer_norm", &own[i]);
    if (!inputs[i]) return nullptr;
  }
  if (a[3] && !ToDouble(a[3], "layer_norm", "eps", &eps)) return nullptr;
  return Wrap(ops::layer_norm(*inputs[0], inputs[1], inputs[2], eps));
}

template <OpName name, OpName parameters, Tensor (*loss)(const Tensor&, const Tensor&)>
FZ_FAST(Loss) {
  FZ_ARGS(2, std::string(name.text) + parameters.text);
  Tensor own, own_target;
  const Tensor* x = HeldTensor(a[0], name.text, &own);
  const Tensor* target = x ? HeldTensor(a[1], name.text, &own_target) : nullptr;
  return target ? Wrap(loss(*x, *target)) : nullptr;
}

FZ_FAST(Attention) {
  FZ_ARGS(5, "attention(q, k, v, *, causal=False, scale=None)");
  Tensor own[3];
  const Tensor* inputs[3];
  for (int i = 0; i < 3; ++i) {
    inputs[i] = HeldTensor(a[i], "attention", &own[i]);
    if (!inputs[i]) return nullptr;
  }
  bool causal;
  std::optional<double> scale;
  if (!ToBool(a[3], "attention", "causal", false, &causal)) return nullptr;
  if (Given(a[4])) {
    scale.emplace();
    if (!ToDouble(a[4], "attention", "scale", &*scale)) return nullptr;
  }
  return Wrap(ops::attention(*inputs[0], *inputs[1], *inputs[2], causal, scale));
}

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

std::string Doc(CompositeId id) { return std::string(Info(id).doc); }

}  // namespace

std::vector<FunctionRow> NnFunctions() {
  return {
      {"relu(x, /)", Doc(CompositeId::k_relu), Activation<"relu", ops::relu>},
      {"sigmoid(x, /)", Doc(CompositeId::k_sigmoid), Activation<"sigmoid", ops::sigmoid>},
      {"silu(x, /)", Doc(CompositeId::k_silu), Activation<"silu", ops::silu>},
      {"softplus(x, /)", Doc(CompositeId::k_softplus), Activation<"softplus", ops::softplus>},
      {"gelu(x, /, *, approximate='none')", Doc(CompositeId::k_gelu), Gelu},
      {"softmax(x, /, axis=-1)", Doc(CompositeId::k_softmax), AlongAxis<"softmax", ops::softmax>},
      {"log_softmax(x, /, axis=-1)", Doc(CompositeId::k_log_softmax),
       AlongAxis<"log_softmax", ops::log_softmax>},
      {"layer_norm(x, /, weight=None, bias=None, *, eps=1e-05)", Doc(CompositeId::k_layer_norm),
       LayerNorm},
      {"cross_entropy(logits, labels)", Doc(CompositeId::k_cross_entropy),
       Loss<"cross_entropy", "(logits, labels)", ops::cross_entropy>},
      {"mse_loss(x, target)", Doc(CompositeId::k_mse_loss),
       Loss<"mse_loss", "(x, target)", ops::mse_loss>},
      {"attention(q, k, v, *, causal=False, scale=None)", Doc(CompositeId::k_attention), Attention},
      {"conv2d(x, w, *, stride=1, padding=0, dilation=1, groups=1, layout='NHWC')",
       std::string(Info(OpId::k_conv2d).doc) +
           " Strides, zeros around x and gaps in w are one number or two. layout \"NHWC\": x is "
           "(n, "
           "height, width, in), w (kernel height, kernel width, in / groups, out); \"NCHW\": x is "
           "(n, in, height, width), w (out, in / groups, kernel height, kernel width).",
       Conv2d},
  };
}

}  // namespace frazil::python
