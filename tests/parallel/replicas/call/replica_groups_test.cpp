// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/call/replica_groups.hpp"

#include <gmock/gmock.h>

#include "devices.hpp"

namespace tandem::parallel::test {
namespace {

using testing::devices;
using ::testing::ElementsAre;
using enum ReplicaGroups::Members;

TEST(ReplicaGroupsTest, AGroupHasTheDevicesWithRowsAndTheFirst) {
  ReplicaGroups groups(devices(3), {});
  EXPECT_THAT(groups.get({{0, 2}, {2, 2}, {2, 5}}, active).members(), ElementsAre(0, 2));
  EXPECT_THAT(groups.get({{0, 0}, {0, 0}, {0, 5}}, active).members(), ElementsAre(0, 2));
  EXPECT_THAT(groups.get({{0, 0}, {0, 0}, {0, 0}}, active).members(), ElementsAre(0));
  EXPECT_THAT(groups.get({{0, 2}, {2, 2}, {2, 5}}, all).members(), ElementsAre(0, 1, 2));
}

TEST(ReplicaGroupsTest, IsMadeOnceForASetOfDevices) {
  ReplicaGroups groups(devices(3), {});
  const ReplicaGroup* first = &groups.get({{0, 2}, {2, 4}, {4, 4}}, active);
  EXPECT_EQ(&groups.get({{0, 7}, {7, 9}, {9, 9}}, active), first);
  EXPECT_NE(&groups.get({{0, 2}, {2, 4}, {4, 4}}, all), first);
  EXPECT_NE(&groups.get({{0, 2}, {2, 4}, {4, 5}}, active), first);
}

TEST(ReplicaGroupsTest, RanksAreThoseOfTheMembers) {
  ReplicaGroups groups(devices(3), {});
  const ReplicaGroup& group = groups.get({{0, 2}, {2, 2}, {2, 5}}, active);
  EXPECT_EQ(group.rank_of(2), 1);
  EXPECT_EQ(group.comm_of(2)->rank(), 1);
  EXPECT_EQ(group.comm_of(2)->size(), 2);
  EXPECT_EQ(group.comm_of(1), nullptr) << "no member";
}

TEST(ReplicaGroupsTest, OnlyDevicesWithRowsShareABatch) {
  ReplicaGroups groups(devices(3), {});
  const ReplicaGroup& two = groups.get({{0, 0}, {0, 2}, {2, 5}}, active);
  EXPECT_EQ(two.row_group_of(0), nullptr);
  EXPECT_NE(two.row_group_of(1), nullptr);
  const ReplicaGroup& one = groups.get({{0, 0}, {0, 0}, {0, 5}}, active);
  EXPECT_EQ(one.row_group_of(2), nullptr) << "alone";
}

TEST(ReplicaGroupsTest, ADeviceAloneHasNobodyToTalkTo) {
  ReplicaGroups groups(devices(1), {});
  ReplicaGroup& group = groups.get({{0, 4}}, active);
  EXPECT_EQ(group.comm_of(0), nullptr);
  group.abort("nobody hears it");
  group.reset();
}

}  // namespace
}  // namespace tandem::parallel::test
