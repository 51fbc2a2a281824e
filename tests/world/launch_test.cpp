// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/world/launch.hpp"

#include <map>

#include <gmock/gmock.h>

#include "tandem/core/error.hpp"

#include "thrown_text.hpp"

namespace tandem::world::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::thrown_text;
using Variables = std::map<std::string, std::string>;

GetVariable from(const Variables& variables) {
  return [variables](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
}

Launch launched(const Variables& variables) {
  return read_launch(from(variables)).value();
}

// As torchrun 2.15 sets them for the second of two processes of the second of two nodes.
const Variables kTorchrun{{"RANK", "3"},
                          {"WORLD_SIZE", "4"},
                          {"LOCAL_RANK", "1"},
                          {"LOCAL_WORLD_SIZE", "2"},
                          {"GROUP_RANK", "1"},
                          {"GROUP_WORLD_SIZE", "2"},
                          {"MASTER_ADDR", "node1"},
                          {"MASTER_PORT", "29500"},
                          {"TORCHELASTIC_RUN_ID", "none"},
                          {"TORCHELASTIC_RESTART_COUNT", "2"},
                          {"TORCHELASTIC_USE_AGENT_STORE", "True"}};

// As srun of Slurm 22.05 sets them for the last of three tasks on two nodes.
const Variables kSlurm{{"SLURM_PROCID", "2"},
                       {"SLURM_NTASKS", "3"},
                       {"SLURM_LOCALID", "0"},
                       {"SLURM_NODEID", "1"},
                       {"SLURM_NNODES", "2"},
                       {"SLURM_STEP_ID", "5"},
                       {"SLURM_JOB_ID", "70000"},
                       {"SLURM_STEP_TASKS_PER_NODE", "2,1"},
                       {"SLURM_STEP_NODELIST", "n[1-2]"}};

Variables with(Variables variables, const Variables& more) {
  for (const auto& [name, value] : more)
    variables[name] = value;
  return variables;
}

TEST(LaunchTest, NobodyHasLaunchedAProcessThatSaysNothing) {
  EXPECT_FALSE(read_launch(from({})).has_value());
  EXPECT_FALSE(read_launch(from({{"MASTER_ADDR", "node1"}, {"MASTER_PORT", "1"}})).has_value());
}

TEST(LaunchTest, ByTorchrun) {
  const Launch launch = launched(kTorchrun);
  EXPECT_EQ(
      launch.describe(),
      "rank 3 of 4 (local 1 of 2, node 1 of 2), started by torchrun, run none, restart 2; store "
      "at node1:29500, which the launcher serves");
  EXPECT_TRUE(launch.launcher_serves);
}

TEST(LaunchTest, BySomebodyWithTheSameVariables) {
  const Launch launch = launched({{"RANK", "1"}, {"WORLD_SIZE", "2"}});
  EXPECT_EQ(launch.describe(), "rank 1 of 2 (local 0 of 1, node 1 of 2), started by environment");
  EXPECT_FALSE(launch.store.has_value());
  EXPECT_FALSE(launch.launcher_serves);
}

TEST(LaunchTest, BySlurm) {
  const Launch launch = launched(kSlurm);
  EXPECT_EQ(launch.launcher, "srun");
  EXPECT_EQ(launch.rank, 2);
  EXPECT_EQ(launch.local_size, 1);
  EXPECT_EQ(launch.node, 1);
  EXPECT_EQ(launch.run, "70000.5");
  ASSERT_TRUE(launch.store.has_value());
  EXPECT_EQ(launch.store->host, "n1");
  const Launch other = launched(with(kSlurm, {{"SLURM_STEP_ID", "6"}}));
  EXPECT_NE(launch.store->port, other.store->port) << "two steps of a job meet apart";
  EXPECT_EQ(launched(with(kSlurm, {{"SLURM_STEP_TASKS_PER_NODE", "3(x2)"}})).local_size, 3);
  const Launch told = launched(with(kSlurm, {{"MASTER_ADDR", "10.0.0.7"}}));
  EXPECT_EQ(told.store, (Address{"10.0.0.7", launch.store->port}));
}

TEST(LaunchTest, StepsOfSlurmThatRunAtOnceMeetApart) {
  const auto port = [](const char* job, const char* step) {
    return launched(with(kSlurm, {{"SLURM_JOB_ID", job}, {"SLURM_STEP_ID", step}})).store->port;
  };
  EXPECT_NE(port("7", "1"), port("8", "0")) << "their sums are equal";
  const Launch launch = launched(kSlurm);
  EXPECT_EQ(launch.other_ports.size(), 7U) << "where its port is another program's";
  for (const std::uint16_t other : launch.other_ports) {
    EXPECT_GE(other, 15'000);
    EXPECT_LT(other, 30'000);
    EXPECT_NE(other, launch.store->port);
  }
  const Launch told = launched(with(kSlurm, {{"MASTER_PORT", "4000"}}));
  EXPECT_EQ(told.store->port, 4000);
  EXPECT_TRUE(told.other_ports.empty());
}

TEST(LaunchTest, AnAddressOfIpv6MayStandInBrackets) {
  const Variables v6{{"MASTER_ADDR", "[::1]"}};
  EXPECT_EQ(launched(with(kTorchrun, v6)).store, (Address{"::1", 29500}));
  EXPECT_EQ(launched(with(kSlurm, v6)).store->host, "::1");
}

TEST(LaunchTest, ALauncherInsideAnotherOneIsKnown) {
  const Variables outer{{"TANDEM_LAUNCH_ID", "4711"}};
  const Launch launch = launched(with(outer, kTorchrun));
  EXPECT_EQ(launch.launcher, "torchrun");
  EXPECT_EQ(launch.run, "none");
  const Variables inner{{"TANDEM_LAUNCH_ID", "4711"}, {"TORCHELASTIC_RUN_ID", "tandem"}};
  EXPECT_EQ(launched(with(kTorchrun, inner)).launcher, "tandem launch");
  const Variables broken = with(kSlurm, {{"SLURM_STEP_NODELIST", "n[1-"}});
  EXPECT_EQ(launched(with(broken, kTorchrun)).launcher, "torchrun")
      << "the outer one counts for nothing";
}

TEST(LaunchTest, AScriptOfSlurmIsNoTask) {
  EXPECT_FALSE(read_launch(from(with(kSlurm, {{"SLURM_STEP_ID", "4294967291"}}))).has_value());
}

TEST(LaunchTest, ByOpenMpi) {
  const Launch launch = launched({{"OMPI_COMM_WORLD_RANK", "5"},
                                  {"OMPI_COMM_WORLD_SIZE", "8"},
                                  {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                  {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                                  {"OMPI_COMM_WORLD_NODE_RANK", "1"}});
  EXPECT_EQ(launch.describe(), "rank 5 of 8 (local 1 of 4, node 1 of 2), started by mpirun");
}

TEST(LaunchTest, ByHorovodAndPmi) {
  EXPECT_EQ(launched({{"HOROVOD_RANK", "1"},
                      {"HOROVOD_SIZE", "4"},
                      {"HOROVOD_LOCAL_RANK", "1"},
                      {"HOROVOD_LOCAL_SIZE", "2"},
                      {"HOROVOD_CROSS_RANK", "0"},
                      {"MASTER_ADDR", "h"},
                      {"MASTER_PORT", "7"}})
                .describe(),
            "rank 1 of 4 (local 1 of 2, node 0 of 2), started by horovodrun; store at h:7");
  EXPECT_EQ(launched({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "1"}}).launcher,
            "PMI");
}

TEST(LaunchTest, TheInnerLauncherCounts) {
  EXPECT_EQ(launched(with(kSlurm, kTorchrun)).launcher, "torchrun");
  const Variables mpi{{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "8"}};
  EXPECT_EQ(launched(with(kSlurm, mpi)).launcher, "mpirun");
}

TEST(LaunchTest, TwoThatDifferAreRefusedByName) {
  const Variables both = with(kSlurm, {{"RANK", "1"}, {"WORLD_SIZE", "3"}});
  EXPECT_THAT(thrown_text([&] { launched(both); }),
              AllOf(HasSubstr("of environment and of srun"), HasSubstr("rank 1 and rank 2 of 3")));
  EXPECT_EQ(launched(with(both, {{"RANK", "2"}})).rank, 2);
}

TEST(LaunchTest, BadNumbersAreRefusedByName) {
  for (const char* rank : {"", "abc", "-1", "1e3", "4294967296", "2", " 1", "1 "}) {
    SCOPED_TRACE(rank);
    EXPECT_THAT(thrown_text([&] {
                  launched({{"RANK", rank}, {"WORLD_SIZE", "2"}});
                }),
                AllOf(HasSubstr(std::string("RANK='") + rank + "'"), HasSubstr("from 0 to 1")));
  }
  EXPECT_THAT(thrown_text([] {
                launched({{"RANK", "0"}, {"WORLD_SIZE", "0"}});
              }),
              HasSubstr("WORLD_SIZE='0'"));
  EXPECT_THAT(thrown_text([] {
                launched({{"RANK", "0"}});
              }),
              AllOf(HasSubstr("RANK without WORLD_SIZE"), HasSubstr("neither")));
  EXPECT_THAT(thrown_text([] {
                launched(with(kTorchrun, {{"MASTER_PORT", "65536"}}));
              }),
              HasSubstr("MASTER_PORT='65536'"));
  EXPECT_THAT(thrown_text([] {
                launched(with(kSlurm, {{"SLURM_STEP_NODELIST", "n[1-"}}));
              }),
              HasSubstr("n[1-"));
}

TEST(AddressTest, IsReadAndWritten) {
  EXPECT_EQ(parse_address("node1:29500"), (Address{"node1", 29500}));
  EXPECT_EQ(to_string(parse_address("[::1]:7")), "[::1]:7");
  for (const char* text : {"", "node1", ":1", "node1:", "node1:65536", "node1:a", "node1:-1"})
    EXPECT_THROW(parse_address(text), InvalidArgument) << text;
}

}  // namespace
}  // namespace tandem::world::test
