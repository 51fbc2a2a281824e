// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// An optimizer's state that goes through the host a tensor at a time.

#include "optim/state_load.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/optim/adam.hpp"
#include "tandem/tensor/factories.hpp"

#include "optim/state_save.hpp"
#include "thrown_text.hpp"

namespace tandem::optim::test {
namespace {

using tandem::testing::thrown_text;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Bytes = std::vector<std::byte>;

/// A parameter whose rows lie one after the other, and one with channels last.
struct Trained {
  Trained() {
    for (Tensor* x : {&rows, &channels}) {
      x->requires_grad_();
      x->set_grad(randn(x->shape(), {.dtype = DType::f64}));
    }
    adam =
        std::make_unique<Adam>(std::vector<NamedParameter>{{"rows", rows}, {"channels", channels}},
                               AdamOptions{.lr = 0.1});
  }
  Tensor rows = randn({2, 3}, {.dtype = DType::f64});
  Tensor channels =
      randn({2, 3, 4, 5}, {.dtype = DType::f64}).contiguous(MemoryFormat::channels_last);
  std::unique_ptr<Adam> adam;
};

struct Saved {
  explicit Saved(const Optimizer& optimizer) {
    const detail::StateSave save(optimizer);
    numbers = save.numbers();
    for (const auto& entry : save.entries()) {
      keys.push_back(entry.key);
      forms[entry.key] = entry.form;
      Bytes& out = content[entry.key];
      out.resize(static_cast<std::size_t>(numel(entry.form.shape)) * itemsize(entry.form.dtype));
      save.read(entry, out);
    }
  }
  std::vector<std::string> keys;
  std::map<std::string, double> numbers;
  std::map<std::string, TensorForm> forms;
  std::map<std::string, Bytes> content;
};

TEST(StateSave, GivesRowsInTheOrderOfTheParameters) {
  Trained run;
  run.adam->step();
  const Saved saved(*run.adam);
  EXPECT_THAT(
      saved.keys,
      ElementsAre("rows.exp_avg", "rows.exp_avg_sq", "channels.exp_avg", "channels.exp_avg_sq"));
  const OptimizerState state = run.adam->state_dict();
  EXPECT_EQ(saved.numbers, state.numbers);
  EXPECT_FALSE(state.tensors.at("channels.exp_avg").is_contiguous());
  for (const auto& [key, x] : state.tensors) {
    const std::vector<double> values = x.to_doubles();
    const auto bytes = std::as_bytes(std::span(values));
    EXPECT_EQ(saved.content.at(key), Bytes(bytes.begin(), bytes.end())) << key;
  }
}

TEST(StateLoad, TakesWhatWasSaved) {
  Trained run, other;
  run.adam->step();
  const Saved saved(*run.adam);
  detail::StateLoad load(*other.adam, saved.numbers, saved.forms);
  load.run([&](const auto& entry) { load.set(entry, saved.content.at(entry.key)); });
  EXPECT_EQ(Saved(*other.adam).content, saved.content);
  EXPECT_EQ(other.adam->state_dict().numbers, saved.numbers);
}

TEST(StateLoad, ThatFailsHalfWayStopsTheOptimizerUntilTheNextOne) {
  Trained run, other;
  run.adam->step();
  other.adam->step();
  const Saved saved(*run.adam);
  detail::StateLoad load(*other.adam, saved.numbers, saved.forms);
  const auto fail = [&](const detail::StateLoad::Entry& entry) {
    if (entry.key == "rows.exp_avg_sq") throw FileError("run", 7, "the disk is gone");
    load.set(entry, saved.content.at(entry.key));
  };
  EXPECT_THROW(load.run(fail), FileError);
  EXPECT_THAT(thrown_text([&] { other.adam->step(); }),
              HasSubstr("an earlier step or load failed half-way; call load_state_dict"));
  other.adam->load_state_dict(run.adam->state_dict());
  EXPECT_EQ(Saved(*other.adam).content, saved.content);
  other.adam->step();
}

}  // namespace
}  // namespace tandem::optim::test
