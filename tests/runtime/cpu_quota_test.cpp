// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/cpu_quota.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/temp_dir.hpp"

namespace tandem {
namespace {

using ::testing::Eq;
using ::testing::Optional;

/// A folder with the files of proc and of control groups that a test gives it.
class CpuQuotaTest : public ::testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root() / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  std::filesystem::path root() const { return folder_.path(); }

  void version_2(const std::string& shown, const std::string& group) {
    write("proc/self/mountinfo",
          "23 1 8:1 / / rw - ext4 /dev/sda rw\n31 23 0:28 " + shown +
              " /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw\n");
    write("proc/self/cgroup", "0::" + group + "\n");
  }

 private:
  testing::TempDir folder_;
};

TEST_F(CpuQuotaTest, NoneWithoutGroupsOrLimit) {
  EXPECT_EQ(cpu_quota(root()), std::nullopt);
  version_2("/", "/");
  EXPECT_EQ(cpu_quota(root()), std::nullopt);
  write("sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(cpu_quota(root()), std::nullopt);
}

TEST_F(CpuQuotaTest, OfVersion2InAContainer) {
  version_2("/", "/");
  write("sys/fs/cgroup/cpu.max", "150000 100000\n");
  EXPECT_THAT(cpu_quota(root()), Optional(1.5));
}

TEST_F(CpuQuotaTest, IsTheLeastOfTheGroupAndThoseAbove) {
  version_2("/", "/user.slice/job");
  write("sys/fs/cgroup/user.slice/cpu.max", "200000 100000\n");
  write("sys/fs/cgroup/user.slice/job/cpu.max", "max 100000\n");
  EXPECT_THAT(cpu_quota(root()), Optional(2.0));
  write("sys/fs/cgroup/user.slice/job/cpu.max", "50000 100000\n");
  EXPECT_THAT(cpu_quota(root()), Optional(0.5));
}

TEST_F(CpuQuotaTest, OfVersion1BesideOtherHierarchies) {
  write("proc/self/mountinfo",
        "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
        "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n");
  write("proc/self/cgroup", "5:cpuset:/other\n4:cpu,cpuacct:/job\n0::/\n");
  write("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "300000\n");
  write("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  write("sys/fs/cgroup/cpuset/other/cpu.cfs_quota_us", "100\n");
  EXPECT_THAT(cpu_quota(root()), Optional(3.0));
  write("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(cpu_quota(root()), std::nullopt);
}

TEST_F(CpuQuotaTest, OfTheGroupThatTheMountShowsUnderAnotherName) {
  version_2("/docker/4f0c", "/docker/4f0c");
  write("sys/fs/cgroup/cpu.max", "100000 100000\n");
  EXPECT_THAT(cpu_quota(root()), Optional(1.0));
  version_2("/docker/4f0c", "/");
  EXPECT_THAT(cpu_quota(root()), Optional(1.0));
}

TEST_F(CpuQuotaTest, FilesWithoutSenseAreNoQuota) {
  write("proc/self/mountinfo", "\n - \n31 23 0:28 / - cgroup2\n- cgroup2 x y\n");
  write("proc/self/cgroup", "0:\n::\nx");
  EXPECT_EQ(cpu_quota(root()), std::nullopt);
  version_2("/", "/");
  for (const char* text : {"", "0 100000", "100000 0", "-5 7", "1e400 x", "100000"}) {
    write("sys/fs/cgroup/cpu.max", text);
    EXPECT_EQ(cpu_quota(root()), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace tandem
