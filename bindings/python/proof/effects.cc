#include "bindings/python/proof/effects.h"

#include "absl/algorithm/container.h"
#include "bindings/python/library_types.h"
#include "bindings/python/module_type.h"
#include "bindings/python/nest_words.h"

namespace frazil::python {
namespace {

uint64_t WordOf(Change change, size_t container) {
  return Word(static_cast<Tag>(change), container);
}

}  // namespace

Effects::Content Effects::ContentOf(PyObject* o) {
  Content content{Object::Share(o), Py_TYPE(o), {}, {}};
  const auto add = [&](PyObject* item) { content.items.push_back(Object::Share(item)); };
  if (PyList_Check(o)) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(o); ++i) add(PyList_GET_ITEM(o, i));
  } else if (IsOrderedDict(o)) {
    auto both = [&](PyObject* key, PyObject* value) { return add(key), add(value), true; };
    EachOrdered(o, both);
  } else if (PyDict_Check(o)) {
    Py_ssize_t at = 0;
    PyObject *key, *value;
    while (PyDict_Next(o, &at, &key, &value)) add(key), add(value);
  } else if (PyAnySet_Check(o) || Py_IS_TYPE(o, Library().deque)) {
    const Object all = Object::Steal(PySequence_List(o));
    for (Py_ssize_t i = 0; all && i < PyList_GET_SIZE(all.get()); ++i)
      add(PyList_GET_ITEM(all.get(), i));
  } else if (PyCell_Check(o)) {
    add(PyCell_GET(o));
  } else if (IsModule(o)) {
    const ModuleSnapshot* snapshot = SnapshotOf(o);
    content.structure = snapshot ? snapshot->structure : 0;
    if (snapshot) content.items = snapshot->tensors;
  }
  if (Py_TYPE(o)->tp_flags & Py_TPFLAGS_HEAPTYPE && !IsModule(o)) {
    const ClassInfo* info = InfoOf(Py_TYPE(o));
    for (size_t i = 0; info && i < info->slots.size(); ++i)
      content.slots.push_back(Object::Share(SlotOf(o, info->slots[i])));
  }
  return content;
}

Effects::Effects(const Nest& nest) {
  for (PyObject* container : nest.containers) before_.push_back(ContentOf(container));
  for (const Nest::Place& place : nest.places) {
    names_.emplace_back(place, Object::Share(PyDict_GetItemWithError(place.dict, place.name)));
  }
}

bool Effects::Refuse(std::string_view why) {
  if (refusal_.empty()) refusal_ = StrCat("the body changes ", why);
  return false;
}

bool Effects::Find(Result* form) {
  for (size_t i = 0; i < before_.size(); ++i) {
    if (!Compare(i, before_[i], form)) {
      if (refusal_.empty()) refusal_ = form->refusal();
      return false;
    }
  }
  for (size_t i = 0; i < names_.size(); ++i) {
    const auto& [place, value] = names_[i];
    PyObject* now = PyDict_GetItemWithError(place.dict, place.name);
    if (now == value.get()) continue;
    form->words.push_back(WordOf(now ? Change::kSetName : Change::kDeleteName, i));
    if (now && !form->Add(now)) return refusal_ = form->refusal(), false;
  }
  return true;
}

bool Effects::Compare(size_t container, const Content& before, Result* form) {
  PyObject* o = before.object.get();
  if (Py_TYPE(o) != before.type) return Refuse("the class of an argument");
  const Content now = ContentOf(o);
  if (IsModule(o)) {
    const bool same = now.structure == before.structure && now.items.size() == before.items.size();
    for (size_t i = 0; same && i < now.items.size(); ++i) {
      if (now.items[i].get() != before.items[i].get()) return Refuse("the attributes of a module");
    }
    return same || Refuse("the attributes of a module");
  }
  if (PyCell_Check(o)) {
    PyObject* content = PyCell_GET(o);
    if (content == before.items[0].get()) return true;
    if (!content) return Refuse("a name of a function outside to nothing");
    form->words.push_back(WordOf(Change::kSetCell, container));
    return form->Add(content);
  }
  const bool same = absl::c_equal(
      now.items, before.items, [](const Object& a, const Object& b) { return a.get() == b.get(); });
  if (PyAnySet_Check(o)) return same || Refuse("a set");
  if (Py_IS_TYPE(o, Library().deque)) {
    if (same) return true;
    form->words.push_back(WordOf(Change::kReplace, container));
    form->words.push_back(Word(kList, now.items.size()));
    return absl::c_all_of(now.items, [&](const Object& item) { return form->Add(item.get()); });
  }
  if (IsOrderedDict(o)) {
    if (!same) {
      form->words.push_back(WordOf(Change::kReplaceKeys, container));
      form->words.push_back(Word(kDict, now.items.size() / 2));
      for (const Object& part : now.items) {
        if (!form->Add(part.get())) return false;
      }
    }
    return CompareSlots(container, before, form);
  }
  if (PyList_Check(o) && !CompareList(container, before, form)) return false;
  if (PyDict_Check(o) && !CompareDict(container, before, form)) return false;
  return CompareSlots(container, before, form);
}

bool Effects::CompareSlots(size_t container, const Content& before, Result* form) {
  PyObject* o = before.object.get();
  const ClassInfo* info = before.slots.empty() ? nullptr : InfoOf(Py_TYPE(o));
  const ClassInfo::Slots slots = info ? info->slots : ClassInfo::Slots();
  if (slots.size() != before.slots.size()) return Refuse("the class of an argument");
  for (size_t i = 0; i < slots.size(); ++i) {
    PyObject* value = SlotOf(o, slots[i]);
    if (value == before.slots[i].get()) continue;
    if (!value) return Refuse("an attribute to nothing");
    form->words.push_back(WordOf(Change::kSetSlot, container));
    form->words.push_back(Address(slots[i].name.get()));
    if (!form->Add(value)) return false;
  }
  return true;
}

bool Effects::CompareList(size_t container, const Content& before, Result* form) {
  PyObject* o = before.object.get();
  const auto n = static_cast<size_t>(PyList_GET_SIZE(o)), was = before.items.size();
  const auto item = [&](size_t i) { return PyList_GET_ITEM(o, static_cast<Py_ssize_t>(i)); };
  if (n < was) {
    form->words.push_back(WordOf(Change::kReplace, container));
    form->words.push_back(Word(kList, n));
    for (size_t i = 0; i < n; ++i) {
      if (!form->Add(item(i))) return false;
    }
    return true;
  }
  for (size_t i = 0; i < n; ++i) {
    if (i < was && item(i) == before.items[i].get()) continue;
    form->words.push_back(WordOf(i < was ? Change::kSetItem : Change::kAppend, container));
    if (i < was) form->words.push_back(i);
    if (!form->Add(item(i))) return false;
  }
  return true;
}

// The keys that stay keep their order, and new ones come behind them.
bool Effects::CompareDict(size_t container, const Content& before, Result* form) {
  PyObject* o = before.object.get();
  std::vector<std::pair<PyObject*, PyObject*>> now;
  Py_ssize_t at = 0;
  PyObject *key, *value;
  while (PyDict_Next(o, &at, &key, &value)) now.emplace_back(key, value);
  size_t stay = 0;
  std::vector<PyObject*> gone;
  for (size_t i = 0; i < before.items.size(); i += 2) {
    PyObject* old = before.items[i].get();
    if (stay < now.size() && now[stay].first == old) {
      ++stay;
    } else if (absl::c_any_of(now, [&](const auto& row) { return row.first == old; })) {
      return Refuse("the order of a dict's keys");
    } else {
      gone.push_back(old);
    }
  }
  size_t was = 0;  // of a key that stays
  const auto changed = [&](size_t i) {
    if (i >= stay) return true;
    while (before.items[was].get() != now[i].first) was += 2;
    return before.items[was + 1].get() != now[i].second;
  };
  for (PyObject* old : gone) {
    form->words.push_back(WordOf(Change::kDeleteKey, container));
    if (!form->Add(old)) return false;
  }
  for (size_t i = 0; i < now.size(); ++i) {
    if (!changed(i)) continue;
    form->words.push_back(WordOf(Change::kSetKey, container));
    if (!form->Add(now[i].first) || !form->Add(now[i].second)) return false;
  }
  return true;
}

}  // namespace frazil::python
