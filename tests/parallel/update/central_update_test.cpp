// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/update/central_update.hpp"

#include <gmock/gmock.h>

#include "parallel/engine.hpp"

namespace tandem::parallel::test {
namespace {

using ::testing::Each;

TEST(CentralUpdateTest, DeviceZeroUpdatesAloneAndNothingIsSent) {
  for (const Mode mode : {Mode::classic, Mode::server}) {
    SharedUpdate u(2, mode);
    EXPECT_FALSE(u.update->is_shared()) << name(mode);
    u.gradients(0).fill_(1);
    u.values(0).fill_(2);
    u.values(1).fill_(3);
    u.update->begin_backward();
    u.update->reduced();
    u.update->complete();
    u.update->discard();
    u.on_all_devices(Phase::update, [&](Call&, Call::Part& part) {
      u.update->gather_values(*part.comm, part.index());
    });
    EXPECT_EQ(u.reductions, 0);
    EXPECT_THAT(u.gradients(0).to_doubles(), Each(1));
    EXPECT_THAT(u.values(0).to_doubles(), Each(2));
    EXPECT_THAT(u.values(1).to_doubles(), Each(3));
  }
}

}  // namespace
}  // namespace tandem::parallel::test
