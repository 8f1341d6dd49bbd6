#include "npu/manual.h"

#include "absl/strings/str_format.h"
#include "core/str.h"
#include "npu/fault.h"

namespace frazil::npu {
namespace {

constexpr std::string_view kIntroduction =
    R"(# The instruction set of the simulated NPU

Written by `frazil-npu manual` from `npu/isa.def` and `faults.def`. Do not edit.

The machine is hypothetical. A scalar unit S fetches one program in order, runs scalar instructions itself and hands every other one, with its operand registers read, to one of six queues. A queue starts and completes its instructions in order and sees its own results; queues are ordered among each other by flags alone.

| queue | runs |
|---|---|
| S | scalar arithmetic, jumps, dispatch |
| LD | moves from device memory to L1 and UB |
| XP | moves from L1 to L0A, L0B and UB |
| MM | the matrix unit: L0A times L0B to L0C |
| VE | the vector unit, in UB |
| DR | moves from L0C to UB and device memory |
| ST | moves from UB to device memory and L1 |

## Memories

An address has 64 bits: the memory's number in bits 63:60, a byte offset below (device memory: the device address, from 0x1000_0000_0000 on). Sizes are those of the preset.

| number | memory | holds | base and row stride are multiples of |
|---|---|---|---|
| 0 | gm | device memory: tensors | 1 byte (DR: one element) |
| 1 | l1 | staged operands of the matrix unit, row-major | 32 bytes |
| 2 | l0a | left operands in fractals | 512 bytes |
| 3 | l0b | right operands in fractals | 512 bytes |
| 4 | l0c | accumulators, f32 or i32, in blocks of 16 x 16 | 1024 bytes |
| 5 | ub | operands of the vector unit, row-major | 32 bytes |

A row stride (`_ld`) counts bytes. 0 means: the rows of a destination follow each other, those of a source are one row that is read again. A fractal is 16 rows of 32 bytes, of k0 = 32 / element size elements each:

* l0a(m, k): `((m / 16) * ceil(K / k0) + k / k0) * 512 + (m % 16) * 32 + (k % k0) * size`
* l0b(k, n): `((k / k0) * ceil(N / 16) + n / 16) * 512 + (n % 16) * 32 + (k % k0) * size`
* l0c(m, n): `((n / 16) * ceil(M / 16) + m / 16) * 1024 + (m % 16) * 64 + (n % 16) * 4`

## Flags

Each ordered pair of queues has 8 flags. `SET a>b, id` goes to queue a and takes effect when all earlier instructions of a are complete; `WAIT a>b, id` goes to queue b, waits until the flag is set and clears it.

* In the order of the program the k-th WAIT of a flag stands after its k-th SET. So no program can deadlock, and running in the order of the program is one of the legal schedules.
* SET number k + 1 is ordered by flags after WAIT number k.
* At HALT no flag is set.

## Words

An instruction is 64 bits, little-endian in memory. What a format does not use is zero.

| format | 63:56 | 55:52 | 51:48 | 47:42 | 41:36 | 35:30 | 29:24 | 23:18 | 17:12 | 11:6 | 5:0 |
|---|---|---|---|---|---|---|---|---|---|---|---|
| R | op | type | function | a0 | a1 | a2 | a3 | a4 | a5 | a6 | a7 |

| format | 63:56 | 55:52 | 51:48 | 47:42 | 41:36 | 35:32 | 31:0 |
|---|---|---|---|---|---|---|---|
| I | op | | | sd | | | imm |
| B | op | | cc | a0 | a1 | | rel: instructions from this one, signed |

A field of six bits is a register (0 to 31; s0 reads 0) or the number 0 to 31 (32 to 63, written `#n`). Queues stand in fields as numbers in the order of the table above (BAR: 7 is `all`).
)";

constexpr std::string_view kTextAndFiles = R"(
## Text

One instruction a line, `op[.function][.type] operands`, with `label:` before it or on a line of its own; a comment begins with `;`. A jump names a label or a number of instructions. `LA s6, ub:0x100` stands for SLI and SLIH that load an address.

| directive | meaning |
|---|---|
| `.snpu 1.0` | version of this text |
| `.preset NAME` | the machine it was made for |
| `.kernel NAME params x:gm.r y:gm.w n:u64 w:f32` | name and parameters: `gm.r`, `gm.w` addresses of memory that is read, written; `u64`, `f32` numbers |
| `.param NAME:KIND` | one parameter more |
| `.op "NAME" FILE:LINE` | where the instructions from here on come from |
| `.meta KEY VALUE` | for reports: `class`, `shape`, `tile`, `scratch SPACE`, `gm_read`, `gm_write`, `macs` |
| `.note "TEXT"` | a remark |

Text in quotes knows `\"`, `\\` and `\xNN`. The disassembler's text assembles to the same program. Binary files are described in `npu/file.h`.

## Command line

```
frazil-npu as PROGRAM.s -o PROGRAM.snpu
frazil-npu dis PROGRAM.snpu
frazil-npu lint PROGRAM
frazil-npu run PROGRAM --gm x=random.f32:4096 --gm y=zeros:4096 --set n=1 --dump y=y.bin
frazil-npu report PROGRAM --gm ... --format text
```

`frazil-npu` alone lists all options.
)";

std::string TypeNames(const OpInfo& info) {
  std::string text;
  for (int t = 0; t < kNumTypes; ++t) {
    if (info.types >> t & 1) StrAppend(&text, text.empty() ? "" : " ", Name(Type(t)));
  }
  return text;
}

std::string QueueName(const OpInfo& info) {
  if (info.queue == kBySet) return "the first";
  if (info.queue == kByWait) return "the second";
  if (info.queue == kByBar) return "it; S for all";
  return std::string(Name(info.queue));
}

// "VBIN.fn.type dst, src1, src2, ..."
std::string Form(const OpInfo& info) {
  std::string text(info.name);
  if (!info.functions.empty()) StrAppend(&text, info.functions[0].empty() ? "[.fn]" : ".fn");
  if (info.types) StrAppend(&text, ".type");
  for (int i = 0; i < info.num_operands; ++i) {
    const bool pair = i > 0 && info.operands[i].kind == OperandKind::kQueueId;
    StrAppend(&text, i == 0 ? " " : pair ? ">" : ", ", OperandName(info, i));
  }
  return text;
}

// "dst in l1 or ub; src in gm"
std::string Places(const OpInfo& info) {
  std::string text;
  for (int i = 0; i < info.num_operands; ++i) {
    if (!info.operands[i].spaces) continue;
    StrAppend(&text, text.empty() ? "" : "; ", OperandName(info, i), " in ");
    std::string spaces;
    for (int s = 0; s < kNumSpaces; ++s) {
      if (info.operands[i].spaces >> s & 1)
        StrAppend(&spaces, spaces.empty() ? "" : " or ", Name(Space(s)));
    }
    StrAppend(&text, spaces);
  }
  return text;
}

std::string Functions(const OpInfo& info) {
  std::string text;
  for (size_t fn = 0; fn < info.functions.size(); ++fn) {
    const std::string_view name = info.functions[fn];
    StrAppend(&text, fn == 0 ? "" : ", ", fn, " ", name.empty() ? "(none)" : name);
  }
  return text;
}

std::string_view Heading(CostClass cost) {
  switch (cost) {
    case CostClass::kScalar:
    case CostClass::kScalarLoad:
      return "Scalar unit";
    case CostClass::kFlag:
      return "Synchronisation";
    case CostClass::kMove:
      return "Moves";
    case CostClass::kMatrix:
    case CostClass::kDrain:
      return "Matrix unit";
    case CostClass::kVector:
      return "Vector unit";
  }
  return "";
}

void Instruction(const OpInfo& info, std::string* out) {
  absl::StrAppendFormat(out, "\n**`%s`** · %02x · format %c · queue %s", Form(info), info.code,
                        "RIB"[int(info.format)], QueueName(info));
  if (info.types) StrAppend(out, " · types ", TypeNames(info));
  StrAppend(out, "\n\n", info.doc, "\n");
  if (const std::string places = Places(info); !places.empty())
    StrAppend(out, "\n* Memories: ", places, ".\n");
  if (!info.functions.empty())
    StrAppend(out, Places(info).empty() ? "\n" : "", "* Functions: ", Functions(info), ".\n");
}

}  // namespace

std::string Manual() {
  std::string out(kIntroduction);
  StrAppend(&out, "\nTypes: ");
  for (int t = 0; t < kNumTypes; ++t) StrAppend(&out, t ? ", " : "", t, " ", Name(Type(t)));
  StrAppend(&out, ". Revision of the instruction set: ", kIsaRevision,
            ".\n\n## Instructions\n\nEach with its text, code, format and queue.\n");
  std::string_view heading;
  for (int op = 0; op < int(Op::kCount); ++op) {
    const OpInfo& info = Info(Op(op));
    if (Heading(info.cost) != heading) {
      heading = Heading(info.cost);
      StrAppend(&out, "\n### ", heading, "\n");
    }
    Instruction(info, &out);
  }
  StrAppend(
      &out,
      "\n## Faults\n\nA fault ends the launch: it names the block, pc, queue, instruction, "
      "operand and addresses, the op and the user's line.\n\n| code | raised for |\n|---|---|\n");
#define NPU_FAULT(E, NAME, sentence) StrAppend(&out, "| " #NAME " | ", sentence, " |\n");
#include "npu/faults.def"
#undef NPU_FAULT
  StrAppend(&out, kTextAndFiles);
  return out;
}

}  // namespace frazil::npu
