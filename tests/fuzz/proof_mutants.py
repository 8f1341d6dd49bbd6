"""The table of bugs planted in the proof: rows as in mutants.py, planted by mutate.py --proof.

Every row drops or weakens one guard, one redo of a write, one rule about numbers that move, one
"unknown, so not proved", one comparison of versions or one reason not to look. What finds them:
tests/python/test_proof*.py, tests/hazards, programs of worlds.py.
"""

WORLD = "bindings/python/proof/world.cc"
WATCH = "bindings/python/proof/watch.cc"
FLOW = "bindings/python/proof/watch_numbers.cc"
OPERANDS = "bindings/python/proof/watch_operands.cc"
NUMBERS = "bindings/python/proof/numbers.cc"
EFFECTS = "bindings/python/proof/effects.cc"
CALLABLES = "bindings/python/proof/callables.cc"
CALLABLES_TABLE = "bindings/python/proof/callables.def"
MEMBERS = "bindings/python/proof/members.cc"
INSTRUCTIONS = "bindings/python/proof/instructions.cc"
CODE = "bindings/python/proof/code_view.cc"
PROVER = "bindings/python/proof/prover.cc"
PROMISED = "bindings/python/promised.cc"
PROMISE = "tracer/promise.cc"
RESULT = "bindings/python/result.cc"
NEST = "bindings/python/nest.cc"
NEST_CODE = "bindings/python/nest_code.cc"
CLASSES = "bindings/python/class_info.cc"

# What is fixed, compared by versions; and what may be.
FIXED = [
    (WORLD, "if (scope->version.now() != scope->seen && !CheckNames(scope.get())) return false;",
     ""),
    (WORLD, "name.given = !IsSameConstant(value, name.value.get());", "name.given = false;"),
    (WORLD, "if (!a || !b || Py_TYPE(a) != Py_TYPE(b)) return false;",
     "if (!a || !b) return false;"),
    (WORLD, "return std::memcmp(&x, &y, sizeof x) == 0;", "return x == y;"),
    (WORLD,
     "if (VersionOf(reinterpret_cast<PyTypeObject*>(c.type.get())) != c.version)\n      "
     "return Forget(Object(c.type));",
     ""),
    (WORLD, "if (!f.Same()) return Forget(Object(f.function));", ""),
    (WORLD, "PyFunction_GET_CODE(f) == code.get() && ", ""),
    (WORLD, "PyFunction_GET_DEFAULTS(f) == defaults.get() &&", ""),
    (WORLD, "PyFunction_GET_KW_DEFAULTS(f) == named.get();", "true;"),
    (WORLD, "if (!owner.Same()) return Forget(Object(owner.object));", ""),
    (WORLD, "return PyModule_Check(o) ? Py_IS_TYPE(o, &PyModule_Type)",
     "return PyModule_Check(o) ? true"),
    (WORLD, ": reinterpret_cast<PyFunctionObject*>(o)->func_dict == dict.get();", ": true;"),
    (WORLD, "if (!m.Same()) return Forget(Object(m.function));", ""),
    (WORLD, "return !now || PyDict_GET_SIZE(now) == 0;", "return true;"),
    (WORLD,
     "if (!IsSameConstant(PyCell_GET(c.cell.get()), c.content.get()))\n      return "
     "Forget(Object(c.function));",
     ""),
    (WORLD, "return value || Add(builtins, name,", "return true || Add(builtins, name,"),
    (WORLD, "if (!Add(globals, name, value, where)) return false;",
     "if (value && !Add(globals, name, value, where)) return false;"),
    (WORLD, "  while (named && PyDict_Next(named, &at, &name, &value)) {", "  while (false) {"),
    (WORLD, "bool fixed = !defaults || IsFixed(defaults, depth);", "bool fixed = true;"),
    (WORLD, "fixed = !content || IsFixed(content, depth);", "fixed = true;"),
    (WORLD,
     "absl::c_all_of(data, [&](const auto& row) { return IsFixed(row.second, depth); }) &&\n",
     ""),
    (WORLD, "members.empty() && !foreign", "!foreign"),
    (WORLD, " && IsFixedType(Py_TYPE(object), depth);", ";"),
    (WORLD, "[&](PyObject* item) { return IsFixed(item, depth); });",
     "[&](PyObject*) { return true; });"),
    (WORLD, "added.given = value && !IsFixed(value);", "added.given = false;"),
    (WORLD, "(PyFloat_CheckExact(o) && !IsNan(o))", "PyFloat_CheckExact(o)"),
    (WORLD, "if (!add(given.object.get(), [] { return std::string(); })) return false;", ""),
    (WORLD,
     "if (!add(value, [&] { return StrCat(\"'\", Text(name.name.get()), \"': \"); })) "
     "return false;",
     ""),
    (WORLD, "if (name.written) nest->places", "if (false) nest->places"),
    (WORLD, "return IsFixed(object) || Give(object, Py_TYPE(object)->tp_name, where);",
     "return true;"),
]  # fmt: skip

# What is found through classes: descriptors, bases, special methods.
CLASS_RULES = [
    (MEMBERS, "if (!found || Py_TYPE(found)->tp_descr_set) return false;",
     "if (!found) return false;"),
    (MEMBERS, "if (IsWrittenInPython(type)) return world->AddObject(value, where);", ""),
    (MEMBERS, 'return AddCallable(world, value, "__func__", where);', "return true;"),
    (MEMBERS, 'AddCallable(world, value, "fget", where) && ', ""),
    (MEMBERS, 'AddCallable(world, value, "fset", where) &&', ""),
    (MEMBERS, 'AddCallable(world, value, "fdel", where);', "true;"),
    (MEMBERS, "return AddSuperMembers(world, self.get(), name, where);", "return true;"),
    (MEMBERS, "!IsSpecial(name) || IsOfDataclass(name)", "true"),
    (MEMBERS, "(!PyType_Check(self) ||", "(true || !PyType_Check(self) ||"),
    (CLASSES, 'return part("__func__");', "return false;"),
    (CLASSES, 'return part("fget") || ', "return "),
    (CLASSES, "return !PyCFunction_GET_SELF(o) || !PyType_Check(PyCFunction_GET_SELF(o));",
     "return false;"),
    (CLASSES, "return !of_class && (type->tp_descr_get || PyCallable_Check(o));",
     "return !of_class && type->tp_descr_get;"),
    (CLASSES, "return !of_class && (type->tp_descr_get || PyCallable_Check(o));",
     "return !of_class && !type->tp_descr_get && PyCallable_Check(o);"),
    (CLASSES, "if (IsConstant(value) || IsCode(value)) continue;", "continue;"),
    (NEST_CODE, "words.push_back(info->version);", ""),
    (NEST_CODE, "return !(metaclass->tp_flags & Py_TPFLAGS_HEAPTYPE) || AddClass(metaclass);",
     "return true;"),
    (NEST_CODE, "if (Add(value)) continue;", "continue;"),
    (NEST_CODE, "if (foreign_.empty()) foreign_ = snapshot->foreign;", ""),
    (NEST_CODE, "if (info->foreign && foreign_.empty()) {", "if (false) {"),
    (PROVER, "if (nest->RefuseForeign()) return false;", ""),
]  # fmt: skip

# What may change in itself, compared by content.
GIVEN = [
    (NEST_CODE, "  AddIdentity(code);\n", ""),
    (NEST_CODE, "  AddGlobals(o);\n", ""),
    (NEST_CODE, "if (!AddDefaults(o)) return false;", ""),
    (NEST_CODE, "function->func_module, function->func_dict}", "function->func_module}"),
    (NEST_CODE, '{"func", "args", "keywords"}', '{"func", "args"}'),
    (NEST_CODE, "if (!AddAttributes(partial, false)) return false;", ""),
    (NEST, "words.push_back(Word(kAgain, place));", "words.push_back(Word(kAgain));"),
    (NEST, "if (IsAgain(nan)) return true;", ""),
    (NEST, "PyUnicode_CheckExact(key) ? AddString(key) : ", "PyUnicode_CheckExact(key) ? true : "),
    (NEST, "if (has_dict && !AddAttributes(o, is_enum)) return false;", ""),
    (NEST, "return AddSlots(o, slots);\n}", "return true;\n}"),
    (NEST, "if (!Add(key)) return false;\n    if (!is_enum)", "if (!is_enum)"),
    (NEST, "if (unread && unread->contains(o)) return AddIdentity(o), true;",
     "if (unread && PyList_CheckExact(o)) return AddIdentity(o), true;"),
]  # fmt: skip

# What an instruction reads, and what is not known to be harmless.
WATCHED = [
    (WATCH, "return world_->AddFunction(function, Where()) ||", "return true ||"),
    (WATCH, "    open_.insert(frame);\n", ""),
    (WATCH, "case LOAD_GLOBAL:\n      return world_->AddName(",
     "case LOAD_GLOBAL:\n      return true || world_->AddName("),
    (WATCH, "case LOAD_ATTR:\n#if PY_VERSION_HEX < 0x030C0000\n    case LOAD_METHOD:\n",
     "case LOAD_ATTR:\n      return true;\n#if PY_VERSION_HEX < 0x030C0000\n    case "
     "LOAD_METHOD:\n"),
    (WATCH, "case IMPORT_FROM:\n      return JudgeAttribute(",
     "case IMPORT_FROM:\n      return true || JudgeAttribute("),
    (WATCH, "return JudgeImport(now);", "return true;"),
    (WATCH, "world_->AddEntry(modules, name, Where()) &&", "true &&"),
    (WATCH, "return JudgeStore(now.Peek(1), now.Name(argument));", "return true;"),
    (WATCH, "return world_->AddWritten(", "return true || world_->AddWritten("),
    (WATCH, 'return Doubt(StrCat("deletes the global name "',
     'return true || Doubt(StrCat("deletes the global name "'),
    (WATCH, "case PRECALL:\n      return JudgeCall(now, argument, false);",
     "case PRECALL:\n      return true;"),
    (WATCH, "return JudgeCallOfLists(now);", "return true;"),
    (WATCH, "return JudgeOrder(now.Peek(1));\n    case IS_OP", "return true;\n    case IS_OP"),
    (WATCH, "const bool functions = a == b && ", "const bool functions = false && "),
    (WATCH, "WhyNotIs(a, b);\n      return why.empty() ||",
     "WhyNotIs(a, b);\n      return true ||"),
    (WATCH, "return JudgeMatch(now);", "return true;"),
    (WATCH, "for (PyObject* names : {now.Peek(1), more}) {",
     "for (PyObject* names : {now.Peek(1)}) {"),
    (WATCH, "(!PyList_Check(now.Peek(2)) || JudgeOrder(now.Peek(1))) && JudgeText(now)",
     "JudgeText(now)"),
    (WATCH, "if (has_spec && AsksLocale(now.Peek(1)))", "if (false)"),
    (WATCH, "WhyNotFormat(now.Peek(has_spec ? 2 : 1));\n  return why.empty() ||",
     "WhyNotFormat(now.Peek(has_spec ? 2 : 1));\n  return true ||"),
    (WATCH, "if (LeadsOutside(name)) return", "if (false) return"),
    (WATCH, "if (FunctionOfTraced(owner))\n", "if (false)\n"),
    (WATCH,
     'return AddMembers(world_, owner, name, Where()) ||\n           Doubt(StrCat("reads '
     "what",
     'return true ||\n           Doubt(StrCat("reads what'),
    (WATCH, "compared_.contains(owner) || world_->MakeGiven(owner, Where()) ||", "true ||"),
    (WATCH, "if (shared) return", "if (false) return"),
    (WATCH, "if (!JudgeAttribute(now, call.arguments[0], call.arguments[1])) return false;", ""),
    (WATCH, "if (!JudgeStore(call.arguments[0], call.arguments[1])) return false;", ""),
    (WATCH, "!JudgeOrder(PyCFunction_GET_SELF(call.callable)))", "false)"),
    (WATCH, "return std::all_of(call.arguments, call.arguments + call.count, HasSteadyOrder) ||",
     "return true ||"),
    (WATCH, "return !IsNan(PyTuple_GET_ITEM(now.frame->code->co_consts, argument)) ||",
     "return true ||"),
    (WATCH, "return IsPlainKey(item) && !IsNan(item);", "return IsPlainKey(item);"),
    (WATCH, "if (IsOfInterpreter(*frame))\n", "if (false)\n"),
    (WATCH, '"__del__") == 0) return true;', '"__del__") == 0) return false;'),
    (WATCH, "(PyWeakref_Check(o) || PyFrame_Check(o))", "PyWeakref_Check(o)"),
    (WATCH, 'return Doubt("makes a class");', "return true;"),
    (CODE, "if (!IsOfInterpreter(instructions_[static_cast<size_t>(target)].op))\n",
     "if (false)\n"),
    (INSTRUCTIONS, "return state->c_tracefunc || state->c_profilefunc ||",
     "return state->c_profilefunc ||"),
    (INSTRUCTIONS, "return state->c_tracefunc || state->c_profilefunc ||",
     "return state->c_tracefunc ||"),
]  # fmt: skip

# Functions of C.
CALLED = [
    (CALLABLES, "if (!IsHarmlessMethod(type, name)) return", "if (false) return"),
    (CALLABLES, "if (!listed) return", "if (false) return"),
    (CALLABLES, "if (CallsArguments(o)) return Unlisted(", "if (false) return Unlisted("),
    (CALLABLES, '{"sorted", "min", "max", "iter"}', '{"min", "max", "iter"}'),
    (CALLABLES, '{"sorted", "min", "max", "iter"}', '{"sorted", "iter"}'),
    (CALLABLES, '{"sorted", "min", "max", "iter"}', '{"sorted", "min", "max"}'),
    (CALLABLES, "if (o == reinterpret_cast<PyObject*>(&PyMap_Type) ||\n", "if (\n"),
    (CALLABLES, "if (type->tp_finalize && ", "if (false && "),
    (CALLABLES, 'if (type == &PyUnicode_Type) return count > 0 ? WhyNotFormat(arguments[0]) : "";',
     'if (type == &PyUnicode_Type) return "";'),
    (CALLABLES,
     'return "writes a number as the locale wants it";\n    return '
     "WhyNotFormat(arguments[0]);",
     'return "writes a number as the locale wants it";\n    return "";'),
    (CALLABLES, 'return StrCat("writes an object of type "',
     'return true ? std::string() : StrCat("writes an object of type "'),
    (CALLABLES, "return equal ? \"asks with 'is' whether equal values are one object\" : \"\";",
     'return "";'),
    (CALLABLES, '|| name == "getattr" || name == "hasattr")', ")"),
    (CALLABLES, "if (attributes && IsShared(owner))", "if (false)"),
    (CALLABLES, 'if (name == "__hash__" || ', "if ("),
    (CALLABLES, "return count > 1 ? WhyNotIs(arguments[0], arguments[1])",
     "return count > 1 ? std::string()"),
    (CALLABLES, "if (function) return WhyNotCall(function.get(), arguments, count);",
     'if (function) return "";'),
    (CALLABLES,
     'if (Py_TYPE(o)->tp_call && Py_TYPE(o)->tp_call == SlotsOfPython().call) return "";',
     'return "";'),
    (CALLABLES, 'return s.ends_with("n") || s.find("n}") != s.npos;', "return false;"),
    (CALLABLES, 'if (PyType_Check(arguments[i])) return "formats a class',
     'if (false) return "formats a class'),
    (CALLABLES, "return type == &tensor_type || type == Library().deque ||",
     "return true || type == Library().deque ||"),
    (CALLABLES_TABLE, 'FZ_FUNCTION("builtins", "abs")',
     'FZ_FUNCTION("builtins", "abs")\nFZ_FUNCTION("builtins", "id")'),
    (CALLABLES_TABLE, 'FZ_FUNCTION("builtins", "abs")',
     'FZ_FUNCTION("builtins", "abs")\nFZ_FUNCTION("builtins", "print")'),
    (CALLABLES_TABLE, 'FZ_FUNCTION("builtins", "abs")',
     'FZ_FUNCTION("builtins", "abs")\nFZ_FUNCTION("builtins", "hash")'),
    (CALLABLES_TABLE, 'FZ_FUNCTION("builtins", "abs")',
     'FZ_FUNCTION("builtins", "abs")\nFZ_FUNCTION("builtins", "globals")'),
    (CALLABLES_TABLE, 'FZ_MODULE("math")', 'FZ_MODULE("math")\nFZ_MODULE("time")'),
    (CALLABLES_TABLE, 'FZ_MODULE("math")', 'FZ_MODULE("math")\nFZ_MODULE("sys")'),
]  # fmt: skip

# Numbers that move.
MOVING = [
    (FLOW, "if (!IsFloat(CellOf(first ? a : b).dtype()) || ", "if ("),
    (FLOW, " || (first && how >= NB_INPLACE_ADD)) return false;", ") return false;"),
    (FLOW, "numbers_->Pin(numbers_->Compare(how, NodeOf(a), NodeOf(b)), Where());", ""),
    (FLOW,
     "if (IsTracked(now.Peek(1))) numbers_->Pin(numbers_->Truth(NodeOf(now.Peek(1))), "
     "Where());",
     ""),
    (FLOW, "case DELETE_SUBSCR:\n      return Pin(now.Peek(1)), true;",
     "case DELETE_SUBSCR:\n      return true;"),
    (FLOW, "if (!TakesOperand(a, b, argument)) pin(2);", ""),
    (FLOW, "default:\n      return pin(4), true;", "default:\n      return true;"),
    (FLOW, "std::for_each(arguments, arguments + count, [&](PyObject* o) { Pin(o); });", ""),
    (FLOW, "for (int i = 0; i < argument; ++i) Pin(now.Peek(2 * i + 2));", ""),
    (FLOW, "case BUILD_STRING:\n      return pin(argument), true;",
     "case BUILD_STRING:\n      return true;"),
    (FLOW, "if (!IsTensor(now.Peek(2))) Pin(now.Peek(1));", ""),
    (FLOW, "return Pin(now.Peek(2)), true;\n    case BUILD_SET",
     "return true;\n    case BUILD_SET"),
    (FLOW, "if (is_number && PyBool_Check(result)) return numbers_->Pin(pending.node, Where());",
     ""),
    (FLOW, "for (const Object& o : pending.operands) Pin(o.get());", ""),
    (NUMBERS, "if (value && !nest->Add(value.get())) return PyErr_Clear(), false;", ""),
    (FLOW, "  for (const auto& [object, node] : tracked_) numbers_->Pin(node, Where());\n", ""),
    (FLOW, '{"func", "args", "keywords"}', '{"func"}'),
    (FLOW, "if (!harmless) prover_->IsRead(top);", ""),
    (FLOW, "if (prover_->unread()->contains(o)) prover_->IsRead(o);", ""),
    (FLOW, "  if (now.instruction.op == IS_OP) {\n", "  if (false) {\n"),
    (FLOW, 'if (name != "id" && name != "is_" && name != "is_not") return;', "return;"),
    (OPERANDS, "if (fresh) it->second = SharedNumber(number);",
     "if (fresh) it->second = Object::Share(number);"),
    (OPERANDS, "  if (tracked_.empty()) return;\n  PyObject *type", "  return;\n  PyObject *type"),
    (WATCH, "    Pin(given);\n    Pin(callable);\n", ""),
    (WATCH, "if (running_ && !tracked_.empty()) ShowOriginals(frame, offset);",
     "if (running_ && doubt_.empty() && !tracked_.empty()) ShowOriginals(frame, offset);"),
    (NUMBERS, "PyNumber_Subtract, PyNumber_TrueDivide", "PyNumber_Add, PyNumber_TrueDivide"),
    (NUMBERS, "is_float ? std::bit_cast<uint64_t>(PyFloat_AS_DOUBLE(number))",
     "is_float ? static_cast<uint64_t>(PyFloat_AS_DOUBLE(number))"),
    (NUMBERS, "} else if (!nest->Add(value.get())) {", "} else if (false) {"),
    (NUMBERS, "pinned_.emplace_back(node, where);", ""),
    (NUMBERS, "return Object::Steal(PyNumber_Negative(operand(0)));",
     "return Object::Steal(PyNumber_Positive(operand(0)));"),
    (NUMBERS, "const std::pair<int, DType> use(node, dtype);",
     "const std::pair<int, DType> use(0, dtype);"),
    (NUMBERS, "return Add({Kind::kLeaf, static_cast<int>(place), {}, {}});",
     "return Add({Kind::kLeaf, 0, {}, {}});"),
    (PROVER, "if (unread_.erase(list) == 0) return;", "return;"),
    (PROVER, "if (world.changes() != before) ForgetNumbers();", ""),
    (NEST, "moving.push_back({spot.owner, spot.key, spot.index, number});",
     "moving.push_back({spot.owner, spot.key, 0, number});"),
]  # fmt: skip

# What the body did, done again.
WRITES = [
    (EFFECTS, "if (now == value.get()) continue;", "continue;"),
    (EFFECTS, "if (content == before.items[0].get()) return true;", "return true;"),
    (EFFECTS, "if (value == before.slots[i].get()) continue;", "continue;"),
    (EFFECTS, 'if (!value) return Refuse("an attribute to nothing");', "if (!value) continue;"),
    (EFFECTS, "  if (n < was) {\n", "  if (false) {\n"),
    (EFFECTS, "if (i < was && item(i) == before.items[i].get()) continue;",
     "if (i < was) continue;"),
    (EFFECTS, "for (size_t i = 0; i < n; ++i) {\n    if (i < was",
     "for (size_t i = 0; i < std::min(n, was); ++i) {\n    if (i < was"),
    (EFFECTS, "      gone.push_back(old);\n", ""),
    (EFFECTS, "return before.items[was + 1].get() != now[i].second;", "return false;"),
    (EFFECTS, "return Refuse(\"the order of a dict's keys\");", "continue;"),
    (EFFECTS, 'if (Py_TYPE(o) != before.type) return Refuse("the class of an argument");', ""),
    (EFFECTS, 'return same || Refuse("the attributes of a module");', "return true;"),
    (EFFECTS, 'return same || Refuse("a set");', "return true;"),
    (EFFECTS, 'if (!content) return Refuse("a name of a function outside to nothing");',
     "if (!content) return true;"),
    (EFFECTS, "form->words.push_back(WordOf(Change::kReplaceKeys, container));\n", ""),
    (NEST_CODE, "    NoteContainer(PyTuple_GET_ITEM(cells, i));\n", ""),
    (RESULT,
     "if (const auto it = numbers_->find(o); it != numbers_->end())\n      return "
     "identity(kNumber, it->second);",
     ""),
    (PROMISED, "} else if (!effects.Find(&form)) {", "} else if (false) {"),
]  # fmt: skip

# When a call is not to be skipped, or not learnt from.
CALLS = [
    (PROMISED, " || IsWatchedByOthers()))", "))"),
    (PROMISED, "if (watch && !watch->doubt().empty()) builder->Refuse(watch->doubt());", ""),
    (PROMISED, "if (prover_ && prover_->changes() != world) {\n      promise_.Forget();",
     "if (prover_ && prover_->changes() != world) {"),
    (PROMISED, "if (!watch.doubt().empty()) return result.release();", ""),
    (PROMISED, "nest->unread = prover_->unread();",
     "nest->unread = prover_->unread();\n    return true;"),
    (PROMISED, "return !prover_ || prover_->Guard(nest);", "return true;"),
    (PROMISED, "if (tracer::Inside()) return Run(args, nargsf, kwnames, nullptr);", ""),
    (PROMISE, "return cell->defined() && absl::c_any_of(program.constants,",
     "return false && absl::c_any_of(program.constants,"),
]  # fmt: skip

PROOF = [*FIXED, *CLASS_RULES, *GIVEN, *WATCHED, *CALLED, *MOVING, *WRITES, *CALLS]
