"""The table of planted bugs: a text that stands once in some files, and what takes its place.

Every row makes the tracer, a pass or the lowering wrong in a way that a program can see. The rows
are planted by mutate.py, one at a time, into copies.
"""

SESSION = "tracer/session*.cc"
DEFERRED = "tracer/deferred*.cc"
RECORDING = "tracer/recording*.cc"
KEYS = "tracer/promise*.cc"
SCRIPT = "tracer/script*.cc"
SEGMENT = "jit/segment*.cc"
BUILDER = "jit/plan/plan_builder*.cc"
PLAN = "jit/run/plan*.cc"
FOLD = "jit/graph/passes/fold*.cc"
REWRITES = "jit/graph/passes/rewrites.def"
CONDITIONS = "jit/graph/passes/conditions*.cc"
CSE = "jit/graph/passes/cse*.cc"
BODY = "jit/lower/body*.cc"
LOWER = "jit/lower/lower*.cc"
FUSE = "jit/graph/fuse*.cc"
SPACE = "jit/graph/space*.cc"
MAKER = "jit/lower/maker*.cc"
IN_PLACE = "jit/plan/in_place*.cc"
NEST = "bindings/python/nest*.cc"
MODULE = "bindings/python/module_type*.cc"
RESULT = "bindings/python/result*.cc"
SAME = "tracer/same_program*.cc"
PROGRAM = "tracer/program.cc"
PIECES = "tracer/pieces.cc"
INTERPRET = "tracer/interpret.cc"
BODY_RECORDER = "tracer/body_recorder.cc"
MEMORY = "jit/plan/memory_plan*.cc"

# Guards of replay by validation.
GUARDS = [
    (SESSION, "if (values[ref].get() != v) return false;", ""),
    (SESSION, "if (slots[slot].get() != v) return false;", ""),
    (SESSION, "if (!node.slots[fresh].Admits(*v) || !v->ready() ||", "if (!v->ready() ||"),
    (SESSION, "inputs[j]->value() != v) return false;", "false) return false;"),
    (SESSION, "||\n      AttrSpan(node.attrs) != request.attrs", ""),
    (SESSION, "(uint64_t{node.composite} << 32 | node.op) != request.what ||", ""),
    (RECORDING, "if (entry.precision == precision && entry.live == live) return &entry;",
     "if (entry.precision == precision) return &entry;"),
    (RECORDING, "if (entry.precision == precision && entry.live == live) return &entry;",
     "if (entry.live == live) return &entry;"),
    (SESSION, " || (v->storage && v->storage->foreign))\n        return", ")\n        return"),
    (SESSION, "body_ || State().precision != precision_) return", "body_) return"),
]  # fmt: skip

# What a session records, runs and gives back.
REPLAY = [
    (DEFERRED, "uint64_t{values[i]->holders() > 1}", "uint64_t{values[i]->holders() > 2}"),
    (DEFERRED, "word = word << 1 |", "word = (word << 1 & 0xff) |"),
    (PLAN, "FillFrom(*outputs[i])", "FillFrom(*outputs[outputs.size() - 1 - i])"),
    (SESSION, "kSlotBit | i);", "kSlotBit | (i ^ 1));"),
    (SESSION, "num_results_ = results;", "num_results_ = 0;"),
    (SESSION, "num_slots_ = slots;\n", "num_slots_ = 0;\n"),
    (SESSION, "push_back(tag & kSlotBit ? ~number : number)", "push_back(~number)"),
    (INTERPRET, "const ValueId first = parts.FirstResult(i), end",
     "const ValueId first = parts.FirstResult(i > 0 ? i - 1 : 0), end"),
    (INTERPRET, ": arguments[~id];", ": arguments[0];"),
    (BODY_RECORDER, "return ~static_cast<ValueId>(i);", "return ~0;"),
    (SEGMENT, "graph.outputs.push_back(results[i]);",
     "graph.outputs.push_back(results[i & ~size_t{1}]);"),
    (SEGMENT, "inputs_of_constants_[next_constant_++]", "inputs_of_constants_[0]"),
    (SEGMENT, "options.precision = precision;", ""),
    (SEGMENT, "id >= 0 ? results[id] : inputs[~id]", "id >= 0 ? results[id] : inputs[0]"),
    (BUILDER, "if (m.last_use != step || ", "if ("),
    (BUILDER, " || m.bytes != to.bytes ||", " ||"),
    (BUILDER, "m.last = m.last_use = kForever;", ""),
    (BUILDER, "m.last = end - 1;", "m.last = m.first;"),
    (BUILDER, "schedule_.result_slot(m.result), offset}", "schedule_.result_slot(m.result), 0}"),
    (BUILDER, "arena_offset_[home] + offset", "arena_offset_[home]"),
    (PLAN, "value.holders() != 1 || storage->holders() != 1", "false"),
    (PLAN, "= input >= 0 ? inputs[input]->imm", "= input >= 0 ? inputs[0]->imm"),
]  # fmt: skip

# Skipped bodies.
PROMISES = [
    (KEYS, "uint64_t{cell} << 16 |", ""),
    (KEYS, "static_cast<uint64_t>(same) << 40 |", ""),
    (KEYS, " ^ static_cast<uint64_t>(v.dtype) << 56", ""),
    (KEYS, "v.layout->id ^", "1 ^"),
    (SCRIPT, "contents.push_back(tensor(w.content));",
     "contents.push_back(tensor(stage->writes[0].content));"),
    (SCRIPT, "next = known == outcome ? child : next;", "next = child;"),
    (SCRIPT, "if (is_wanted(stage->first_result + r))", "if (is_wanted(r))"),
    (NEST, "words.push_back(std::bit_cast<uint64_t>(PyFloat_AS_DOUBLE(o)));",
     "words.push_back(static_cast<uint64_t>(PyFloat_AS_DOUBLE(o)));"),
    (NEST, "words.push_back(static_cast<uint64_t>(v));\n    return true;",
     "words.push_back(0);\n    return true;"),
    (RESULT, "if (i >= 0) return identity(kArgument, i);", ""),
    (MODULE, "snapshot.epoch != g_epoch || snapshot.is_volatile", "snapshot.epoch != g_epoch"),
    (MODULE, "std::all_of(snapshot.containers.begin(), snapshot.containers.end(), Unchanged);",
     "true;"),
    (MODULE, "snapshot->is_volatile |= inner->is_volatile;", ""),
    (MODULE, "snapshot->containers.insert(snapshot->containers.end(), inner->containers.begin(),",
     "snapshot->containers.insert(snapshot->containers.end(), inner->containers.end(),"),
    (KEYS, "| node << 1 |", "|"),
    (KEYS, "<< 9 | uint64_t{s.grad_enabled} << 8 |", "<< 9 |"),
    (KEYS, "<< 8 |\n                   static_cast<uint64_t>(s.precision));", "<< 8);"),
    (KEYS, "absl::Span<const uint64_t>(last_->words) != words",
     "last_->words.size() != words.size()"),
    (SCRIPT, "if (!is_wanted(id)) stage->overwritable", "stage->overwritable"),
    (SCRIPT, " && before->live == stage->live", ""),
    (SCRIPT, "*written[stage->writes[i].cell]", "*written[i]"),
    (SAME, "a.edges == b.edges && ", "a.edges.empty() && "),
    (NEST, "words.push_back(snapshot->structure);", "words.push_back(1);"),
]  # fmt: skip

PASSES = [
    (FOLD, " || a.layout != b.layout", ""),
    (CONDITIONS, "  if (!Holds(middle, from)) return false;\n", ""),
    (REWRITES, "F: negative bitwise_invert", "F: negative abs"),
    (REWRITES, '"F: abs sign"', '"F: tanh sign"'),
    (REWRITES, '"F(x, x)", "x", "F: maximum', '"F(x, x)", "x", "F: multiply'),
    (REWRITES, '"subtract(x, y)", "", Always', '"add(x, y)", "", Always'),
    (REWRITES, '"F(x, y)", "F: multiply divide equal', '"F(y, x)", "F: multiply divide equal'),
    (REWRITES, '"not_equal(x, y)", ""', '"less(x, y)", ""'),
    (REWRITES, '"where(w, y, x)"', '"where(w, x, y)"'),
    (REWRITES, 'kBits, "bitwise_invert(less(x, y))"', 'kAny, "bitwise_invert(less(x, y))"'),
    (REWRITES, 'kExactForIntegers, kAny, "subtract(add(', 'kExact, kAny, "subtract(add('),
    (REWRITES, '"where(w, x, where(w, y, z))", "where(w, x, z)"',
     '"where(w, x, where(w, y, z))", "where(w, x, y)"'),
    (CONDITIONS, "attrs->push_back(outer[i + 1] * inner[i + 1]);",
     "attrs->push_back(outer[i + 1]);"),
    (CONDITIONS, "inner[i] + outer[i] * inner[i + 1]", "inner[i] + outer[i]"),
    (CSE, "x.attrs == y.attrs && ", ""),
]  # fmt: skip

LOWERING = [
    ("jit/lower/body.cc", "(IsFloat(dtype) ? traits::kExactFloats", "(IsFloat(dtype) ? 0xffff"),
    (BODY, "if (IsFloat(v.type)) found = found | (v != v);", ""),
    (BODY, "if (low != 0) also(index >= maker_->Literal(low));",
     "if (low != 0) also(index > maker_->Literal(low));"),
    (BODY, "if (stride != 1) offset", "if (stride > 1) offset"),
    (LOWER, "int32_t base = from;\n    for (; node(base).view; base = node(base).operands[0]) "
     "offset += node(base).offset;",
     "int32_t base = from;\n    for (; node(base).view; base = node(base).operands[0]) {}"),
    (LOWER, "return (n + kir::kChunk - 1) / kir::kChunk;", "return n / kir::kChunk;"),
    (LOWER, "read.offset = 0;\n", ""),
]  # fmt: skip

# Which calls become one kernel, which axes it has, which buffers it may overwrite.
KERNELS = [
    (FUSE, " || Returns(g, own))", ")"),
    (FUSE, "outside || returned_[id] ||", "outside ||"),
    (FUSE, "returned_[Base(id)] = true;", "returned_[id] = true;"),
    (FUSE, "users_[Base(x)].push_back(id);", "users_[x].push_back(id);"),
    (IN_PLACE, "if (stride != launch.strides[b * axes + axis]) return false;", ""),
    (IN_PLACE, "if (inst.a != kir::kNone || written) return false;", ""),
    (MAKER, "accesses_[i].strides == strides && ", ""),
    (MAKER, "launch_.buffers[i].node == node && ", ""),
    (MAKER, "launch_.buffers[i].offset == offset &&\n", "true &&\n"),
    (MAKER, "access.strides[runs_.back().back()] == access.strides[a] * axes_.extents[a]",
     "true"),
    (MAKER, "!axes_.pinned[a] && !axes_.pinned[runs_.back().back()]", "true"),
    (MAKER, "launch_.scalars[i] != node) ++i;", "false) ++i;"),
    (SPACE, "for (int64_t a : n.attrs) m->axes.push_back(from[a]);",
     "for (size_t a = 0; a < n.attrs.size(); ++a) m->axes.push_back(from[a]);"),
    (SPACE, "if (n >= 64 || (seen >> n & 1))", "if (n >= 64)"),
    (SPACE, "if (has_loop && has_x) return false;", ""),
    (LOWER, "offset + next, {0}", "offset, {0}"),
    (LOWER, "if (shape.extents[i] != 1) axes.parallel", "if (shape.extents[i] > 2) axes.parallel"),
    (LOWER, "start += in.extents[axis];", "start += 1;"),
    (BODY, "if (IsBool(v[k].type) && !logical) v[k] = b_.Cast(DType::kI32, v[k]);", ""),
    (BODY, "return IsBool(v.type) && !logical ? b_.Cast(DType::kI32, v) : v;", "return v;"),
    (SCRIPT, "now.value() == before.value() && now.node() == before.node()",
     "now.node() == before.node()"),
    (SCRIPT, "mark.precision = precision;", ""),
    (SESSION, "node->first_result = num_results_;", "node->first_result = 0;"),
    (SEGMENT, "if (tracer::IsLive(live, i)) graph", "if (tracer::IsLive(live, i % 64)) graph"),
]  # fmt: skip

# Where temporaries lie.
MEMORY_PLAN = [
    (MEMORY, "return a.first <= b.last &&", "return a.first < b.last &&"),
    (MEMORY, "end = std::max(end, other.end);", "end = other.end;"),
]  # fmt: skip

# Calls as data: parts of programs, what becomes one plan, registers of scripts. What no random
# program shows is planted by the tests of the tracer.
PROGRAMS = [
    (PROGRAM, "known.emplace(r, static_cast<ValueId>(part.results.size()));",
     "known.emplace(r, static_cast<ValueId>(part.results.size()) - (r > 0));"),
    (PROGRAM, "numbers.try_emplace({v.dtype, v.imm}, id)", "numbers.try_emplace({v.dtype, 0}, id)"),
    (SCRIPT, "for (ValueId& id : operands) id = id < 0 ? taken[~id] : first + id;",
     "for (ValueId& id : operands) id = id < 0 ? taken[~id] : id;"),
    (SCRIPT, "subspan(static_cast<size_t>(node->first_result), node->results.size())",
     "subspan(0, node->results.size())"),
    (SCRIPT, "ids_[v.get()] = results_++;", "ids_[v.get()] = results_;"),
    (SCRIPT, "it->second = program.IdOfConstant(program.constants.size());",
     "it->second = program.IdOfConstant(0);"),
    (SCRIPT, "&& slots_differ_) learnt_", ") learnt_"),
    (SCRIPT, "if (piece.ahead && own != part.results.end())", "if (false)"),
    (SCRIPT, "if (!wanted->contains(id)) ended.insert(id);", "ended.insert(id);"),
    (SCRIPT, "if (!here.contains(r)) next->ended.push_back(r);", "next->ended.push_back(r);"),
    (SCRIPT, "for (ValueId& id : stage->slots) id = Placed(id);", ""),
    (SCRIPT, "id >= 0 && later.insert(id).second", "id >= 0"),
    (SCRIPT, "return cells[i]->value();\n    return id",
     "return cells[0]->value();\n    return id"),
    (PIECES, "piece.calls.resize(static_cast<size_t>(BeginOf(program, end) - first));",
     "piece.calls.resize(static_cast<size_t>(BeginOf(program, begin + 1) - first));"),
    (PIECES, "absl::c_for_each(call.operands, take);", ""),
    (INTERPRET, "last[id] == static_cast<int32_t>(i)", "last[id] >= 0"),
    (INTERPRET, "if (body.outputs[i].value == id) results[i] = t;",
     "if (body.outputs[0].value == id) results[i] = t;"),
    (BODY_RECORDER, "return program_->IdOfConstant(program_->constants.size() - 1);",
     "return program_->IdOfConstant(0);"),
]  # fmt: skip

MUTANTS = [*GUARDS, *REPLAY, *PROMISES, *PASSES, *LOWERING, *KERNELS, *MEMORY_PLAN, *PROGRAMS]
