// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "world/plugin.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <unistd.h>

#include "tandem/core/error.hpp"

#include "core/own_file.hpp"
#include "thrown_text.hpp"

namespace tandem::world::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::thrown_text;
namespace fs = std::filesystem;

/// Its current folder is one to which others may write: it has a file of each name that is looked
/// for, and none of them is a library.
class PluginTest : public ::testing::Test {
 protected:
  PluginTest() {
    fs::create_directories(folder);
    for (const char* file : {"libtandem-strange.so", "world_test"})
      std::ofstream(folder / file) << "no library";
    fs::current_path(folder);
  }
  ~PluginTest() override {
    ::unsetenv("TANDEM_PLUGINS");
    fs::current_path(before);
    fs::remove_all(folder);
  }
  static std::string asked_for(const std::string& name) {
    return thrown_text<CommError>([&] { plugin_function(name, "function", "package"); });
  }

  fs::path before = fs::current_path();
  fs::path folder = fs::temp_directory_path() / ("tandem-plugin-" + std::to_string(::getpid()));
};

TEST_F(PluginTest, TheCurrentFolderIsNotLookedAt) {
  EXPECT_THAT(asked_for("strange"),
              AllOf(HasSubstr("libtandem-strange.so is not found in any of "),
                    Not(HasSubstr("has none")),
                    Not(HasSubstr("tandem-plugin-"))));
  ::setenv("TANDEM_PLUGINS", "", 1);
  EXPECT_THAT(asked_for("strange"), HasSubstr("is not found in any of /")) << "empty is not set";
}

TEST_F(PluginTest, AFolderThatIsNamedIsLookedAt) {
  ::setenv("TANDEM_PLUGINS", ".", 1);
  EXPECT_THAT(asked_for("strange"), HasSubstr("./libtandem-strange.so: "));
}

TEST_F(PluginTest, APluginThatWasNotBuiltIsToldFromOneThatIsMissing) {
  EXPECT_THAT(asked_for("strange"),
              AllOf(HasSubstr("built without it"), HasSubstr("install package and configure")));
}

TEST_F(PluginTest, TheOwnFileIsTheSystemsAndNotTheCallers) {
  EXPECT_EQ(own_file(), fs::canonical("/proc/self/exe"));
}

}  // namespace
}  // namespace tandem::world::test
