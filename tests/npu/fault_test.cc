// The text of faults, for people and as JSON.
#include "npu/fault.h"

#include <gtest/gtest.h>

namespace frazil::npu {
namespace {

Fault Everything() {
  Fault fault;
  fault.code = FaultCode::kRaceWar;
  fault.block = 2;
  fault.pc = 24;
  fault.instruction = "LD s12, s13, #1, s4, #0, #0, #0";
  fault.queue = kLD;
  fault.operand = 0;
  fault.address = Address(kUB, 0x100);
  fault.address_end = Address(kUB, 0x8100);
  fault.cycle = 1234;
  fault.source = {20, "mul", "model.py", 12};
  fault.detail = "32768 bytes";
  fault.other_pc = 30;
  fault.other_instruction = "VUN.relu.f32 s15, s15, #1, s5, #0, #0";
  return fault;
}

TEST(Fault, Text) {
  EXPECT_EQ(Everything().Text(),
            "RACE_WAR: a write that no flag orders after an earlier read: 32768 bytes\n"
            "  at pc 24, queue LD, block 2, cycle 1234: LD s12, s13, #1, s4, #0, #0, #0\n"
            "  operand 0 (dst), bytes ub:0x100 to ub:0x8100\n"
            "  from mul, model.py:12\n"
            "  other access: pc 30: VUN.relu.f32 s15, s15, #1, s5, #0, #0");
}

TEST(Fault, TextOfLittle) {
  Fault fault;
  fault.code = FaultCode::kFlagLeak;
  fault.pc = 7;
  fault.instruction = "HALT";
  fault.detail = "VE>LD 0";
  EXPECT_EQ(fault.Text(),
            "FLAG_LEAK: a flag is still set at the end of the block: VE>LD 0\n"
            "  at pc 7, queue S, block 0: HALT");
  fault.operand = 3;  // that HALT does not have
  fault.address = Address(kL0A, 512);
  EXPECT_EQ(fault.Text(),
            "FLAG_LEAK: a flag is still set at the end of the block: VE>LD 0\n"
            "  at pc 7, queue S, block 0: HALT\n"
            "  address l0a:0x200");
}

TEST(Fault, Json) {
  EXPECT_EQ(Everything().Json(),
            R"({"code":"RACE_WAR",)"
            R"("sentence":"a write that no flag orders after an earlier read",)"
            R"("detail":"32768 bytes","block":2,"pc":24,"queue":"LD",)"
            R"("instruction":"LD s12, s13, #1, s4, #0, #0, #0","operand":0,)"
            R"("operand_name":"dst","address":"0x5000000000000100",)"
            R"("address_end":"0x5000000000008100","cycle":1234,"op":"mul",)"
            R"("file":"model.py","line":12,"other_pc":30,)"
            R"("other_instruction":"VUN.relu.f32 s15, s15, #1, s5, #0, #0"})");
}

TEST(Fault, JsonOfNamesThatAreNotUtf8) {
  Fault fault = Everything();
  fault.source.op = "\xff\"";
  EXPECT_NE(fault.Json().find("\"op\":\"\xef\xbf\xbd\\\"\""), std::string::npos) << fault.Json();
}

}  // namespace
}  // namespace frazil::npu
