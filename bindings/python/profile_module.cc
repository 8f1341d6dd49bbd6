// Functions of frazil._frazil.profile: taking a profile (core/profile.h), what its steps are made
// of, timelines for Perfetto and the machine's yardsticks. Called by frazil/_profile.py.
#include "bindings/python/convert.h"
#include "bindings/python/functions.h"
#include "bindings/python/movement.h"
#include "bindings/python/plan_parts.h"
#include "core/profile.h"
#include "core/trace_events.h"
#include "jit/run/plan.h"
#include "kernels/yardstick.h"

namespace frazil::python {
namespace {

using tracer::StepPart;

Object Text(std::string_view text) {
  return Object::Steal(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

// Whether it could be appended.
bool Append(const Object& list, const Object& item) {
  return list && item && PyList_Append(list.get(), item.get()) == 0;
}

Object NewList() { return Object::Steal(PyList_New(0)); }

Object PartDict(const StepPart& part) {
  Object ops = NewList();
  for (const StepPart::Op& op : part.ops) {
    const Object name = Text(op.name), origin = Text(op.origin);
    if (!name || !origin ||
        !Append(ops, Object::Steal(Py_BuildValue("(OOid)", name.get(), origin.get(), int(op.node),
                                                 op.share))))
      return Object();
  }
  const Object name = Text(part.name), kernel = Text(part.kernel), device = Text(part.device);
  if (!ops || !name || !kernel || !device) return Object();
  return Object::Steal(Py_BuildValue("{s:O,s:O,s:O,s:d,s:d,s:d,s:d,s:O}", "name", name.get(),
                                     "kernel", kernel.get(), "device", device.get(), "work",
                                     part.work, "times", part.times, "flops", part.flops, "bytes",
                                     part.bytes, "ops", ops.get()));
}

Object ThreadDict(const ThreadProfile& thread, const std::vector<int>& plans) {
  Object events = NewList(), memory = NewList(), texts = NewList();
  for (const ProfileEvent& e : thread.events) {
    const int plan = e.owner >= 0 ? plans[size_t(e.owner)] : -1;
    if (!Append(events, Object::Steal(Py_BuildValue("(iiiiiLL)", int(e.kind), int(e.name),
                                                    int(e.line), plan, int(e.step),
                                                    (long long)e.begin, (long long)e.end))))
      return Object();
  }
  for (const MemorySample& m : thread.memory) {
    if (!Append(memory, Object::Steal(Py_BuildValue("(LL)", (long long)m.at, (long long)m.bytes))))
      return Object();
  }
  for (const std::string& text : thread.texts) {
    if (!Append(texts, Text(text))) return Object();
  }
  const Object name = Text(thread.name);
  if (!name || !events || !memory || !texts) return Object();
  return Object::Steal(Py_BuildValue("{s:L,s:O,s:O,s:O,s:O,s:L}", "thread",
                                     (long long)thread.thread, "name", name.get(), "events",
                                     events.get(), "memory", memory.get(), "texts", texts.get(),
                                     "dropped", (long long)thread.dropped));
}

FZ_FAST(Start) {
  FZ_ARGS(1, "profile(most, /)");  // errors carry the name of what users call
  int64_t most;
  if (!ToInt(a[0], "profile", "events", &most)) return nullptr;
  if (Status s = StartProfile(most); !s.ok()) return Raise(s);
  Py_RETURN_NONE;
}

FZ_FAST(Stop) {
  FZ_ARGS(0, "profile()");
  auto profile = StopProfile();
  if (!profile.ok()) return Raise(profile.status());
  absl::flat_hash_map<const void*, int> known;
  Object threads = NewList(), plans = NewList();
  for (const ThreadProfile& thread : profile->threads) {
    std::vector<int> numbers;
    for (const auto& owner : thread.owners) {
      const auto [at, added] = known.try_emplace(owner.get(), int(known.size()));
      numbers.push_back(at->second);
      if (!added) continue;
      const auto& plan = *static_cast<const jit::Plan*>(owner.get());
      if (!Append(plans, StepList(plan.Report().steps))) return nullptr;
    }
    if (!Append(threads, ThreadDict(thread, numbers))) return nullptr;
  }
  if (!threads || !plans) return nullptr;
  return Py_BuildValue("{s:L,s:L,s:O,s:O}", "begin", (long long)profile->begin, "end",
                       (long long)profile->end, "threads", threads.get(), "plans", plans.get());
}

// Nanoseconds as microseconds.
std::string Us(long long ns) {
  std::string text = StrCat(ns / 1000, ".");
  const std::string rest = StrCat(ns % 1000);
  return text.append(3 - rest.size(), '0').append(rest);
}

// trace_events(about, rows): about {name: text}; rows ("process" | "thread", process, row, name,
// order), ("span", process, row, name, begin, length, {name: text}) or ("counter", process, name,
// series, at, value); times in nanoseconds.
FZ_FAST(WriteEvents) {
  FZ_ARGS(2, "trace_events(about, rows, /)");
  const auto members = [](PyObject* dict, std::string* out) {
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(dict, &at, &key, &value)) {
      const char *name = PyUnicode_AsUTF8(key), *text = PyUnicode_AsUTF8(value);
      if (!name || !text) return false;
      StrAppend(out, out->empty() ? "" : ",", JsonQuote(name), ":", JsonQuote(text));
    }
    return true;
  };
  std::string about;
  if (!PyDict_Check(a[0]) || !PyList_Check(a[1]))
    return Raise(TypeError("[trace_events] takes a dict and a list."));
  if (!members(a[0], &about)) return nullptr;
  TraceEvents events(about);
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(a[1]); ++i) {
    PyObject* const row = PyList_GET_ITEM(a[1], i);
    const char *what, *name, *series;
    int process, line, order;
    long long at, length;
    PyObject* dict;
    if (PyTuple_Check(row) && PyTuple_GET_SIZE(row) == 5) {
      if (!PyArg_ParseTuple(row, "siisi", &what, &process, &line, &name, &order)) return nullptr;
      events.Name(what, process, line, name, order);
    } else if (PyTuple_Check(row) && PyTuple_GET_SIZE(row) == 7) {
      if (!PyArg_ParseTuple(row, "siisLLO!", &what, &process, &line, &name, &at, &length,
                            &PyDict_Type, &dict))
        return nullptr;
      std::string arguments;
      if (!members(dict, &arguments)) return nullptr;
      events.Span(process, line, Us(at), Us(length), name, arguments);
    } else {
      if (!PyArg_ParseTuple(row, "sissLL", &what, &process, &name, &series, &at, &length))
        return nullptr;
      events.Counter(process, Us(at), name, series, StrCat(length));
    }
  }
  return Text(std::move(events).Finish()).release();
}

// The best of some runs, in nanoseconds.
template <typename F>
double Best(int rounds, const F& run) {
  double best = 0;
  for (int i = 0; i < rounds; ++i) {
    const int64_t begin = ProfileClock();
    run();
    const double ns = double(ProfileClock() - begin);
    best = i == 0 ? ns : std::min(best, ns);
  }
  return best;
}

// machine() -> (bytes a second of the triad, operations a second of multiply-adds)
FZ_FAST(Machine) {
  FZ_ARGS(0, "machine()");
  constexpr int64_t kElements = int64_t{4} << 20;  // 48 MiB in all: in no cache but the largest
  constexpr double kFlops = 4e8;
  double bandwidth = 0, peak = 0;
  Py_BEGIN_ALLOW_THREADS;
  if (const auto triad = Triad::Make(kElements)) {
    const double ns = Best(8, [&] { triad->Run(); });
    bandwidth = double(kElements) * Triad::kBytes / ns * 1e9;
  }
  peak = kFlops / Best(6, [&] { RunFma(kFlops); }) * 1e9;
  Py_END_ALLOW_THREADS;
  return Py_BuildValue("(dd)", bandwidth, peak);
}

}  // namespace

Object StepList(const std::vector<std::vector<StepPart>>& steps) {
  Object list = NewList();
  for (const std::vector<StepPart>& parts : steps) {
    Object step = NewList();
    for (const StepPart& part : parts) {
      if (!Append(step, PartDict(part))) return Object();
    }
    if (!Append(list, step)) return Object();
  }
  return list;
}

std::vector<FunctionRow> ProfileFunctions() {
  return {
      {"start(most, /)", "Begins a profile of all threads, of at most so many events each.", Start},
      {"stop()",
       "Ends the profile: its threads' events and memory, and what the plans are made of.", Stop},
      {"trace_events(about, rows, /)", "Spans and counters as JSON for Perfetto.", WriteEvents},
      {"machine()",
       "Bytes a second that memory gives, and f32 operations a second, on all threads: measured.",
       Machine},
  };
}

}  // namespace frazil::python
