// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs random trainings in all modes beside one device; see scripts/fuzz-steps --help.

#include <algorithm>
#include <cctype>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "steps/check.hpp"
#include "steps/shrink.hpp"

namespace tandem::steps {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct Request {
  std::int64_t cases = 0;    // 0: no limit
  std::int64_t seconds = 0;  // 0: no limit
  std::uint64_t seed = 0;
  std::int64_t findings = 1;
  bool fails_each = false;
  std::vector<std::string> files;
  std::string folder = "build/fuzz-steps";
};

std::string text_of(const fs::path& file) {
  std::ifstream stream(file);
  if (!stream) throw std::invalid_argument("fuzz-steps: " + file.string() + " cannot be read");
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// The files of cases among `names`, of which some are folders.
std::vector<fs::path> case_files(const std::vector<std::string>& names) {
  std::vector<fs::path> files;
  for (const std::string& name : names) {
    if (!fs::is_directory(name)) {
      files.emplace_back(name);
      continue;
    }
    for (const auto& entry : fs::directory_iterator(name))
      if (entry.path().extension() == ".case") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

/// What a finding says without its numbers and its statement.
std::string kind_of(const std::string& finding) {
  std::string kind;
  const auto begin = finding.find("': ");
  for (const char c : finding.substr(begin == std::string::npos ? 0 : begin))
    if (c == ':' && kind.find("differs") != std::string::npos)
      break;
    else if (std::isalpha(static_cast<unsigned char>(c)) != 0)
      kind += c;
  return kind;
}

class Run {
 public:
  explicit Run(const Request& request) : request_(request) {
    fs::create_directories(request_.folder);
  }

  int run() {
    for (const fs::path& file : case_files(request_.files))
      try_case(parse_case(text_of(file)), file.string());
    if (request_.files.empty()) run_random();
    std::cout << cases_ << " passed, " << findings_ << " failed";
    if (request_.fails_each) std::cout << "; " << failed_pieces_ << " pieces of work failed";
    std::cout << "\n";
    return findings_ == 0 ? 0 : 1;
  }

 private:
  void run_random() {
    const auto end = Clock::now() + std::chrono::seconds(request_.seconds);
    auto told = Clock::now();
    for (std::int64_t k = 0; request_.cases == 0 || k < request_.cases; ++k) {
      if (request_.seconds > 0 && Clock::now() >= end) break;
      std::mt19937_64 random(request_.seed + static_cast<std::uint64_t>(k));
      const std::string name =
          "seed " + std::to_string(request_.seed + static_cast<std::uint64_t>(k));
      if (request_.fails_each)
        try_each_failure(case_of_a_step(random), name);
      else
        try_case(random_case(random), name);
      if (findings_ >= request_.findings) break;
      if (Clock::now() < told + std::chrono::seconds(10)) continue;
      told = Clock::now();
      std::cerr << k + 1 << " cases, " << findings_ << " findings\n";
    }
  }
  void try_case(const Case& c, const std::string& name) {
    keep(c);
    if (const auto finding = check(c))
      tell(c, name, *finding);
    else
      ++cases_;
  }
  void try_each_failure(const Case& c, const std::string& name) {
    keep(c);
    const FailedPieces result = fail_each(c);
    failed_pieces_ += result.count;
    if (result.finding)
      tell(result.done, name, *result.finding);
    else
      ++cases_;
  }
  /// For a crash.
  void keep(const Case& c) {
    std::ofstream(fs::path(request_.folder) / "current.case") << to_text(c);
  }
  /// Makes the case as small as possible, and prints it.
  void tell(const Case& c, const std::string& name, const std::string& finding) {
    ++findings_;
    const Case small = shrink(c, [kind = kind_of(check(c).value_or(finding))](const Case& smaller) {
      const auto other = check(smaller);
      return other && kind_of(*other) == kind;
    });
    const std::string text = check(small).value_or(finding);
    const fs::path file = fs::path(request_.folder) / ("finding" + std::to_string(findings_));
    std::ofstream(file.string() + ".case") << "# " << text << "\n" << to_text(small);
    std::ofstream(file.string() + ".cpp") << to_program(small, sources(), text);
    std::cout << "\n"
              << name << ": " << text << "\n"
              << to_text(small) << "program: " << file.string() << ".cpp\n"
              << std::flush;
  }
  /// What a program begins with.
  static std::string sources() {
    const fs::path here(TANDEM_STEPS_SOURCES);
    std::string net = text_of(here / "net.hpp"), side = text_of(here / "side.hpp");
    for (std::string* text : {&net, &side})
      for (const std::string line : {"#pragma once\n", "#include \"steps/net.hpp\"\n"})
        if (const auto at = text->find(line); at != std::string::npos) text->erase(at, line.size());
    return net + side;
  }

  Request request_;
  std::int64_t cases_ = 0, findings_ = 0, failed_pieces_ = 0;
};

}  // namespace
}  // namespace tandem::steps

int main(int argc, char** argv) try {
  tandem::steps::Request request;
  CLI::App app("Runs random trainings in all modes beside one device");
  app.add_option("--cases", request.cases, "how many; 0: until the time is over");
  app.add_option("--seconds", request.seconds, "for how long; 0: no limit");
  app.add_option("--seed", request.seed, "of the first case; each one more has the next");
  app.add_option("--findings", request.findings, "after how many to stop");
  app.add_flag("--fail-each", request.fails_each, "each piece of work of a step fails once");
  app.add_option("--output", request.folder, "where findings go");
  app.add_option("files", request.files, "cases, or folders of *.case, in place of random ones");
  CLI11_PARSE(app, argc, argv);
  tandem::configure_devices("cpu:8");
  return tandem::steps::Run(request).run();
} catch (const std::exception& e) {
  std::cerr << e.what() << "\n";
  return 2;
}
