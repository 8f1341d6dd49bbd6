#include "jit/emit/x86/unwind.h"

#include <array>

#include "jit/emit/x86/binary.h"

namespace frazil::jit {
namespace {

// DWARF's numbers of rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi and r8 to r15.
constexpr std::array<int, 16> kDwarf = {0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};
constexpr int kRsp = 7, kReturn = 16;
enum : uint8_t {
  kAdvance = 0x02,
  kDefCfa = 0x0c,
  kDefCfaRegister = 0x0d,
  kDefCfaOffset = 0x0e,
  kDefCfaExpression = 0x0f,
  kOffset = 0x80,
};

// Follows one prologue, instruction by instruction.
class Prologue {
 public:
  explicit Prologue(std::string_view code) : code_(code) {}

  std::string Instructions() {
    while (One()) {
    }
    return out_.text();
  }

 private:
  uint8_t At(size_t i) const { return i < code_.size() ? uint8_t(code_[i]) : 0; }
  template <typename T>
  int64_t Number(size_t i) const {
    T value = 0;
    if (i + sizeof(T) <= code_.size()) std::memcpy(&value, code_.data() + i, sizeof(T));
    return value;
  }
  // What is told from here on holds behind the instruction of so many bytes.
  void Pass(size_t bytes) {
    code_.remove_prefix(bytes);
    out_.Byte(kAdvance).Byte(int(bytes));
  }
  bool Push(int reg, size_t bytes) {
    Pass(bytes);
    cfa_ += 8;
    out_.Byte(kDefCfaOffset).Unsigned(uint64_t(cfa_));
    out_.Byte(kOffset | kDwarf[size_t(reg)]).Unsigned(uint64_t(cfa_ / 8));
    return true;
  }
  bool Room(int64_t size, size_t bytes) {
    Pass(bytes);
    if (aside_ >= 0) return true;  // the frame is found by what was put aside
    cfa_ += size;
    out_.Byte(kDefCfaOffset).Unsigned(uint64_t(cfa_));
    return true;
  }
  bool PutAside(int reg, size_t bytes) {
    Pass(bytes);
    aside_ = reg;
    out_.Byte(kDefCfaRegister).Byte(kDwarf[size_t(reg)]);
    return true;
  }
  bool Store(int64_t at, size_t bytes) {
    Pass(bytes);
    constexpr int kBreg7 = 0x77, kDeref = 0x06, kPlus = 0x23;
    const Bytes where =
        Bytes().Byte(kBreg7).Signed(at).Byte(kDeref).Byte(kPlus).Unsigned(uint64_t(cfa_));
    out_.Byte(kDefCfaExpression).Unsigned(where.size()).Raw(where.text());
    return false;  // the last
  }

  bool One() {
    if ((At(0) & 0xf8) == 0x50) return Push(At(0) & 7, 1);
    if (At(0) == 0x41 && (At(1) & 0xf8) == 0x50) return Push(8 + (At(1) & 7), 2);
    const bool wide = (At(0) & 0xf8) == 0x48;  // REX.W
    if (!wide) return false;
    const int high_reg = At(0) & 4 ? 8 : 0, high_base = At(0) & 1 ? 8 : 0;
    if (At(1) == 0x89 && (At(2) & 0xf8) == 0xe0)  // mov reg, rsp
      return PutAside(high_base + (At(2) & 7), 3);
    if (At(1) == 0x8b && (At(2) & 0xc7) == 0xc4) return PutAside(high_reg + (At(2) >> 3 & 7), 3);
    if (At(1) == 0x83 && At(2) == 0xe4) return Pass(4), true;  // and rsp, -alignment
    if (At(1) == 0x81 && At(2) == 0xe4) return Pass(7), true;
    if (At(1) == 0x83 && At(2) == 0xec) return Room(Number<int8_t>(3), 4);  // sub rsp, room
    if (At(1) == 0x81 && At(2) == 0xec) return Room(Number<int32_t>(3), 7);
    if (aside_ < 0 || At(1) != 0x89 || At(3) != 0x24) return false;
    if (high_reg + (At(2) >> 3 & 7) != aside_) return false;
    if ((At(2) & 0xc7) == 0x04) return Store(0, 4);  // mov [rsp + at], reg
    if ((At(2) & 0xc7) == 0x44) return Store(Number<int8_t>(4), 5);
    if ((At(2) & 0xc7) == 0x84) return Store(Number<int32_t>(4), 8);
    return false;
  }

  std::string_view code_;
  Bytes out_;
  int64_t cfa_ = 8;  // from rsp, or from what was put aside
  int aside_ = -1;
};

struct Choice {
  size_t first = 0, second = 0;  // where the functions begin; second 0: there is one
};

// mov rax, r8; sub rax, rcx; cmp rax, few; jle second
Choice ChoiceOf(std::string_view image) {
  const auto at = [&](size_t i) { return i < image.size() ? uint8_t(image[i]) : 0; };
  const auto word = [&](size_t i) { return at(i) << 16 | at(i + 1) << 8 | at(i + 2); };
  const bool mov = word(0) == 0x4c89c0 || word(0) == 0x498bc0;
  const bool sub = word(3) == 0x4829c8 || word(3) == 0x482bc1;
  if (!mov || !sub) return {};
  size_t jump = 0;
  if (word(6) == 0x4883f8) jump = 10;
  if (at(6) == 0x48 && at(7) == 0x3d) jump = 12;
  if (jump == 0) return {};
  if (at(jump) == 0x7e) return {jump + 2, jump + 2 + at(jump + 1)};
  if (at(jump) != 0x0f || at(jump + 1) != 0x8e) return {};
  int32_t distance = 0;
  std::memcpy(&distance, image.data() + jump + 2, sizeof distance);
  return {jump + 6, jump + 6 + size_t(distance)};
}

std::string Cie() {
  constexpr int kAbsolute = 0;
  Bytes cie;
  cie.Word(uint32_t{0}).Byte(1).Text("zR").Unsigned(1).Signed(-8).Unsigned(kReturn);
  cie.Unsigned(1).Byte(kAbsolute);
  cie.Byte(kDefCfa).Unsigned(kRsp).Unsigned(8).Byte(kOffset | kReturn).Unsigned(1);
  while ((cie.size() + 4) % 8 != 0) cie.Byte(0);
  return WithLength(cie);
}

}  // namespace

std::string EhFrame(std::string_view image, uint64_t address) {
  Bytes out;
  out.Raw(Cie());
  // `lead`: instructions before the prologue.
  const auto function = [&](size_t begin, size_t end, size_t lead) {
    Bytes fde;
    fde.Word(static_cast<uint32_t>(out.size() + 4)).Word(address + begin);
    fde.Word(static_cast<uint64_t>(end - begin)).Unsigned(0);
    if (lead > 0) fde.Byte(kAdvance).Byte(int(lead));
    fde.Raw(Prologue(image.substr(begin + lead, end - begin - lead)).Instructions());
    while ((fde.size() + 4) % 8 != 0) fde.Byte(0);
    out.Raw(WithLength(fde));
  };
  const Choice choice = ChoiceOf(image);
  const bool two = choice.second > 0 && choice.second < image.size();
  function(0, two ? choice.second : image.size(), two ? choice.first : 0);
  if (two) function(choice.second, image.size(), 0);
  return out.Word(uint32_t{0}).text();
}

}  // namespace frazil::jit
