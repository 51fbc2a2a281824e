// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/device/wrapped_module.hpp"

#include <gmock/gmock.h>

#include "tandem/nn/dropout.hpp"
#include "tandem/nn/linear.hpp"
#include "tandem/nn/replicate.hpp"
#include "tandem/nn/sequential.hpp"

#include "devices.hpp"

namespace tandem::parallel::test {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<optim::Arena> arena_of(const nn::Module& module) {
  std::vector<optim::ArenaEntry> entries;
  for (const nn::NamedTensor& p : module.named_parameters())
    entries.push_back({p.name, p.tensor});
  return optim::Arena::obtain(std::move(entries));
}

nn::Linear layer() {
  nn::Linear module(2, 3);
  module.to(testing::device(0));
  return module;
}

TEST(WrappedModuleTest, AModuleIsWrappedOnceAtATime) {
  nn::Linear module = layer();
  {
    const WrappedModule wrapped({&module}, testing::device(0));
    EXPECT_THROW(WrappedModule({&module}, testing::device(0)), InvalidArgument);
  }
  EXPECT_NO_THROW(WrappedModule({&module}, testing::device(0)));
}

TEST(WrappedModuleTest, APlainCopyOfAClaimedModuleIsRefused) {
  nn::Linear module = layer(), copy = module;
  const auto arena = arena_of(module);
  const WrappedModule wrapped({&module}, testing::device(0));
  wrapped.claim(*arena);
  EXPECT_THROW(WrappedModule({&copy}, testing::device(0)), InvalidArgument);
}

TEST(WrappedModuleTest, SeesWhichParametersWereFrozen) {
  nn::Linear module = layer();
  WrappedModule wrapped({&module}, testing::device(0));
  const auto arena = arena_of(module);
  wrapped.note_training(*arena);
  EXPECT_FALSE(wrapped.training_changed(*arena));
  module.bias.requires_grad_(false);
  EXPECT_TRUE(wrapped.training_changed(*arena));
  wrapped.note_training(*arena);
  EXPECT_FALSE(wrapped.training_changed(*arena));
}

TEST(WrappedModuleTest, NamesATensorThatWasReplaced) {
  nn::Linear module = layer();
  const WrappedModule wrapped({&module}, testing::device(0));
  const auto arena = arena_of(module);
  EXPECT_NO_THROW(wrapped.check_tensors(*arena, *optim::Arena::none(testing::device(0))));
  module.bias = layer().bias;
  try {
    wrapped.check_tensors(*arena, *optim::Arena::none(testing::device(0)));
    ADD_FAILURE() << "not refused";
  } catch (const InvalidArgument& e) {
    EXPECT_THAT(e.what(), HasSubstr("'bias' was added, resized or moved after wrapping"));
  }
}

TEST(WrappedModuleTest, ReplicasFollowItsMode) {
  nn::Sequential module{nn::Linear(2, 2), nn::Dropout(0.5)};
  module.to(testing::device(0));
  nn::Sequential<nn::Linear, nn::Dropout> replica = nn::clone(module);
  const WrappedModule wrapped({&module, &replica}, testing::device(0));
  module.eval();
  EXPECT_TRUE(replica.is_training());
  wrapped.follow();
  EXPECT_FALSE(replica.is_training());
  EXPECT_FALSE(replica.get<1>().is_training());
}

}  // namespace
}  // namespace tandem::parallel::test
