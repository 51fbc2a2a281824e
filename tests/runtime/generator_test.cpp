// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/generator.hpp"

#include <memory>

#include <gtest/gtest.h>

#include "tandem/runtime/context.hpp"

namespace tandem {
namespace {

TEST(Generator, SeedingStartsTheNumbersAnew) {
  Generator generator(7);
  generator.forwards() = 5;
  generator.draws() = 6;
  EXPECT_EQ(generator.get_state(), (GeneratorState{.seed = 7, .forwards = 5, .draws = 6}));
  generator.manual_seed(99);
  EXPECT_EQ(generator.get_state(), GeneratorState{.seed = 99});
}

TEST(Generator, StateGoesToAnotherOne) {
  Generator first(3), second;
  first.draws() = 4;
  second.set_state(first.get_state());
  EXPECT_EQ(second.get_state(), (GeneratorState{.seed = 3, .draws = 4}));
}

TEST(Generator, AThreadMayHaveADefaultOfItsOwn) {
  manual_seed(1);
  {
    const ContextScope scope([](Context& c) { c.generator = std::make_shared<Generator>(); });
    manual_seed(2);
    EXPECT_EQ(default_generator().seed(), 2u);
  }
  EXPECT_EQ(default_generator().seed(), 1u);
}

}  // namespace
}  // namespace tandem
