// Kernels that follow the rows of a product: the bits are those of running op by op.
#include "core/str.h"
#include "core/threads/parallel.h"
#include "tests/jit/graph_gen.h"
#include "tests/jit/plan_testing.h"

namespace frazil::jit {
namespace {

// A bias, a function, a residual, and a normalisation of rows; or a sum down the columns, which has
// to wait for all rows.
std::string Program(int64_t m, int64_t n, int64_t k, bool transposed, bool columns) {
  const std::string y = StrCat("f32[", m, ",", n, "]"), one = StrCat("f32[", m, ",1]");
  std::string text = StrCat("graph (f32[", m, ",", k, "]");
  if (transposed) StrAppend(&text, " strides [1,", m, "]");
  StrAppend(&text, ", f32[", k, ",", n, "], f32[", n, "], ", y, ", ", one, ") {\n");
  const auto line = [&](int id, std::string_view op, const std::string& type) {
    StrAppend(&text, "  %", id, " = ", op, " : ", type, "\n");
  };
  line(5, "matmul %0, %1", y);
  line(6, "add %5, %2", y);
  line(7, "tanh %6", y);
  line(8, "add %7, %3", y);
  if (columns) {
    line(9, "sum %8 {1, 0}", StrCat("f32[", n, "]"));
    return text + "  return %8, %9\n}";
  }
  line(9, "max %8 {2, 1}", one);
  line(10, "subtract %8, %9", y);
  line(11, "multiply %10, %4", y);
  return text + "  return %9, %11\n}";
}

void ExpectOpByOp(const Graph& graph, bool follows) {
  Rng rng(graph.nodes.size());
  const auto plan = MustCompile(graph, {.reusable = ~uint64_t{0}});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->Dump().find("followed by") != std::string::npos, follows) << plan->Dump();
  const std::vector<ValueRef> inputs = RandomInputs(rng, graph);
  const auto want = RunOpByOp(graph, inputs);
  ASSERT_TRUE(want.ok()) << want.status();
  const auto got = MustRun(*plan, graph.outputs.size(), inputs);
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_EQ(Differences(*got[i], *(*want)[i]), "") << i << "\n" << Print(graph);
}

TEST(Epilogue, RowsOfAProduct) {
  const int before = NumThreads();
  for (const int threads : {1, 2, 3}) {
    SetNumThreads(threads);
    for (const int64_t m : {2, 3, 64, 700}) {
      for (const int64_t n : {16, 65, 512}) {
        for (const int64_t k : {48, 5000}) {
          if (m * n * k > int64_t{1} << 26) continue;
          ExpectOpByOp(MustParse(Program(m, n, k, false, false)), true);
          ExpectOpByOp(MustParse(Program(m, n, k, true, false)), true);
        }
      }
    }
  }
  SetNumThreads(before);
}

// Output positions are rows: lines of the image, patches of few channels, single elements.
TEST(Epilogue, PositionsOfAConvolution) {
  const int before = NumThreads();
  const struct {
    const char *image, *kernel, *out, *attrs;
  } cases[] = {{"4,20,20,32", "3,3,32,24", "4,20,20,24", "1, 1, 1, 1, 1, 1, 1, 1"},
               {"2,9,9,3", "3,3,3,5", "2,9,9,5", "1, 1, 1, 1, 1, 1, 1, 1"},
               {"3,16,16,8", "1,1,8,20", "3,16,16,20", "1, 1, 0, 0, 0, 0, 1, 1"}};
  for (const int threads : {1, 2, 3}) {
    SetNumThreads(threads);
    for (const auto& c : cases) {
      const std::string y = StrCat("f32[", c.out, "]");
      ExpectOpByOp(MustParse(StrCat("graph (f32[", c.image, "], f32[", c.kernel, "], ", y,
                                    ") {\n  %3 = conv2d ", "%0, %1 {", c.attrs, "} : ", y,
                                    "\n  %4 = tanh %3 : ", y, "\n  %5 = add %4, %2 : ", y,
                                    "\n  return %5\n}")),
                   true);
    }
  }
  SetNumThreads(before);
}

TEST(Epilogue, ColumnsWaitForAllRows) {
  for (const int64_t m : {16, 65, 512})
    ExpectOpByOp(MustParse(Program(m, m, 48, false, true)), false);
}

// The transpose of a product is not made of its rows, and neither is what is read at other places.
TEST(Epilogue, OtherOrdersWait) {
  for (const char* text : {R"(graph (f32[64,8], f32[8,64], f32[64,64]) {
      %3 = matmul %0, %1 : f32[64,64]
      %4 = permute_dims %3 {1, 0} : view f32[64,64] strides [1,64] offset 0
      %5 = add %4, %2 : f32[64,64]
      return %5
    })",
                           R"(graph (f32[64,8], f32[8,64], i64[64]) {
      %3 = matmul %0, %1 : f32[64,64]
      %4 = take %3, %2 {0} : f32[64,64]
      %5 = exp %4 : f32[64,64]
      return %5
    })"}) {
    const auto plan = MustCompile(MustParse(text));
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->Dump().find("followed by"), std::string::npos) << plan->Dump();
  }
}

}  // namespace
}  // namespace frazil::jit
