// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "core/host_name.hpp"

#include <gtest/gtest.h>
#include <sys/utsname.h>

namespace tandem {
namespace {

TEST(HostNameTest, IsTheSystems) {
  utsname system{};
  ASSERT_EQ(::uname(&system), 0);
  EXPECT_EQ(host_name(), system.nodename);
}

}  // namespace
}  // namespace tandem
