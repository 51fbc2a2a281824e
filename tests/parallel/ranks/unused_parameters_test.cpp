// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/ranks/unused_parameters.hpp"

#include <gmock/gmock.h>

#include "parallel/rank_program.hpp"
#include "thrown_text.hpp"

namespace tandem::parallel::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::thrown_text;
using Flags = std::vector<std::uint8_t>;
using Places = std::vector<std::size_t>;

TEST(UnusedParametersTest, AreRefusedByNameUnlessTheOptionsAllowThem) {
  on_ranks(2, [](comm::Communicator& comm) {
    const PairReplica pair(comm);
    const DistributedDataParallelOptions options;
    UnusedParameters unused(options, comm, pair.layout());
    unused.check({});
    EXPECT_THAT(thrown_text([&] { unused.check(Places{1}); }),
                AllOf(HasSubstr("on rank " + std::to_string(comm.rank())),
                      HasSubstr("does not depend on 'second'"),
                      HasSubstr("find_unused_parameters")));
    EXPECT_THAT(unused.used_anywhere({1, 0}), ElementsAre(1, 1)) << "nobody is asked";
  });
}

TEST(UnusedParametersTest, AreFoundOverAllRanks) {
  on_ranks(3, [](comm::Communicator& comm) {
    const PairReplica pair(comm);
    const DistributedDataParallelOptions options{.find_unused_parameters = true};
    UnusedParameters unused(options, comm, pair.layout());
    unused.check(Places{0, 1});
    const Flags own{0, static_cast<std::uint8_t>(comm.rank() == 2 ? 1 : 0)};
    EXPECT_THAT(unused.used_anywhere(own), ElementsAre(0, 1));
    EXPECT_THAT(unused.used_anywhere(Flags{0, 0}), ElementsAre(0, 0)) << "each backward anew";
  });
}

TEST(UnusedParametersTest, OfAStaticGraphAreThoseOfTheFirstBackward) {
  on_ranks(2, [](comm::Communicator& comm) {
    const PairReplica pair(comm);
    const DistributedDataParallelOptions options{.static_graph = true};
    UnusedParameters unused(options, comm, pair.layout());
    unused.check(Places{1});
    EXPECT_THAT(unused.used_anywhere(Flags{1, 0}), ElementsAre(1, 0));
    unused.check(Places{1});
    EXPECT_THAT(unused.used_anywhere(Flags{0, 0}), ElementsAre(1, 0)) << "nobody is asked again";
    EXPECT_THAT(thrown_text([&] { unused.check(Places{0}); }),
                AllOf(HasSubstr("static_graph is set"), HasSubstr("'first', 'second'")));
  });
}

}  // namespace
}  // namespace tandem::parallel::test
