#include "bindings/python/learnt_call.h"

#include "absl/strings/str_cat.h"
#include "bindings/python/result.h"
#include "core/functions/composites.h"
#include "tracer/explain.h"
#include "tracer/while_loop.h"

namespace frazil::python {
namespace {

using tracer::ValueId;

Object Int(int64_t v) { return Object::Steal(PyLong_FromLongLong(v)); }
Object Bits(uint64_t v) { return Object::Steal(PyLong_FromUnsignedLongLong(v)); }
Object Text(std::string_view v) {
  return Object::Steal(
      PyUnicode_DecodeUTF8(v.data(), static_cast<Py_ssize_t>(v.size()), "replace"));
}
Object None() { return Object::Share(Py_None); }

// Null where one of the items is.
Object Tuple(std::initializer_list<Object> items) {
  Object tuple = Object::Steal(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
  Py_ssize_t i = 0;
  for (const Object& item : items) {
    if (!tuple || !item) return Object();
    PyTuple_SET_ITEM(tuple.get(), i++, Py_NewRef(item.get()));
  }
  return tuple;
}

template <typename Items, typename F>
Object List(const Items& items, const F& f) {
  Object list = Object::Steal(PyList_New(0));
  for (const auto& item : items) {
    const Object o = list ? f(item) : Object();
    if (!o || PyList_Append(list.get(), o.get()) < 0) return Object();
  }
  return list;
}

Object Id(ValueId id) { return id == tracer::kNoValue ? None() : Int(id); }
Object Ids(absl::Span<const ValueId> ids) { return List(ids, Id); }

Object Type(DType dtype, const Layout* layout) {
  return Tuple({Text(Name(dtype)), List(layout->dims(), Int)});
}

Object ProgramOf(const tracer::Program& program);

Object WayOf(const tracer::WhileLoop::Way& way);

// (kind, name, operands, attributes, result types, origin, body, loop, states, times)
Object CallOf(const tracer::Program::Call& call) {
  const tracer::CallRecord& record = *call.record;
  const char* kind = record.loop        ? "while"
                     : record.IsLoop()  ? "repeat"
                     : record.composite ? "call"
                                        : "op";
  const Object name = record.IsLoop()
                          ? Text("")
                          : Text(record.composite ? NameOf(static_cast<CompositeId>(record.op))
                                                  : Info(record.primitive()).name);
  const Object loop = record.loop
                          ? Tuple({Bits(record.loop->goes_on), WayOf(record.loop->root),
                                   List(record.loop->classes, Int), List(record.loop->places, Int)})
                          : None();
  const std::shared_ptr<const tracer::Program>& body = record.body;
  return Tuple(
      {Text(kind), name, Ids(call.operands), List(record.attrs, Int),
       List(record.results, [](const tracer::Result& r) { return Type(r.dtype, r.layout); }),
       Text(record.origin),
       record.loop ? ProgramOf(record.loop->body)
       : body      ? ProgramOf(*body)
                   : None(),
       loop, Int(record.loop ? record.loop->states() : record.states), Int(record.times)});
}

Object MarkOf(const tracer::Mark& mark);

// (calls, read, next or None, (way of 0, way of 1), each None if unknown, marks of checks)
Object WayOf(const tracer::WhileLoop::Way& way) {
  const auto other = [&](int i) { return way.ways[i] ? WayOf(*way.ways[i]) : None(); };
  return Tuple({List(way.calls, CallOf), Id(way.read), way.ends() ? Ids(way.next) : None(),
                way.ends() ? None() : Tuple({other(0), other(1)}), List(way.checks, MarkOf)});
}

// A tensor, or (dtype, bits).
Object ConstantOf(const ValueRef& value) {
  if (value->immediate) return Tuple({Text(Name(value->dtype)), Bits(value->imm)});
  return Object::Steal(Wrap(Tensor(value)));
}

// (at, kind, precision, read, outcome, origin, check, of, low, high)
Object MarkOf(const tracer::Mark& mark) {
  using Kind = tracer::Mark::Kind;
  const char* kind = mark.kind == Kind::kCut      ? "cut"
                     : mark.kind == Kind::kNumber ? "number"
                                                  : "check";
  return Tuple({Int(mark.at), Text(kind), Text(Name(mark.precision)), Id(mark.read),
                Bits(mark.outcome), Text(mark.origin), Text(mark.check), Text(mark.of),
                Int(mark.range.low), Int(mark.range.high)});
}

bool Put(PyObject* dict, const char* name, const Object& value) {
  return value && PyDict_SetItemString(dict, name, value.get()) == 0;
}

Object ProgramOf(const tracer::Program& program) {
  Object dict = Object::Steal(PyDict_New());
  const auto parameter = [](const tracer::Parameter& p) {
    if (!p.layout) return None();
    return Tuple({Type(p.dtype, p.layout), Object::Share(p.immediate ? Py_True : Py_False)});
  };
  const auto content = [](const tracer::Content& o) { return Id(o.value); };
  const auto write = [](const tracer::Program::Write& w) {
    return Tuple({Int(w.cell), Id(w.content.value)});
  };
  const bool good = dict && Put(dict.get(), "parameters", List(program.parameters, parameter)) &&
                    Put(dict.get(), "constants", List(program.constants, ConstantOf)) &&
                    Put(dict.get(), "calls", List(program.calls, CallOf)) &&
                    Put(dict.get(), "marks", List(program.marks, MarkOf)) &&
                    Put(dict.get(), "outputs", List(program.outputs, content)) &&
                    Put(dict.get(), "writes", List(program.writes, write));
  return good ? dict : Object();
}

// The result with numbers for its tensors.
Object PathOf(const Nest& nest, const tracer::LearntCall& learnt) {
  std::vector<Tensor> numbers;
  for (size_t i = 0; i < learnt.program.outputs.size(); ++i)
    numbers.push_back(Tensor(Value::Immediate(DType::kI64, i)));
  bool changes = false;
  const Object result = DescribeResult(learnt.shape, nest, absl::MakeSpan(numbers), &changes);
  return Tuple({result, Object::Share(changes ? Py_True : Py_False), ProgramOf(learnt.program)});
}

}  // namespace

PyObject* DescribeLearnt(const Nest& nest, size_t visible, bool has_random,
                         const LearntPaths& paths, const Asked& asked) {
  Object cells = Object::Steal(PyList_New(0));
  const auto add = [&](const Object& cell) {
    return cells && cell && PyList_Append(cells.get(), cell.get()) == 0;
  };
  const size_t count = nest.cells.size() - (has_random ? 1 : 0);
  std::vector<size_t> leaves;
  for (size_t i = 0; i < visible; ++i) {
    const bool owned = i < nest.owners.size();
    if (!add(owned ? Tuple({Object::Share(nest.owners[i])}) : Tuple({Text("number")})))
      return nullptr;
    const GradNode* node = nest.cells[i]->node();
    if (node && node->leaf()) leaves.push_back(i);
  }
  for (size_t i = visible; i < count; ++i) {
    if (!add(Tuple({Text("grad"), Int(static_cast<int64_t>(leaves[i - visible]))}))) return nullptr;
  }
  if (has_random && !add(Tuple({Text("random")}))) return nullptr;
  const Object known = List(paths, [&](const auto& learnt) { return PathOf(nest, *learnt); });
  Object dict = Object::Steal(PyDict_New());
  const Object pairs = List(asked.pairs, [](const Asked::Pair& p) {
    return Tuple({p.a, p.b, Text(p.where)});
  });
  if (!dict || !Put(dict.get(), "cells", cells) || !Put(dict.get(), "paths", known) ||
      !Put(dict.get(), "asked", pairs) ||
      !Put(dict.get(), "asked_otherwise", Text(asked.otherwise)))
    return nullptr;
  return dict.release();
}

}  // namespace frazil::python
