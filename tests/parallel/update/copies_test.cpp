// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/update/copies.hpp"

#include <gmock/gmock.h>

#include "parallel/engine.hpp"

namespace tandem::parallel::test {
namespace {

using ::testing::Each;

class CopiesTest : public ::testing::Test {
 protected:
  CopiesTest() {
    for (int d = 0; d < 2; ++d)
      c_.gradients(d).fill_(d + 1);
  }
  /// What device 1 has once the gradients have been shared.
  std::vector<double> shared() {
    c_.update->sharing()->share_gradients();
    return c_.gradients(1).to_doubles();
  }

  SharedUpdate c_{2, Mode::ddp};
};

TEST_F(CopiesTest, SlicesAreWholeBlocksAndThoseOfDeviceZeroComeFirst) {
  const auto slices = c_.update->sharing()->slices();
  ASSERT_EQ(slices.size(), 2u);
  for (std::size_t d = 0; d < 2; ++d) {
    EXPECT_EQ(slices[d].device, c_.list[d]);
    EXPECT_EQ(slices[d].begin, 0);
    EXPECT_EQ(slices[d].end, 64);
    EXPECT_TRUE(slices[d].params.is(c_.values(static_cast<int>(d))));
  }
  EXPECT_EQ(c_.update->sharing()->parts(), optim::ArenaSharing::Parts::copies);
}

TEST_F(CopiesTest, GradientsThatWereReducedAreEqualAlready) {
  c_.update->reduced();
  EXPECT_THAT(shared(), Each(2)) << "nothing is sent";
  EXPECT_EQ(c_.reductions, 1);
}

TEST_F(CopiesTest, AChangeOnDeviceZeroIsSentOnce) {
  c_.update->reduced();
  c_.gradients(0).fill_(7);
  EXPECT_THAT(shared(), Each(7));
  c_.gradients(1).fill_(50);
  EXPECT_THAT(shared(), Each(50)) << "it has not changed since";
}

TEST_F(CopiesTest, AfterAFailedBackwardGradientsAreSentAgain) {
  c_.update->reduced();
  c_.update->discard();
  EXPECT_THAT(shared(), Each(1));
}

TEST_F(CopiesTest, AfterABackwardThatWasNotReducedTheyAreSentAgain) {
  c_.update->reduced();
  c_.update->begin_backward();
  EXPECT_THAT(shared(), Each(1));
}

TEST_F(CopiesTest, DeviceZeroAlwaysHasAllOfThem) {
  c_.update->reduced();
  c_.update->complete();
  EXPECT_THAT(c_.gradients(0).to_doubles(), Each(1));
  const auto call = c_.make_call_everywhere();
  c_.values(0).fill_(3);
  c_.values(1).fill_(4);
  c_.run(call, Phase::update, [this](Call&, Call::Part& part) {
    c_.update->gather_values(*part.comm, part.index());
  });
  EXPECT_THAT(c_.values(1).to_doubles(), Each(4)) << "every device keeps what it has updated";
}

}  // namespace
}  // namespace tandem::parallel::test
