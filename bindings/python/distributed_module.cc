// Functions of frazil._frazil.distributed: processes and their collectives (distributed/functions.h).
// Called by frazil/distributed.
#include "bindings/python/convert.h"
#include "bindings/python/functions.h"
#include "bindings/python/movement.h"
#include "core/threads/long_work.h"
#include "distributed/functions.h"
#include "distributed/link.h"
#include "distributed/world.h"

namespace frazil::python {
namespace {

namespace d = frazil::distributed;

std::optional<Reduction> ReductionOf(PyObject* object) {
  constexpr const char* kNames[] = {"sum", "mean", "prod", "min", "max"};
  const char* const name = PyUnicode_Check(object) ? PyUnicode_AsUTF8(object) : nullptr;
  for (int i = 0; name && i < static_cast<int>(std::size(kNames)); ++i)
    if (std::string_view(name) == kNames[i]) return static_cast<Reduction>(i);
  PyErr_Format(PyExc_ValueError,
               "[distributed] op must be 'sum', 'mean', 'prod', 'min' or 'max', got %R.", object);
  return std::nullopt;
}

FZ_FAST(Init) {
  FZ_ARGS(2, "init(timeout, collective_timeout, /)");
  const double timeout = PyFloat_AsDouble(a[0]);
  const double collective_timeout = PyErr_Occurred() ? 0 : PyFloat_AsDouble(a[1]);
  if (PyErr_Occurred()) return nullptr;
  const Status s = [&] {
    const HostUnlocked unlocked;
    return d::Init({.timeout = timeout, .collective_timeout = collective_timeout});
  }();
  if (!s.ok()) return Raise(s);
  Py_RETURN_NONE;
}

FZ_FAST(State) {
  FZ_ARGS(0, "state()");
  return Py_BuildValue("(iiNs)", d::Rank(), d::Size(), PyBool_FromLong(d::Initialized()),
                       d::Library().c_str());
}

FZ_FAST(LocalRank) {
  FZ_ARGS(0, "local_rank()");
  return PyLong_FromLong(d::LocalRank());
}

FZ_FAST(LinkOf) {
  FZ_ARGS(0, "link()");
  const d::Link& link = d::TheLink();
  return Py_BuildValue("(ddd)", link.overhead, link.latency, link.bandwidth);
}

FZ_FAST(GroupOf) {
  FZ_ARGS(1, "group(ranks, /)");
  DimVec ranks;
  if (!ToInts(a[0], "distributed", "ranks", &ranks)) return nullptr;
  const auto number = d::NumberOf(ranks);
  if (!number.ok()) return Raise(number.status());
  return PyLong_FromLongLong(*number);
}

FZ_FAST(Abandon) {
  FZ_ARGS(1, "abandon(why, /)");
  const char* const why = PyUnicode_AsUTF8(a[0]);
  if (!why) return nullptr;
  const std::string text = why;
  const HostUnlocked unlocked;
  d::Abandon(text);
  Py_RETURN_NONE;
}

FZ_FAST(Finalize) {
  FZ_ARGS(0, "finalize()");
  {
    const HostUnlocked unlocked;
    d::Finalize();
  }
  Py_RETURN_NONE;
}

template <OpName name, Tensor (*f)(const Tensor&, Reduction, int64_t)>
PyObject* Reducing(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  FZ_ARGS(3, StrCat(name.text, "(x, op, group, /)"));
  Tensor own;
  const Tensor* const x = TensorOf(a[0], name.text, &own);
  if (!x) return nullptr;
  const auto op = ReductionOf(a[1]);
  int64_t group;
  if (!op || !ToInt(a[2], name.text, "group", &group)) return nullptr;
  return Wrap(f(*x, *op, group));
}

template <OpName name, Tensor (*f)(const Tensor&, int64_t)>
PyObject* Moving(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  FZ_ARGS(2, StrCat(name.text, "(x, group, /)"));
  Tensor own;
  const Tensor* const x = TensorOf(a[0], name.text, &own);
  int64_t group;
  if (!x || !ToInt(a[1], name.text, "group", &group)) return nullptr;
  return Wrap(f(*x, group));
}

template <OpName name, Tensor (*f)(const Tensor&, int64_t, int64_t)>
PyObject* WithPeer(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  FZ_ARGS(3, StrCat(name.text, "(x, peer, group, /)"));
  Tensor own;
  const Tensor* const x = TensorOf(a[0], name.text, &own);
  int64_t peer, group;
  if (!x || !ToInt(a[1], name.text, "rank", &peer) || !ToInt(a[2], name.text, "group", &group))
    return nullptr;
  return Wrap(f(*x, peer, group));
}

FZ_FAST(Barrier) {
  FZ_ARGS(1, "barrier(group, /)");
  int64_t group;
  if (!ToInt(a[0], "barrier", "group", &group)) return nullptr;
  if (const Status s = ops::barrier(group); !s.ok()) return Raise(s);
  Py_RETURN_NONE;
}

// What is computed of the first tensors has the history of the second, until it is called again.
FZ_FAST(SwapHistory) {
  FZ_ARGS(2, "swap_history(first, second, /)");
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(a[0]); ++i) {
    Tensor& first = CellOf(PyList_GET_ITEM(a[0], i));
    Tensor& second = CellOf(PyList_GET_ITEM(a[1], i));
    GradNodeRef node = first.node_ref();
    first.SetNode(second.node_ref());
    second.SetNode(std::move(node));
  }
  Py_RETURN_NONE;
}

}  // namespace

std::vector<FunctionRow> DistributedFunctions() {
  return {
      {"init(timeout, collective_timeout, /)", "Joins the processes that the launcher started.",
       Init},
      {"state()", "Rank, number of ranks, whether they were joined, and whose MPI it is.", State},
      {"local_rank()", "Number among the ranks of this machine.", LocalRank},
      {"link()", "Seconds a collective costs, seconds on the way, bytes a second.", LinkOf},
      {"group(ranks, /)", "The number of the group of these ranks.", GroupOf},
      {"abandon(why, /)", "Tells the others that this rank ends by an error.", Abandon},
      {"finalize()", "Ends MPI.", Finalize},
      {"all_reduce(x, op, group, /)", "Of all ranks, on all.",
       Reducing<"all_reduce", ops::all_reduce>},
      {"reduce_scatter(x, op, group, /)", "The rank's part of all_reduce along axis 0.",
       Reducing<"reduce_scatter", ops::reduce_scatter>},
      {"all_gather(x, group, /)", "All ranks' arrays along axis 0.",
       Moving<"all_gather", ops::all_gather>},
      {"all_to_all(x, group, /)", "A part along axis 0 to each rank, and from each.",
       Moving<"all_to_all", ops::all_to_all>},
      {"broadcast(x, peer, group, /)", "The peer's array.",
       WithPeer<"broadcast", ops::rank_broadcast>},
      {"send(x, peer, group, /)", "x to the peer.", WithPeer<"send", ops::send>},
      {"recv(x, peer, group, /)", "What the peer sent, shaped like x.",
       WithPeer<"recv", ops::recv>},
      {"swap_history(first, second, /)", "Swaps the history of tensors, two lists.", SwapHistory},
      {"barrier(group, /)", "Waits for all ranks.", Barrier},
  };
}

}  // namespace frazil::python
