// Stream: an NPU program in the making. Emitters say what each instruction reads and writes, in the
// order in which a sequential machine would do it; Stream finds registers for constants and puts in
// the flags. Called by the emitters of jit/emit/npu only. Invariant: every pair of accesses to one
// tracked buffer from two queues, of which one writes, is ordered by flags; no flag stands where
// the order follows from others; every SET has its WAIT, later in program order, and a flag is set
// again only after its last WAIT. What the instruction set cannot say (more parameters, longer
// rows, wider strides than there are) is refused, never written: from then on nothing is, and
// Finish says why.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "npu/access.h"
#include "npu/preset.h"
#include "npu/program.h"

namespace frazil::npu {

// A piece of scratch memory whose accesses are ordered: one side of a ping-pong pair, a tile.
using BufferId = int32_t;
inline constexpr BufferId kUntracked = -1;  // used by one queue only, or ordered by other means

// What stands in an operand's place.
struct Arg {
  enum Kind : uint8_t { kNumber, kLocal, kDevice, kParam };
  Kind kind = kNumber;
  uint64_t value = 0;  // number; local address; offset from a parameter (kDevice)
  int32_t which = 0;   // kLocal: BufferId; kDevice, kParam: parameter

  static Arg Number(int64_t n) { return {kNumber, uint64_t(n), 0}; }
  static Arg Local(uint64_t address, BufferId buffer) { return {kLocal, address, buffer}; }
  static Arg Device(int param, int64_t offset) { return {kDevice, uint64_t(offset), param}; }
  // The parameter word itself, for scalars.
  static Arg Param(int param) { return {kParam, 0, param}; }
};

class Stream {
 public:
  explicit Stream(const Preset& preset) : preset_(preset) { seq_.fill(-1); }

  // Scratch memory that lives until the end; nullopt if the space is full.
  std::optional<uint64_t> Alloc(Space space, int64_t bytes);
  int64_t Free(Space space) const { return preset_.bytes[space] - used_[space]; }
  BufferId Track();

  int AddParam(std::string name, ParamKind kind);

  // Why there will be no program; nullopt so far.
  const std::optional<std::string>& refusal() const { return refusal_; }

  // Args in the order of the table; missing ones are 0.
  void Emit(Op op, uint8_t dt, uint8_t fn, std::initializer_list<Arg> args);
  // Later instructions of `later` begin after all that `earlier` has been given.
  void Order(Queue earlier, Queue later);
  void MarkSource(std::string op, std::string file, int line);

  // The program so far with HALT behind it, or NotImplementedError: the refusal. The stream is
  // spent.
  StatusOr<Program> Finish(std::string name);
  int64_t size() const { return int64_t(items_.size()) + num_flags_; }

 private:
  using Clock = std::array<int32_t, kNumQueues>;

  struct Item {
    Instr instr;
    std::vector<Instr> after;  // SETs
  };
  // An instruction's access to a buffer that later ones may have to wait for.
  struct Use {
    Queue queue = kS;
    int32_t number = -1;
    bool write = false;
    Access access;
  };
  struct Flag {
    int32_t last_wait = -1;  // number in the waiting queue
  };
  // What a register holds.
  struct Held {
    enum Kind : uint8_t { kNothing, kNumber, kParam, kDevice };
    Kind kind = kNothing;
    uint64_t value = 0;
    int32_t param = 0;
    int64_t used = 0;
    bool operator==(const Held& o) const {
      return kind == o.kind && value == o.value && param == o.param;
    }
  };

  void Refuse(std::string why);
  uint8_t Field(const Arg& arg);
  uint8_t Hold(const Held& what);
  uint8_t FreeRegister();
  int32_t Push(Queue queue, const Instr& instr);
  void WaitFor(Queue waiter, Queue queue, int32_t number, int depth = 0);
  int FindFlag(Queue from, Queue to, int32_t number) const;
  void Pair(Queue from, int32_t number, Queue to, int id);
  // Empty and a refusal where an extent is more than the instruction takes.
  std::vector<Use> UsesOf(const Instr& instr, std::initializer_list<Arg> args);
  static void Note(const Use& use, std::vector<Use>* uses);
  void WaitForAll(Queue waiter, const Clock& needed);

  const Preset& preset_;
  std::array<int64_t, kNumSpaces> used_{};
  std::vector<Param> params_;
  std::optional<std::string> refusal_;
  std::vector<Item> items_;  // program order
  int64_t num_flags_ = 0;
  std::vector<std::vector<Use>> buffers_;
  std::vector<SourceEntry> sources_;                     // first_pc: number of the item
  Clock seq_;                                            // last number given in each queue
  std::array<Clock, kNumQueues> clock_ = Nowhere();      // what each queue's next instruction knows
  std::array<std::vector<Clock>, kNumQueues> clock_at_;  // what was known at each number
  std::array<std::vector<int32_t>, kNumQueues> item_of_;  // of each number
  Flag flags_[kNumQueues][kNumQueues][kFlagsPerPair];
  std::array<Held, kRegisters> held_{};
  int64_t time_ = 0;
  uint32_t pinned_ = 0;  // registers that the instruction in the making uses

  static std::array<Clock, kNumQueues> Nowhere() {
    std::array<Clock, kNumQueues> clocks;
    for (Clock& c : clocks) c.fill(-1);
    return clocks;
  }
};

}  // namespace frazil::npu
