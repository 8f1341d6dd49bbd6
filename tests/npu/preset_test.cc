#include "npu/preset.h"

#include "gtest/gtest.h"

namespace frazil::npu {
namespace {

TEST(Preset, FiguresOfDc16) {
  const Preset p = *FindPreset("dc16");
  EXPECT_EQ(p.name, "dc16");
  EXPECT_EQ(p.bytes[kL0C], 256 << 10);
  EXPECT_EQ(p.cores, 30);
  EXPECT_DOUBLE_EQ(2.0 * p.tm * p.tn * p.tk_f16 * p.ghz, 7372.8);  // GFLOP/s
  const VectorCost& exp = p.vector[size_t(VectorClass::kExp)];
  EXPECT_EQ(exp, (VectorCost{13, 4, 24}));
}

TEST(Preset, FiguresOfEdge16) {
  const Preset p = *FindPreset("edge16");
  EXPECT_EQ(p.l2_bytes, 0);
  EXPECT_EQ(p.gm_read, 7.5);
  EXPECT_DOUBLE_EQ(2.0 * p.tm * p.tn * p.tk_i8 * p.ghz, 256);
  EXPECT_EQ(p.vector[size_t(VectorClass::kExp)], (VectorCost{8, 4, 8}));
}

TEST(Preset, UnknownNameListsTheKnown) {
  EXPECT_EQ(FindPreset("dc17").status().message(),
            "[npu preset] no preset has this name: dc17 (known: dc16, edge16, m310).");
}

TEST(Preset, JsonRoundTrip) {
  for (std::string_view name : PresetNames()) {
    const Preset p = *FindPreset(name);
    const StatusOr<Preset> again = PresetFromJson(ToJson(p));
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(*again, p);
    EXPECT_EQ(Hash(*again), Hash(p));
  }
}

TEST(Preset, FieldsReplaceThoseOfTheBase) {
  const Preset p =
      *PresetFromJson(R"({"base": "edge16", "queue_depth": 8, "vector": {"exp": [1, 2, 3]}})");
  Preset expected = *FindPreset("edge16");
  expected.queue_depth = 8;
  expected.vector[size_t(VectorClass::kExp)] = {1, 2, 3};
  EXPECT_EQ(p, expected);
}

TEST(Preset, HashSeesEveryField) {
  const Preset base = *FindPreset("dc16");
  int fields = 0;
#define NPU_FIELD(type, key, member, ...)       \
  {                                             \
    Preset other = base;                        \
    other.member += 1;                          \
    EXPECT_NE(Hash(other), Hash(base)) << #key; \
    ++fields;                                   \
  }
#include "npu/preset.def"
#undef NPU_FIELD
  EXPECT_GT(fields, 30);
  for (size_t i = 0; i < base.vector.size(); ++i) {
    Preset other = base;
    ++other.vector[i].tail;
    EXPECT_NE(Hash(other), Hash(base)) << Name(VectorClass(i));
  }
}

TEST(Preset, RefusesWhatMakesNoSense) {
  const auto message = [](std::string_view json) {
    return std::string(PresetFromJson(json).status().message());
  };
  EXPECT_EQ(message("[1]"), "[npu preset] this is no JSON object: [1].");
  EXPECT_EQ(message("{"), "[npu preset] this is no JSON object: {.");
  EXPECT_EQ(message(R"({"quue_depth": 1})"),
            "[npu preset] there is no field of this name: quue_depth.");
  EXPECT_EQ(message(R"({"queue_depth": 0})"),
            "[npu preset] \"queue_depth\" must be a whole number in [1, 65536]: 0.");
  EXPECT_EQ(message(R"({"queue_depth": 2.5})"),
            "[npu preset] \"queue_depth\" must be a whole number in [1, 65536]: 2.5.");
  EXPECT_EQ(message(R"({"ghz": "fast"})"),
            "[npu preset] \"ghz\" must be a number in [0.001, 100]: \"fast\".");
  EXPECT_EQ(message(R"({"l2_bytes": 100})"),
            "[npu preset] \"l2_bytes\" must be a multiple of 512: 100.");
  EXPECT_EQ(message(R"({"vector": {"exp": [1, 2]}})"),
            "[npu preset] \"exp\" must be [head, slope, tail] with a slope from 1 and none above "
            "1048576: [1,2].");
  EXPECT_EQ(message(R"({"vector": {"sinh": [1, 2, 3]}})"),
            "[npu preset] no class of vector instructions has this name: sinh.");
  EXPECT_EQ(message(R"({"base": "dc17"})"),
            "[npu preset] no preset has this name: dc17 (known: dc16, edge16, m310).");
}

}  // namespace
}  // namespace frazil::npu
