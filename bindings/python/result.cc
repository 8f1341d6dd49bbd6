#include "bindings/python/result.h"

#include <algorithm>
#include <bit>

#include "bindings/python/nest_words.h"

namespace frazil::python {
namespace {

// Whether an instance has state besides the items of a tuple and a dataclass's fields.
bool HasMore(PyObject* o, const ClassInfo& info) {
  const auto is_field = [&](PyObject* name) {
    return info.container == Container::kDataclass && PySequence_Contains(info.names.get(), name);
  };
  for (const ClassInfo::Slot& slot : info.slots) {
    if (SlotOf(o, slot) && !is_field(slot.name.get())) return true;
  }
  PyObject *attributes = AttributesOf(o), *name, *value;
  Py_ssize_t at = 0;
  while (attributes && PyDict_Next(attributes, &at, &name, &value)) {
    if (!is_field(name)) return true;
  }
  return false;
}

// The names of all that a registered class's instance holds.
Object AttributeNames(PyObject* o, const ClassInfo& info) {
  PyObject* attributes = AttributesOf(o);
  Object names = Object::Steal(attributes ? PyDict_Keys(attributes) : PyList_New(0));
  for (size_t i = 0; names && i < info.slots.size(); ++i) {
    if (SlotOf(o, info.slots[i])) PyList_Append(names.get(), info.slots[i].name.get());
  }
  return names ? Object::Steal(PyList_AsTuple(names.get())) : Object();
}

template <typename Items, typename Item>
int Find(const Items& items, const Item* item) {
  const auto it = std::find(items.begin(), items.end(), item);
  return it == items.end() ? -1 : static_cast<int>(it - items.begin());
}

}  // namespace

bool Result::IsOwn() {
  for (const auto& [object, times] : made_) {
    if (Py_REFCNT(object) == times || PyTuple_Check(object)) continue;  // tuples do not change
    refusal_ = StrCat("the body makes an object of type ", Py_TYPE(object)->tp_name,
                      " that something else holds as well");
    return false;
  }
  return true;
}

bool Result::Add(PyObject* o) {
  const auto identity = [&](Tag tag, int number) {
    return words.push_back(Word(tag, static_cast<uint64_t>(number))), true;
  };
  if (IsTensor(o)) {
    const int i = Find(arguments_.cells, &CellOf(o));
    if (i >= 0) return identity(kArgument, i);
    if (const int i = Find(tensors, o); i >= 0) return identity(kAgain, i);
    words.push_back(Word(kTensor, MarksOf(o)));
    tensors.push_back(o);
    return true;
  }
  if (numbers_) {
    if (const auto it = numbers_->find(o); it != numbers_->end())
      return identity(kNumber, it->second);
  }
  if (const int i = Find(arguments_.containers, o); i >= 0) return identity(kContainer, i);
  const auto refuse = [&] {
    if (refusal_.empty())
      refusal_ = StrCat("the result holds an object of type ", Py_TYPE(o)->tp_name,
                        ", which cannot be made again");
    return false;
  };
  for (size_t i = 0; i < made_.size(); ++i) {
    if (made_[i].first != o) continue;
    if (Find(open_, o) >= 0) return refuse();  // a tuple that holds itself
    ++made_[i].second;
    return identity(kMade, static_cast<int>(i));
  }
  if (++depth_ > kMaxDepth) return refuse();
  bool good = true;
  // Not made again is what somebody else holds, a module or the result in another place, and what
  // has attributes besides its fields.
  const Container kind = ContainerOf(o);
  const bool heap = Py_TYPE(o)->tp_flags & Py_TPFLAGS_HEAPTYPE;
  const ClassInfo* info = heap ? InfoOf(Py_TYPE(o)) : nullptr;
  if (heap && !info && !PyType_Check(o)) return refuse();
  const bool is_object = !PyTuple_Check(o) && !PyList_Check(o) && !PyDict_Check(o);
  const bool registered = (kind == Container::kRegistered || kind == Container::kLeaf) && info &&
                          info->is_shown && !info->is_enum && is_object;
  const bool fields = (kind == Container::kDataclass && info && info->is_shown) || registered;
  const bool fixed = IsFixed(o) || (info && info->is_enum && info->is_shown);
  if (info && !registered && !fixed && !PyType_Check(o) && HasMore(o, *info)) return refuse();
  const bool tuple = PyTuple_CheckExact(o) || kind == Container::kNamedTuple;
  if (tuple || PyList_CheckExact(o) || PyDict_CheckExact(o) || fields) made_.emplace_back(o, 1);
  const auto add_type = [&] {
    words.push_back(Address(Py_TYPE(o)));
    pins_->push_back(Object::Share(reinterpret_cast<PyObject*>(Py_TYPE(o))));
  };
  const auto add_items = [&](Tag tag) {
    words.push_back(Word(tag, static_cast<uint64_t>(Py_SIZE(o))));
    if (tag == kNamedTuple) add_type();
    if (tuple) open_.push_back(o);
    for (Py_ssize_t i = 0; i < Py_SIZE(o) && good; ++i) good = Add(PySequence_Fast_GET_ITEM(o, i));
    if (tuple) open_.pop_back();
  };
  if (tuple) {
    add_items(PyTuple_CheckExact(o) ? kTuple : kNamedTuple);
  } else if (PyList_CheckExact(o)) {
    add_items(kList);
  } else if (PyDict_CheckExact(o)) {
    words.push_back(Word(kDict, static_cast<uint64_t>(PyDict_GET_SIZE(o))));
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (good && PyDict_Next(o, &at, &key, &value)) good = Add(key) && Add(value);
  } else if (fields) {
    const Object names = registered ? AttributeNames(o, *info) : info->names;
    const Py_ssize_t n = names ? PyTuple_GET_SIZE(names.get()) : 0;
    words.push_back(Word(kDataclass, static_cast<uint64_t>(n)));
    add_type();
    for (Py_ssize_t i = 0; i < n && good; ++i) {
      PyObject* name = PyTuple_GET_ITEM(names.get(), i);
      words.push_back(Address(name));
      pins_->push_back(Object::Share(name));
      const Object attribute = Attribute(o, name);
      good = attribute && Add(attribute.get());
    }
    if (!good || !names) return refuse();
  } else {
    // Numbers and strings, and what is fixed, are themselves.
    Nest simple(pins_);
    const bool plain = o == Py_None || PyBool_Check(o) || PyFloat_CheckExact(o) ||
                       PyLong_CheckExact(o) || PyUnicode_CheckExact(o);
    if (fixed || PyType_Check(o)) {
      simple.AddIdentity(o);
    } else if (!plain || (numbers_ && IsNan(o)) || !simple.Add(o)) {
      return refuse();
    }
    words.insert(words.end(), simple.words.begin(), simple.words.end());
  }
  --depth_;
  return good;
}

namespace {

class Maker {
 public:
  Maker(absl::Span<const uint64_t> words, const Nest& arguments, absl::Span<Tensor> outputs)
      : word_(words.data()),
        end_(words.data() + words.size()),
        arguments_(arguments),
        outputs_(outputs),
        tensors_(outputs.size()) {}

  bool done() const { return word_ == end_; }

  // False with a Python error.
  bool Redo() {
    while (word_ != end_) {
      const uint64_t word = *word_++;
      if (!RedoOne(static_cast<Change>(word & ((1 << kTagBits) - 1)), word >> kTagBits))
        return false;
    }
    return true;
  }

  Object Make() {
    const uint64_t word = *word_++;
    const uint64_t count = word >> kTagBits;
    switch (static_cast<Tag>(word & ((1 << kTagBits) - 1))) {
      case kTensor: {
        Object t = Object::Steal(Wrap(std::move(outputs_[made_])));
        if (t && count) SetMarks(t.get(), static_cast<uint8_t>(count));
        tensors_[made_++] = t.get();
        return t;
      }
      case kArgument:
        return Object::Share(ObjectOf(arguments_.cells.span()[count]));
      case kContainer:
        return Object::Share(arguments_.containers[count]);
      case kAgain:
        return Object::Share(tensors_[count]);
      case kMade:
        return Object::Share(containers_[count]);
      case kNumber:
        return Object(arguments_.numbers[count]);
      case kNone:
        return Object::Share(Py_None);
      case kFalse:
        return Object::Share(Py_False);
      case kTrue:
        return Object::Share(Py_True);
      case kInt:
        return Object::Steal(PyLong_FromLongLong(static_cast<long long>(*word_++)));
      case kFloat:
        return Object::Steal(PyFloat_FromDouble(std::bit_cast<double>(*word_++)));
      case kString:
      case kIdentity:
        return Object::Share(Pointer());
      case kTuple: {
        const size_t place = Place();
        Object tuple = Tuple(count);
        containers_[place] = tuple.get();
        return tuple;
      }
      case kList: {
        Object list = Object::Steal(PyList_New(0));
        containers_.push_back(list.get());
        for (uint64_t i = 0; list && i < count; ++i) {
          const Object item = Make();
          if (!item || PyList_Append(list.get(), item.get()) < 0) return Object();
        }
        return list;
      }
      case kNamedTuple: {
        auto* type = reinterpret_cast<PyTypeObject*>(Pointer());
        const size_t place = Place();
        Object items = Tuple(count);
        // Without the type's own __new__, as pickle and copy do.
        Object one = items ? Object::Steal(PyTuple_Pack(1, items.get())) : Object();
        if (!one) return Object();
        Object named = Object::Steal(PyTuple_Type.tp_new(type, one.get(), nullptr));
        containers_[place] = named.get();
        return named;
      }
      case kDict: {
        Object dict = Object::Steal(PyDict_New());
        containers_.push_back(dict.get());
        for (uint64_t i = 0; dict && i < count; ++i) {
          Object key = Make();
          Object value = key ? Make() : Object();
          if (!value || PyDict_SetItem(dict.get(), key.get(), value.get()) < 0) return Object();
        }
        return dict;
      }
      case kDataclass:
        return Dataclass(count);
      case kInstance:
      case kAttributes:
      case kAnnotations:
      case kMethod:
      case kModule:
      case kFunction:
      case kDefaults:
      case kPartial:
      case kOpen:
      case kSet:
      case kDeque:
        break;
    }
    PyErr_SetString(PyExc_SystemError, "[trace] a result of unknown form.");
    return Object();
  }

 private:
  // A change may take the last reference to what a later one puts somewhere else: all that is
  // replaced stays until the last is done.
  void Keep(PyObject* replaced) { replaced_.push_back(Object::Share(replaced)); }
  void KeepItems(PyObject* container) {
    replaced_.push_back(Object::Steal(PySequence_Tuple(container)));
  }

  bool RedoOne(Change change, uint64_t number) {
    if (change == Change::kSetName || change == Change::kDeleteName) {
      const Nest::Place& place = arguments_.places.span()[number];
      Keep(PyDict_GetItemWithError(place.dict, place.name));
      if (change == Change::kDeleteName) return PyDict_DelItem(place.dict, place.name) == 0;
      const Object value = Make();
      return value && PyDict_SetItem(place.dict, place.name, value.get()) == 0;
    }
    PyObject* o = arguments_.containers.span()[number];
    switch (change) {
      case Change::kSetItem: {
        const auto index = static_cast<Py_ssize_t>(*word_++);
        Keep(PyList_GetItem(o, index));
        Object value = Make();
        return value && PyList_SetItem(o, index, value.release()) == 0;
      }
      case Change::kAppend: {
        const Object value = Make();
        return value && PyList_Append(o, value.get()) == 0;
      }
      case Change::kReplace: {
        KeepItems(o);
        const Object items = Tuple(*word_++ >> kTagBits);
        if (!items || PyList_Check(o))
          return items && PyList_SetSlice(o, 0, PyList_GET_SIZE(o), items.get()) == 0;
        return Done(PyObject_CallMethod(o, "clear", nullptr)) &&
               Done(PyObject_CallMethod(o, "extend", "(O)", items.get()));
      }
      case Change::kReplaceKeys: {
        replaced_.push_back(Object::Steal(PyDict_Copy(o)));
        const Object items = Tuple(2 * (*word_++ >> kTagBits));
        static PyObject* const clear =
            PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyODict_Type), "clear");
        bool good = items && Done(PyObject_CallOneArg(clear, o));
        for (Py_ssize_t i = 0; good && i < PyTuple_GET_SIZE(items.get()); i += 2) {
          good = PyODict_SetItem(o, PyTuple_GET_ITEM(items.get(), i),
                                 PyTuple_GET_ITEM(items.get(), i + 1)) == 0;
        }
        return good;
      }
      case Change::kSetKey: {
        const Object key = Make();
        if (key) Keep(PyDict_GetItemWithError(o, key.get()));
        const Object value = key ? Make() : Object();
        return value && PyDict_SetItem(o, key.get(), value.get()) == 0;
      }
      case Change::kDeleteKey: {
        const Object key = Make();
        if (key) Keep(PyDict_GetItemWithError(o, key.get()));
        return key && PyDict_DelItem(o, key.get()) == 0;
      }
      case Change::kSetSlot: {
        PyObject* name = Pointer();
        replaced_.push_back(Object::Steal(PyObject_GenericGetAttr(o, name)));
        if (!replaced_.back()) PyErr_Clear();
        const Object value = Make();
        return value && PyObject_GenericSetAttr(o, name, value.get()) == 0;
      }
      case Change::kSetCell: {
        Keep(PyCell_GET(o));
        const Object value = Make();
        return value && PyCell_Set(o, value.get()) == 0;
      }
      case Change::kSetName:
      case Change::kDeleteName:
        break;
    }
    return false;
  }

  static bool Done(PyObject* result) { return static_cast<bool>(Object::Steal(result)); }
  PyObject* Pointer() { return reinterpret_cast<PyObject*>(*word_++); }

  // Of a tuple, which is made behind its items.
  size_t Place() {
    containers_.push_back(nullptr);
    return containers_.size() - 1;
  }
  Object Tuple(uint64_t n) {
    Object tuple = Object::Steal(PyTuple_New(static_cast<Py_ssize_t>(n)));
    for (uint64_t i = 0; tuple && i < n; ++i) {
      PyObject* item = Make().release();
      if (!item) return Object();
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), item);
    }
    return tuple;
  }

  // Without __init__, as copy.copy does: the values are those of the recorded object's fields.
  Object Dataclass(uint64_t n) {
    auto* type = reinterpret_cast<PyTypeObject*>(Pointer());
    Object none = Object::Steal(PyTuple_New(0));
    Object object =
        Object::Steal(none ? PyBaseObject_Type.tp_new(type, none.get(), nullptr) : nullptr);
    containers_.push_back(object.get());
    for (uint64_t i = 0; object && i < n; ++i) {
      PyObject* name = Pointer();
      Object value = Make();
      if (!value || PyObject_GenericSetAttr(object.get(), name, value.get()) < 0) return Object();
    }
    return object;
  }

  const uint64_t *word_, *end_;
  const Nest& arguments_;
  absl::Span<Tensor> outputs_;
  absl::InlinedVector<PyObject*, 8> tensors_, containers_;
  absl::InlinedVector<Object, 4> replaced_;
  size_t made_ = 0;
};

}  // namespace

bool IsOneTensor(absl::Span<const uint64_t> words) {
  return words.size() == 1 && words[0] == Word(kTensor);
}

PyObject* MakeResult(absl::Span<const uint64_t> words, const Nest& arguments,
                     absl::Span<Tensor> outputs) {
  if (IsOneTensor(words)) return Wrap(std::move(outputs[0]));
  Maker maker(words, arguments, outputs);
  Object result = maker.Make();
  return result && maker.Redo() ? result.release() : nullptr;
}

Object DescribeResult(absl::Span<const uint64_t> words, const Nest& arguments,
                      absl::Span<Tensor> outputs, bool* changes) {
  Maker maker(words, arguments, outputs);
  Object result = maker.Make();
  *changes = !maker.done();
  return result;
}

}  // namespace frazil::python
