// The manual in docs/ is the one that the table makes.
#include "npu/manual.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "npu/fault.h"

namespace frazil::npu {
namespace {

TEST(Manual, IsUpToDate) {
  std::ifstream file(FRAZIL_NPU_MANUAL);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(Manual(), text.str()) << "write it again: ./dev npu manual -o docs/npu-isa.md";
}

TEST(Manual, HasEveryInstructionAndFault) {
  const std::string manual = Manual();
  for (int op = 0; op < int(Op::kCount); ++op)
    EXPECT_NE(manual.find(StrCat("\n**`", Info(Op(op)).name)), manual.npos) << Info(Op(op)).name;
  for (int code = 0; code <= int(FaultCode::kSimInternal); ++code)
    EXPECT_NE(manual.find(StrCat("\n| ", Name(FaultCode(code)), " | ")), manual.npos);
}

}  // namespace
}  // namespace frazil::npu
