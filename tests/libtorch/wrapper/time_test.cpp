// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Steps of PyTorch's modules as explain and trace show them, against steps of tandem's own modules,
// against what PyTorch itself says of its ops, and against known times.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include <ATen/record_function.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <torch/library.h>

#include "tandem/explain/explain.hpp"
#include "tandem/libtorch/optimizer.hpp"
#include "tandem/nn/linear.hpp"
#include "tandem/ops/loss.hpp"
#include "tandem/ops/unary.hpp"
#include "tandem/optim/sgd.hpp"
#include "tandem/parallel/replica_error.hpp"
#include "tandem/profile/trace.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"

#include "libtorch/models.hpp"
#include "libtorch/modes.hpp"
#include "libtorch/test_devices.hpp"

namespace tandem::libtorch::test {
namespace {

using parallel::Explanation;
using parallel::Mode;
using profile::Duration;
using profile::StepRecord;
using profile::WorkSpan;
using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using Sgd = Optimizer<torch::optim::SGD>;
using Json = nlohmann::json;

constexpr std::int64_t kTimedRows = 12;

std::atomic<int> naps_under_way = 0;
std::atomic<bool> naps_end = false;  // at once

void sleep_some(std::int64_t ms) {
  ++naps_under_way;
  const auto end = std::chrono::steady_clock::now() + milliseconds(ms);
  while (!naps_end && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::min(milliseconds(5), milliseconds(ms)));
  --naps_under_way;
}

at::Tensor nap(const at::Tensor& x, std::int64_t ms) {
  sleep_some(ms);
  return x.clone();
}

/// A kernel that takes a known time, forward and backward.
struct Nap : torch::autograd::Function<Nap> {
  static at::Tensor forward(torch::autograd::AutogradContext* c, const at::Tensor& x, int ms) {
    c->saved_data["ms"] = ms;
    return call(x, ms);
  }
  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* c,
                                               const torch::autograd::tensor_list& dy) {
    return {call(dy[0], c->saved_data["ms"].toInt()), at::Tensor()};
  }
  static at::Tensor call(const at::Tensor& x, std::int64_t ms) {
    static const auto op = c10::Dispatcher::singleton()
                               .findSchemaOrThrow("tandem_test::nap", "")
                               .typed<at::Tensor(const at::Tensor&, std::int64_t)>();
    return op.call(x, ms);
  }
};

TORCH_LIBRARY(tandem_test, library) {
  library.def("nap(Tensor x, int ms) -> Tensor");
  library.impl("nap", torch::dispatch(c10::DispatchKey::CPU, TORCH_FN(nap)));
}

/// The mean squared error, after some naps in one replica.
auto napping(int replica, int naps, int ms) {
  return [=](MlpImpl& net, const Batch& batch) {
    at::Tensor y = net.forward(batch.x);
    for (int i = 0; i < naps && context().replica == replica; ++i)
      y = Nap::apply(y, ms);
    return torch::mse_loss(y, batch.y);
  };
}

struct TimeTest : ::testing::TestWithParam<Mode> {
  TimeTest() {
    torch::manual_seed(0);
    net->to(torch::kDouble);
  }
  parallel::DataParallelOptions options(int devices) const {
    return {.devices = test_devices(devices), .mode = GetParam()};
  }
  Mlp net;
  Batch batch = MlpImpl::batch(kTimedRows);
};

INSTANTIATE_TEST_SUITE_P(All, TimeTest, ::testing::ValuesIn(kModes), [](const auto& test) {
  return std::string(parallel::name(test.param));
});

/// The same network as a module of tandem.
struct OwnMlp : nn::Module {
  nn::Linear first{6, 10, {.dtype = DType::f64}}, second{10, 3, {.dtype = DType::f64}};
  Tensor forward(const Tensor& x) { return second(tanh(first(x))); }
  TANDEM_MODULE(OwnMlp, first, second)
};

struct OwnBatch {
  Tensor x = randn({kTimedRows, 6}, {.dtype = DType::f64});
  Tensor y = randn({kTimedRows, 3}, {.dtype = DType::f64});
  TANDEM_FIELDS(x, y)
};

/// The second of two equal steps.
template <class F>
Explanation explain_second(F step) {
  step();
  return parallel::explain(step);
}

std::vector<std::string> titles(const Explanation& e) {
  std::vector<std::string> titles;
  for (const parallel::ExplainedStep& step : e.steps)
    titles.push_back(step.title);
  std::erase(titles, "Loss");  // PyTorch does not say where the module ends
  return titles;
}

TEST_P(TimeTest, AStepHasThePartsOfAStepOfTandemsOwnModules) {
  OwnMlp own;
  optim::SGD own_optimizer(own.named_parameters(), {.lr = 0.1});
  parallel::DataParallel<OwnMlp> own_dp(own, options(3));
  const OwnBatch own_batch;
  const Explanation expected = explain_second([&] {
    own_dp.step(
        own_batch,
        [](OwnMlp& m, const OwnBatch& b) { return mse_loss(m(b.x), b.y); },
        &own_optimizer);
  });
  Sgd optimizer(net->parameters(), torch::optim::SGDOptions(0.1));
  DataParallel dp(net, options(3));
  const Explanation e = explain_second([&] { dp.step(batch, squared_error, optimizer); });
  EXPECT_EQ(titles(e), titles(expected)) << e.text() << expected.text();
  ASSERT_EQ(e.links.size(), expected.links.size()) << e.text() << expected.text();
  for (const auto& [link, traffic] : expected.links)
    EXPECT_EQ(e.links.at(link).by_category, traffic.by_category) << link.source << link.destination;
  ASSERT_EQ(e.devices.size(), 3U);
  for (std::size_t d = 0; d < 3; ++d)
    EXPECT_EQ(e.devices[d].rows, expected.devices[d].rows);
  EXPECT_TRUE(e.complete);
}

TEST_P(TimeTest, ComputingIsNoWaiting) {
  constexpr milliseconds kNap(40);
  DataParallel dp(net, options(2));
  dp.step(batch, squared_error);
  const Explanation e =
      parallel::explain([&] { dp.step(batch, napping(1, 1, static_cast<int>(kNap.count()))); });
  ASSERT_EQ(e.devices.size(), 2U);
  const parallel::ExplainedDevice &waits = e.devices[0], &works = e.devices[1];
  const auto time = [](const parallel::ExplainedDevice& d, Phase phase) {
    return d.time[static_cast<std::size_t>(phase)];
  };
  EXPECT_GE(time(works, Phase::forward), kNap);
  EXPECT_GE(time(works, Phase::backward), kNap);
  EXPECT_GE(waits.waiting, kNap) << "for the weight of the other's loss, or its gradients";
  EXPECT_LT(time(waits, Phase::forward) + time(waits, Phase::backward), 2 * kNap);
  for (const parallel::ExplainedDevice& d : e.devices) {
    Duration sum = d.in_collectives;
    for (const Duration phase : d.time)
      sum += phase;
    EXPECT_LE(sum, e.duration) << "what remains is idle";
    EXPECT_LE(d.waiting, d.in_collectives);
  }
  EXPECT_LT(works.waiting, kNap);
}

/// How often PyTorch begins each op. On a virtual device an op calls itself: there are variants
/// that call each other, and a kernel of the host. These count once.
class OpCounts {
 public:
  OpCounts() {
    counts().clear();
    handle_ = at::addGlobalCallback(at::RecordFunctionCallback(&begin));
  }
  ~OpCounts() { at::removeCallback(handle_); }
  static int of(const std::string& op) {
    const std::scoped_lock lock(mutex());
    return counts()["aten::" + op];
  }

 private:
  struct Open final : at::ObserverContext {
    explicit Open(std::string op) : name(std::move(op)) { open().insert(name); }
    ~Open() override { open().erase(name); }
    std::string name;
  };
  static std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
    if (open().contains(function.name())) return nullptr;
    const std::scoped_lock lock(mutex());
    ++counts()[function.name()];
    return std::make_unique<Open>(function.name());
  }
  /// The ops that the calling thread is in.
  static std::set<std::string>& open() {
    thread_local std::set<std::string> names;
    return names;
  }
  static std::map<std::string, int>& counts() {
    static std::map<std::string, int> all;
    return all;
  }
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }

  at::CallbackHandle handle_;
};

TEST_P(TimeTest, EachOpIsAPieceOfWorkOfItsDevice) {
  auto with_chunks = options(3);
  with_chunks.chunk_sizes = {5, 3, 4};
  DataParallel dp(net, with_chunks);
  dp.step(batch, squared_error);
  const OpCounts counts;
  const StepRecord record = profile::record([&] { dp.step(batch, squared_error); });
  std::map<std::string, int> works;
  std::map<int, std::set<std::string>> forward, backward;
  std::map<std::string, std::set<std::string>> paths;  // in forward, by name
  for (const WorkSpan& w : record.work) {
    ++works[w.name];
    if (w.is_collective() || (w.phase != Phase::forward && w.phase != Phase::backward)) continue;
    EXPECT_EQ(w.rows.size(), with_chunks.chunk_sizes[static_cast<std::size_t>(w.device.index)]);
    (w.phase == Phase::forward ? forward : backward)[w.device.index].insert(w.name);
    if (w.phase == Phase::backward) continue;
    paths[w.name].insert(*w.module_path);
  }
  for (const char* op : {"addmm", "tanh", "mm", "tanh_backward", "mse_loss_backward"}) {
    EXPECT_EQ(works[op], OpCounts::of(op)) << op;
    EXPECT_GE(works[op], 3) << op;
  }
  for (int d = 0; d < 3; ++d) {
    EXPECT_THAT(forward[d], AllOf(IsSupersetOf({"addmm", "tanh"}), Not(Contains("mm"))));
    EXPECT_THAT(backward[d], AllOf(IsSupersetOf({"mm", "tanh_backward"}), Not(Contains("addmm"))));
  }
  EXPECT_EQ(paths["addmm"], std::set<std::string>{"MlpImpl.addmm"});
  EXPECT_EQ(paths["tanh"], std::set<std::string>{"MlpImpl.tanh"});
  std::set<std::string> nodes;
  for (const WorkSpan& w : record.work)
    if (w.name == std::string("mm")) nodes.insert(*w.module_path);
  EXPECT_EQ(nodes, std::set<std::string>{"AddmmBackward0"});
}

TEST_P(TimeTest, NothingIsInstalledInPyTorchUnlessSomeoneRecords) {
  DataParallel dp(net, options(2));
  std::atomic<int> with_callbacks = 0;
  const auto loss = [&](MlpImpl& replica, const Batch& part) {
    with_callbacks += at::hasCallbacks() ? 1 : 0;
    const at::Tensor error = squared_error(replica, part);
    error.register_hook([&](const at::Tensor&) { with_callbacks += at::hasCallbacks() ? 1 : 0; });
    return error;
  };
  dp.step(batch, loss);
  EXPECT_EQ(with_callbacks, 0);
  static_cast<void>(profile::record([&] { dp.step(batch, loss); }));
  EXPECT_GE(with_callbacks.exchange(0), 2);
  dp.step(batch, loss);
  EXPECT_EQ(with_callbacks, 0);
  EXPECT_FALSE(at::hasCallbacks());
}

double end_of(const Json& span) {
  return span["ts"].get<double>() + span["dur"].get<double>();
}

TEST_P(TimeTest, ATracesSpansNestOnEachThread) {
  Sgd optimizer(net->parameters(), torch::optim::SGDOptions(0.1));
  DataParallel dp(net, options(3));
  const StepRecord record = profile::record([&] { dp.step(batch, squared_error, optimizer); });
  const Json trace = Json::parse(profile::trace_json(record));
  std::map<std::pair<int, int>, std::vector<Json>> tracks;
  std::map<int, std::string> processes;
  std::map<std::string, std::set<std::string>> names;  // by process
  for (const Json& e : trace["traceEvents"]) {
    if (e["name"] == "process_name") processes[e["pid"]] = e["args"]["name"];
    if (e["ph"] == "X") tracks[{e["pid"], e["tid"]}].push_back(e);
  }
  for (auto& [track, spans] : tracks) {
    std::ranges::stable_sort(spans, [](const Json& a, const Json& b) {
      return std::pair(a["ts"].get<double>(), -end_of(a)) <
             std::pair(b["ts"].get<double>(), -end_of(b));
    });
    std::vector<double> open;  // ends
    for (const Json& span : spans) {
      names[processes.at(track.first)].insert(span["name"]);
      while (!open.empty() && open.back() <= span["ts"].get<double>() + 1e-6)
        open.pop_back();
      if (!open.empty()) {
        EXPECT_LE(end_of(span), open.back() + 1e-3) << span;
      }
      open.push_back(end_of(span));
    }
  }
  for (const char* device : {"cpu:0", "cpu:1", "cpu:2"})
    EXPECT_THAT(names[device],
                IsSupersetOf({"forward", "MlpImpl", "addmm", "backward", "AddmmBackward0", "mm"}));
}

TEST_P(TimeTest, TheLossOfGatheredOutputsIsExplainedToo) {
  Sgd optimizer(net->parameters(), torch::optim::SGDOptions(0.1));
  DataParallel dp(net, options(3));
  const auto step = [&] {
    optimizer.zero_grad();
    torch::mse_loss(dp(batch.x), batch.y).backward();
    optimizer.step();
  };
  step();
  const StepRecord record = profile::record(step);
  const Explanation e = parallel::explain(record);
  std::map<int, std::set<std::string>> forward, backward;
  for (const WorkSpan& w : record.work) {
    if (w.phase == Phase::forward) forward[w.device.index].insert(w.name);
    if (w.phase == Phase::backward) backward[w.device.index].insert(w.name);
  }
  for (int d = 0; d < 3; ++d) {
    EXPECT_THAT(forward[d], IsSupersetOf({"addmm", "tanh"}));
    EXPECT_THAT(backward[d], IsSupersetOf({"mm", "tanh_backward"}));
  }
  const std::set<std::string> parts({"Scatter", "Forward", "Gather", "Backward", "Reduce"});
  const auto found = titles(e);
  EXPECT_THAT(found, IsSupersetOf(parts)) << e.text();
  EXPECT_THAT(found, Not(Contains("Exchange"))) << e.text();
  // Four rows of a third of the batch, three outputs, f64.
  const std::size_t outputs = 4 * 3 * 8, inputs = 4 * 6 * 8;
  const std::size_t gradients = (6 * 10 + 10 + 10 * 3 + 3) * 8;
  const auto bytes = [&](int from, int to, Category category) {
    const auto at = e.links.find({{DeviceType::cpu, from}, {DeviceType::cpu, to}});
    return at == e.links.end() ? 0 : at->second.by_category[static_cast<std::size_t>(category)];
  };
  for (const int d : {1, 2}) {
    EXPECT_EQ(bytes(0, d, Category::input), inputs);
    EXPECT_EQ(bytes(d, 0, Category::output), outputs);
    EXPECT_EQ(bytes(0, d, Category::output_gradient), outputs);
    EXPECT_EQ(bytes(d, 0, Category::gradient), gradients);
    EXPECT_EQ(bytes(0, d, Category::activation), 0U);
    EXPECT_EQ(bytes(d, 0, Category::activation), 0U);
  }
}

TEST_P(TimeTest, PyTorchsOwnOptimizerIsTheFirstDevicesUpdate) {
  for (const bool is_on_host : {true, false}) {
    DataParallel dp(net, options(2));
    torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
    const Explanation e = explain_second([&] { dp.step(batch, squared_error, optimizer); });
    const auto update = std::ranges::find_if(
        e.steps, [](const parallel::ExplainedStep& step) { return step.title == "Update"; });
    ASSERT_NE(update, e.steps.end()) << e.text();
    ASSERT_EQ(update->devices.size(), 1U);
    EXPECT_EQ(update->devices[0].device, dp.devices()[0]);
    if (is_on_host) {
      EXPECT_EQ(update->devices[0].works, 1U);
    }
    net->to(torch::Device("tandem:0"));
  }
}

TEST_P(TimeTest, AReportCanBeMade) {
  DataParallel dp(net, options(2));
  dp.step(batch, squared_error);
  const Explanation e = parallel::explain([&] { dp.step(batch, squared_error); });
  EXPECT_THAT(e.text(),
              AllOf(HasSubstr("12 rows on cpu:0 and cpu:1 (6, 6)"),
                    HasSubstr("Forward: each of cpu:0 and cpu:1 runs the module on its own rows"),
                    HasSubstr("Backward: each of cpu:0 and cpu:1 goes back through its own tape"),
                    HasSubstr("waiting")));
  const Json json = Json::parse(e.json());
  for (const Json& device : json["devices"]) {
    EXPECT_GT(device["ms_by_phase"]["forward"].get<double>(), 0);
    EXPECT_GT(device["ms_by_phase"]["backward"].get<double>(), 0);
  }
}

/// A piece of work of tandem that takes a known time.
Tensor own_nap(const Tensor& x, int ms) {
  dispatch(x.stream(), Work{.name = "nap"}, [&](auto&) { sleep_some(ms); });
  return x;
}

/// How a step ends in which the replica of device 1 takes naps, while the other one waits: "" or
/// the error.
std::string end_of_own_step(parallel::DataParallelOptions options, int naps, int ms) {
  OwnMlp own;
  parallel::DataParallel<OwnMlp> dp(own, options);
  try {
    // By value: after a time-out the replica still runs.
    dp.step(OwnBatch{}, [naps, ms](OwnMlp& m, const OwnBatch& b) {
      Tensor y = m(b.x);
      for (int i = 0; i < naps && context().replica == 1; ++i)
        y = own_nap(y, ms);
      return mse_loss_sum(y, b.y);
    });
    return "";
  } catch (const Timeout&) {
    return "Timeout";
  }
}

std::string end_of_step(const Mlp& net, parallel::DataParallelOptions options, int naps, int ms) {
  DataParallel dp(net, options);
  try {
    dp.step(MlpImpl::batch(kTimedRows), napping(1, naps, ms));
    return "";
  } catch (const Timeout& e) {
    EXPECT_THAT(e.what(), HasSubstr("nap")) << "what the device was in";
    return "Timeout";
  }
}

// The deadline is for a single piece of work.
TEST_P(TimeTest, AStepMayTakeLongerThanTheDeadline) {
  auto with_deadline = options(2);
  with_deadline.deadline = milliseconds(300);
  EXPECT_EQ(end_of_own_step(with_deadline, 9, 50), "");
  EXPECT_EQ(end_of_step(net, with_deadline, 9, 50), "") << "450 ms forward, and 450 ms backward";
}

TEST_P(TimeTest, AnOpMayNotTakeLongerThanTheDeadline) {
  constexpr int kForLong = 60'000;
  const auto wake_up = [](const std::vector<Device>& devices) {
    naps_end = true;
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (naps_under_way > 0 && std::chrono::steady_clock::now() < patience)
      std::this_thread::sleep_for(milliseconds(1));
    for (const Device d : devices)
      logical_device(d).worker().submit([] {}).wait(patience);
    naps_end = false;
  };
  auto with_deadline = options(2);
  with_deadline.deadline = milliseconds(300);
  EXPECT_EQ(end_of_own_step(with_deadline, 1, kForLong), "Timeout");
  wake_up(with_deadline.devices);
  EXPECT_EQ(end_of_step(net, with_deadline, 1, kForLong), "Timeout");
  wake_up(with_deadline.devices);
}

}  // namespace
}  // namespace tandem::libtorch::test
