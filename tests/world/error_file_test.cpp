// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/world/error_file.hpp"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "tandem/core/error.hpp"

namespace tandem::world::test {
namespace {

using Json = nlohmann::json;

class ErrorFileTest : public ::testing::Test {
 protected:
  ErrorFileTest() { ::setenv("TORCHELASTIC_ERROR_FILE", path.c_str(), 1); }
  ~ErrorFileTest() override {
    ::unsetenv("TORCHELASTIC_ERROR_FILE");
    std::filesystem::remove_all(folder);
  }
  Json read() const { return Json::parse(std::ifstream(path)); }
  static std::int64_t date(const Json& file) {
    return std::stoll(file["message"]["extraInfo"]["timestamp"].get<std::string>());
  }

  std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("tandem-error-" + std::to_string(::getpid()));
  std::filesystem::path path = folder / "attempt_0" / "1" / "error.json";
};

std::int64_t now() {
  return std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
}

TEST_F(ErrorFileTest, HasTheTextWhereTorchrunLooks) {
  const std::int64_t before = now();
  write_error_file(InvalidArgument("there is no \"door\"\xff"));
  const Json file = read();
  EXPECT_EQ(file["message"]["message"], "there is no \"door\"\xef\xbf\xbd");
  EXPECT_EQ(file["message"]["extraInfo"]["py_callstack"], file["message"]["message"]);
  EXPECT_GE(date(file), before);
  EXPECT_LE(date(file), now());
}

TEST_F(ErrorFileTest, TheFirstErrorStays) {
  write_error_file(InvalidArgument("the first"));
  write_error_file(InvalidArgument("the second"));
  EXPECT_EQ(read()["message"]["message"], "the first");
}

TEST_F(ErrorFileTest, ConsequencesAreLaterThanTheirCause) {
  const auto before = now();
  try {
    try {
      throw CommAborted("rank 1 ended");
    } catch (const CommAborted&) {
      std::throw_with_nested(std::runtime_error("rank 0 failed"));
    }
  } catch (const std::exception& e) {
    write_error_file(e);
  }
  EXPECT_GT(date(read()), before);
}

TEST_F(ErrorFileTest, IsNotWrittenWhereNobodyAsksOrItCannotBe) {
  ::setenv("TORCHELASTIC_ERROR_FILE", "", 1);
  write_error_file(InvalidArgument("an error"));
  ::setenv("TORCHELASTIC_ERROR_FILE", "/dev/null/error.json", 1);
  write_error_file(InvalidArgument("an error"));
  EXPECT_FALSE(std::filesystem::exists(folder));
}

}  // namespace
}  // namespace tandem::world::test
