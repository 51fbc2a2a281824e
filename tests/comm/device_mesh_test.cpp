// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/comm/device_mesh.hpp"

#include <cmath>

#include <gmock/gmock.h>

#include "tandem/tensor/factories.hpp"

#include "comm/run_ranks.hpp"

namespace tandem::comm::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::run_ranks;
using ::testing::ThrowsMessage;

/// The sum over a group of 10 to the power of each rank of the whole: which ranks are in it.
double members(Communicator& group, int rank) {
  const Tensor x = full({1}, std::pow(10, rank), {.dtype = DType::f64, .device = group.device()});
  group.all_reduce(x);
  return x.item();
}

TEST(DeviceMesh, HasAGroupAlongEachAxis) {
  run_ranks(6, [](Communicator& comm) {
    const DeviceMesh mesh(comm, {{"replicate", 2}, {"shard", 3}});
    const int r = comm.rank();
    EXPECT_EQ(mesh.coordinate("replicate"), r / 3);
    EXPECT_EQ(mesh.coordinate("shard"), r % 3);
    EXPECT_EQ(mesh.size("shard"), 3);
    EXPECT_EQ(members(mesh.group("shard"), r), r < 3 ? 111 : 111000);
    EXPECT_EQ(members(mesh.group("replicate"), r), 1001 * std::pow(10, r % 3));
    EXPECT_EQ(mesh.ndim(), 2);
    EXPECT_EQ(&mesh.comm(), &comm);
  });
}

TEST(DeviceMesh, HasMeshesOfSomeAxes) {
  run_ranks(8, [](Communicator& comm) {
    const DeviceMesh mesh(comm, {{"a", 2}, {"b", 2}, {"c", 2}});
    const DeviceMesh sub = mesh.sub_mesh({"c", "a"});
    EXPECT_EQ(sub.ndim(), 2);
    EXPECT_EQ(sub.axes().front().name, "a");
    const int r = comm.rank(), b = r / 2 % 2;
    EXPECT_EQ(members(sub.comm(), r), b == 0 ? 110011 : 11001100);
    EXPECT_EQ(sub.comm().size(), 4);
    EXPECT_EQ(sub.coordinate("a"), r / 4);
    EXPECT_EQ(sub.coordinate("c"), r % 2);
  });
}

TEST(DeviceMesh, BadAxesAreRefused) {
  run_ranks(4, [](Communicator& comm) {
    const auto refusal = [&](std::vector<MeshAxis> axes, const auto& text) {
      EXPECT_THAT([&] { DeviceMesh(comm, axes); }, ThrowsMessage<InvalidArgument>(text));
    };
    refusal({{"replicate", 2}, {"shard", 3}},
            AllOf(HasSubstr("2 (replicate) x 3 (shard)"),
                  HasSubstr("makes 6 ranks"),
                  HasSubstr("the group has 4")));
    refusal({}, HasSubstr("no axis makes 0 ranks"));
    refusal({{"shard", 4}, {"copy", 0}}, HasSubstr("axis 'copy' has size 0"));
    refusal({{"shard", 2}, {"shard", 2}}, HasSubstr("axis 'shard' comes twice"));
    refusal({{"", 4}}, HasSubstr("has no name"));
    const DeviceMesh mesh(comm, {{"replicate", 2}, {"shard", 2}});
    EXPECT_THAT([&] { mesh.group("tensor"); },
                ThrowsMessage<InvalidArgument>(
                    AllOf(HasSubstr("no axis 'tensor'"), HasSubstr("2 (replicate) x 2 (shard)"))));
    EXPECT_THAT(
        [&] {
          mesh.sub_mesh({"shard", "shard"});
        },
        ThrowsMessage<InvalidArgument>(HasSubstr("each of its axes once")));
  });
}

}  // namespace
}  // namespace tandem::comm::test
