// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#include "tandem/ops/autocast.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "tandem/nn/conv2d.hpp"
#include "tandem/nn/layer_norm.hpp"
#include "tandem/nn/linear.hpp"
#include "tandem/ops/activation.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/linalg.hpp"
#include "tandem/ops/loss.hpp"
#include "tandem/ops/reduce.hpp"

#include "oracles/oracle_file.hpp"

namespace tandem::oracles {
namespace {

using Stages = std::map<std::string, Tensor>;

/// That of cases/autocast.py.
struct Net : nn::Module {
  nn::Conv2d conv{3, 8, 3, {.padding = {1, 1}}};
  nn::LayerNorm norm{8};
  nn::Linear fc{8, 32}, proj{32, 8}, head{8, 5};
  Stages stages;

  Tensor forward(const Tensor& x, Gelu form) {
    stages["conv"] = conv(x);
    stages["norm"] = norm(stages["conv"].flatten(2, -1).transpose(1, 2));
    stages["gelu"] = fc(stages["norm"], form);
    stages["hidden"] = proj(stages["gelu"]);
    const Tensor h = stages["norm"] + stages["hidden"];
    stages["scores"] = matmul(h, h.transpose(1, 2));
    stages["softmax"] = softmax(stages["scores"] / 8.0, -1);
    stages["mixed"] = matmul(stages["softmax"], h);
    return stages["logits"] = head(mean(stages["mixed"], {1}));
  }
  TANDEM_MODULE(Net, conv, norm, fc, proj, head)
};

/// What the tensors of a bf16 net may differ by: steps of bf16, of the size of the largest element.
void expect_near(const Tensor& actual, const Tensor& expected, const std::string& what) {
  ASSERT_EQ(actual.shape(), expected.shape()) << what;
  const auto a = actual.to_doubles(), b = expected.to_doubles();
  double most = 0, off = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, std::abs(b[i]));
    off = std::max(off, std::isnan(a[i]) ? 1e300 : std::abs(a[i] - b[i]));
  }
  EXPECT_LE(off, 0x1p-5 * most) << what;
}

/// torch.autocast("cpu") runs these in bf16 where that is what comes in; here they are f32, as
/// under torch.autocast("cuda").
const std::set<std::string> kWider{"norm", "softmax"};

TEST(AutocastOracle, ANetsTypesAndGradientsAreThoseOfPyTorch) {
  const OracleFile file("autocast");
  ASSERT_EQ(file.cases().size(), 2U);
  for (const std::string& name : file.cases()) {
    SCOPED_TRACE(name);
    const auto load = [&](const std::string& what) { return file.load(name + "." + what); };
    Net net;
    nn::StateDict state;
    for (const std::string& key : file.names_after(name + ".state."))
      state.set(key, load("state." + key));
    net.load_state_dict(state);
    const nlohmann::json parameters = file.parameters(name);
    const Gelu form = parameters.at("approximate") == "tanh" ? Gelu::tanh : Gelu::exact;
    const Tensor x = load("in.x").requires_grad_();
    {
      const Autocast mixed(DType::bf16);
      net.stages["loss"] = cross_entropy(net(x, form), load("in.labels"));
    }
    net.stages["loss"].backward();
    for (const auto& [stage, type] : parameters.at("types").items()) {
      const Tensor& y = net.stages.at(stage);
      const bool narrow = type == "bfloat16" && !kWider.contains(stage);
      EXPECT_EQ(y.dtype(), narrow ? DType::bf16 : DType::f32) << stage;
      expect_near(y, load("out." + stage), stage);
    }
    expect_near(x.grad(), load("grad.x"), "grad.x");
    for (const auto& [key, parameter] : net.named_parameters()) {
      EXPECT_EQ(parameter.grad().dtype(), DType::f32) << key;
      expect_near(parameter.grad(), load("grad." + key), "grad." + key);
    }
  }
}

}  // namespace
}  // namespace tandem::oracles
