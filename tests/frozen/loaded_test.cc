// Loaded programs: many threads that call, tell and set one; another device; C.
#include "frozen/loaded.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "bindings/cpp/c.h"
#include "bindings/cpp/frazil.h"
#include "core/threads/shared_lock.h"

namespace frazil::frozen {
namespace {

std::shared_ptr<Loaded> Made(const std::string& text, const Loaded::Tensors& tensors) {
  Initialize();
  auto loaded = Loaded::Make({"test", "", "", "frazil-program 1 " + text}, tensors, "a test");
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  return *loaded;
}

StatusOr<std::vector<Tensor>> Call(Loaded* program, std::vector<Tensor> inputs) {
  std::vector<Tensor*> cells;
  for (Tensor& t : inputs) cells.push_back(&t);
  std::vector<Tensor> results;
  FZ_RETURN_IF_ERROR(program->Call(cells, &results));
  return results;
}

template <typename F>
void OnThreads(int n, const F& f) {
  std::vector<std::thread> threads;
  for (int t = 0; t < n; ++t) threads.emplace_back([&f, t] { f(t); });
  for (std::thread& t : threads) t.join();
}

// Two numbers that are counted up together.
constexpr char kCounts[] =
    "input \"x\" f32[2] weight \"a\" f32[2] weight \"b\" f32[2] number f32 bits 3f800000 program {"
    " %0 = add t0, n0 %1 = add t1, n0 %2 = subtract %0, %1 %3 = add p0, %2"
    " write t0 = %0 write t1 = %1 return %3 }";

TEST(Loaded, CallsThatWriteTakeTurns) {
  const auto program = Made(kCounts, {{"a", zeros({2})}, {"b", zeros({2})}});
  constexpr int kThreads = 4, kCalls = 300;
  std::atomic<int> wrong{0};
  OnThreads(kThreads, [&](int t) {
    for (int i = 0; i < kCalls; ++i) {
      const auto y = Call(program.get(), {full({2}, Scalar::Int(t))});
      if (!y.ok() || to_vector<float>((*y)[0])[1] != float(t)) ++wrong;
      if (to_vector<float>(program->StateAt(0))[0] < 1) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
  for (const auto& [name, value] : program->state())
    EXPECT_EQ(to_vector<float>(value)[0], kThreads * kCalls) << name;
}

TEST(Loaded, ACallSeesAllOfAStateThatIsSetMeanwhile) {
  const auto program = Made(
      "input \"x\" f32[2] weight \"a\" f32[2] weight \"b\" f32[2] program {"
      " %0 = subtract t0, t1 %1 = add p0, %0 return %1 }",
      {{"a", zeros({2})}, {"b", zeros({2})}});
  std::atomic<int> wrong{0};
  OnThreads(4, [&](int t) {
    for (int i = 0; i < 300; ++i) {
      if (t == 0) {
        const Tensor value = full({2}, Scalar::Int(i));
        if (!program->SetState({{"a", value}, {"b", value}}).ok()) ++wrong;
      } else if (t == 1) {
        const auto state = program->state();
        if (!array_equal(state[0].second, state[1].second)) ++wrong;
      } else {
        const auto y = Call(program.get(), {ones({2})});
        if (!y.ok() || to_vector<float>((*y)[0])[0] != 1) ++wrong;
      }
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Loaded, OneTensorTwiceIsOneToTheProgram) {
  const jit::Program m(
      Made("input \"x\" f32[2] input \"y\" f32[2] number bool same p0, p1 program {"
           " read n0 at \"a.py:1\" { case 1 { %0 = add p0, p1 return %0 }"
           " case 0 { %0 = subtract p0, p1 return %0 } } }",
           {}));
  const Tensor x = full({2}, Scalar::Int(3)), y = full({2}, Scalar::Int(1));
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(to_vector<float>(m(x, x))[0], 6);
    EXPECT_EQ(to_vector<float>(m(x, y))[0], 2);
    EXPECT_EQ(to_vector<float>(m.call({x, x})[0])[0], 0);
  }
}

TEST(SharedLock, WhatAnotherThreadHeldIsFreeInAChild) {
  SharedLock lock;
  for (const bool shared : {true, false}) {
    std::atomic<int> stage{0};
    std::thread holder([&] {
      shared ? lock.lock_shared() : lock.lock();
      stage = 1;
      while (stage == 1) std::this_thread::yield();
      shared ? lock.unlock_shared() : lock.unlock();
    });
    while (stage == 0) std::this_thread::yield();
    const pid_t child = fork();
    if (child == 0) {
      alarm(300);
      lock.lock();
      lock.unlock();
      lock.lock_shared();
      lock.unlock_shared();
      _exit(0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << shared;
    stage = 2;
    holder.join();
    lock.lock();
    lock.unlock();
  }
}

constexpr char kPlaces[] =
    "symbol n from 2 to 4611686018427387904 input \"x\" f32[n,3] weight \"w\" f32[3] program {"
    " %0 = iota {11, 3} %1 = multiply %0, t0 %2 = add p0, %1 return %2 }";

TEST(Loaded, ItComputesWhereItsTensorsAre) {
  const auto moved = [](const Tensor& t) { return to_device(t, "npu"); };
  const auto here = Made(kPlaces, {{"w", ones({3})}});
  const auto there = Made(kPlaces, {{"w", moved(ones({3}))}});
  const auto y = Call(there.get(), {moved(ones({2, 3}))});
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ(Name((*y)[0].device()), "npu");
  EXPECT_TRUE(array_equal(to_device((*y)[0], "cpu"), (*Call(here.get(), {ones({2, 3})}))[0]));
  const auto wrong = Call(there.get(), {ones({2, 3})});
  EXPECT_EQ(
      std::string(wrong.status().message()),
      "[test] 'x' is on cpu, and the program on npu: move it by to_device, or load the program "
      "there.");
  EXPECT_EQ(std::string(Call(here.get(), {ones({1, 3})}).status().message()),
            "[test] n is at least 2, got 1 in 'x': export it with another range.");
}

TEST(Loaded, AnErrorTellsTheInnermostLineAlone) {
  const auto program = Made(
      "input \"x\" f32[2] input \"i\" i64[] number i64 bits 3 program {"
      " %0 = repeat 2 of 1 states p0, p1 { %0 = take p0, p1 {0}  # inner.py:1\n return %0 }"
      "  # outer.py:2\n return %0 }",
      {});
  const auto y = Call(program.get(), {ones({2}), full({}, Scalar::Int(7), DType::kI64)});
  ASSERT_FALSE(y.ok());
  const std::string text(y.status().message());
  EXPECT_TRUE(text.ends_with("(inner.py:1).")) << text;
}

TEST(C, NothingOfNull) {
  EXPECT_EQ(frz_tensor_dtype(nullptr), FRZ_NO_DTYPE);
  EXPECT_EQ(frz_tensor_rank(nullptr), -1);
  EXPECT_EQ(frz_tensor_extent(nullptr, 0), -1);
  EXPECT_EQ(frz_tensor_bytes(nullptr), 0u);
  EXPECT_EQ(frz_program_name(nullptr), nullptr);
  EXPECT_EQ(frz_program_inputs(nullptr), -1);
  EXPECT_EQ(frz_program_results(nullptr), -1);
  EXPECT_EQ(frz_program_input_name(nullptr, 0), nullptr);
  EXPECT_EQ(frz_program_input_type(nullptr, 0), nullptr);
  EXPECT_EQ(frz_program_states(nullptr), -1);
  EXPECT_EQ(frz_program_state_name(nullptr, 0), nullptr);
  EXPECT_EQ(frz_tensor_new(FRZ_F32, 2, nullptr, nullptr, nullptr), FRZ_VALUE_ERROR);
  EXPECT_EQ(frz_tensor_read(nullptr, nullptr, 0), FRZ_VALUE_ERROR);
  EXPECT_EQ(frz_load(nullptr, nullptr, nullptr), FRZ_VALUE_ERROR);
  EXPECT_EQ(frz_load_bytes(nullptr, 0, nullptr, nullptr), FRZ_VALUE_ERROR);
  EXPECT_EQ(frz_call(nullptr, 0, nullptr, 0, nullptr), FRZ_VALUE_ERROR);
  EXPECT_EQ(frz_program_state(nullptr, 0, nullptr), FRZ_VALUE_ERROR);
  EXPECT_EQ(frz_program_set_state(nullptr, 0, nullptr), FRZ_VALUE_ERROR);
  EXPECT_EQ(frz_set_num_threads(0), FRZ_VALUE_ERROR);
  EXPECT_STREQ(frz_last_error(), "[frz_set_num_threads] needs 1 to 4096 threads, got 0.");
  frz_tensor_free(nullptr);
  frz_program_free(nullptr);
}

}  // namespace
}  // namespace frazil::frozen
