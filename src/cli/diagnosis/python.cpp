// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <chrono>
#include <csignal>
#include <string>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "tandem/core/error.hpp"

#include "cli/diagnosis/finding.hpp"
#include "world/child_process.hpp"

namespace tandem::cli {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{10};

// PyTorch is not imported, which takes seconds: the file that has its version is run alone.
constexpr const char* kQuestion = R"(
import importlib.metadata, importlib.util, json, os, platform, runpy
def version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
def built_for():
    try:
        file = os.path.join(os.path.dirname(importlib.util.find_spec('torch').origin), 'version.py')
        return {key: value for key, value in runpy.run_path(file).items() if key in ('cuda', 'hip')}
    except Exception:
        return {}
print(json.dumps({'version': platform.python_version(), 'torch': version('torch'), 'torch_cuda': built_for().get('cuda'),
                  'torch_hip': built_for().get('hip'), 'tandem': version('tandem-dp')}))
)";

/// What a program writes to stdout before it ends.
/// @throws Error  it takes too long. @throws InvalidArgument  it cannot be started.
std::string output_of(world::ChildProcess& child) {
  const auto end = Clock::now() + kPatience;
  std::string text;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    pollfd waiting{child.out(), POLLIN, 0};
    if (left.count() <= 0 || ::poll(&waiting, 1, static_cast<int>(left.count())) == 0) {
      child.signal(SIGKILL);
      throw Error(fmt::format("python3 has not answered within {} s", kPatience.count()));
    }
    char part[4096];
    const ssize_t n = ::read(child.out(), part, sizeof part);
    if (n <= 0) return text;
    text.append(part, static_cast<std::size_t>(n));
  }
}

std::string text_of(const Json& facts) {
  std::string text = fmt::format("Python {}", facts.at("version").get<std::string>());
  if (facts.at("torch").is_null()) {
    text += ", no PyTorch";
  } else {
    text += fmt::format(", PyTorch {}", facts.at("torch").get<std::string>());
    for (const auto& [key, title] :
         {std::pair("torch_cuda", "CUDA"), std::pair("torch_hip", "ROCm")})
      if (facts.at(key).is_string())
        text += fmt::format(" for {} {}", title, facts.at(key).get<std::string>());
  }
  return text + (facts.at("tandem").is_null()
                     ? ", no package tandem-dp"
                     : fmt::format(", tandem-dp {}", facts.at("tandem").get<std::string>()));
}

std::string remedy(const Json& facts) {
  if (facts.at("tandem").is_null())
    return "for programs of PyTorch: build the package by scripts/setup --torch --python and "
           "scripts/wheel in tandem's sources, and install the wheel";
  if (facts.at("torch").is_null()) return "for programs of PyTorch: pip install torch";
  return {};
}

}  // namespace

Finding find_python() {
  Finding finding{.key = "python", .title = "Python", .says = {}, .remedy = {}, .facts = nullptr};
  try {
    world::ChildProcess python({"python3", "-c", kQuestion}, {});
    finding.facts = Json::parse(output_of(python));
    finding.says = text_of(finding.facts);
    finding.remedy = remedy(finding.facts);
    return finding;
  } catch (const InvalidArgument&) {
    finding.says = "none: no python3 can be started";
  } catch (const Json::exception&) {
    finding.says = "none: python3 ended without an answer";
  } catch (const Error& e) {
    finding.says = fmt::format("none: {}", e.what());
  }
  finding.facts = nullptr;
  finding.remedy = "for programs of PyTorch, install Python 3.11 or later";
  return finding;
}

}  // namespace tandem::cli
