// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/trial.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <optional>

#include "tandem/core/check.hpp"
#include "tandem/ops/autocast.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/observer.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"

#include "cli/signals.hpp"

namespace tandem::cli {
namespace {

/// Adds up what goes from each of some devices, and to each.
class Traffic final : public Observer {
 public:
  explicit Traffic(const std::vector<Device>& devices)
      : devices_(devices), sent_(devices.size()), received_(devices.size()) {}

  void on_copy(const CopyEvent& event) noexcept override {
    add(sent_, event.source, event.nbytes);
    add(received_, event.destination, event.nbytes);
  }
  std::size_t sent(std::size_t d) const noexcept { return sent_[d]; }
  std::size_t received(std::size_t d) const noexcept { return received_[d]; }

 private:
  void add(std::vector<std::atomic<std::size_t>>& sums,
           Device device,
           std::size_t nbytes) noexcept {
    const auto at = std::ranges::find(devices_, device);
    if (at != devices_.end()) sums[static_cast<std::size_t>(at - devices_.begin())] += nbytes;
  }

  const std::vector<Device>& devices_;
  std::vector<std::atomic<std::size_t>> sent_, received_;
};

std::int64_t total(const std::vector<std::int64_t>& rows) {
  return std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
}

/// A batch of the first samples, and again from the first on where there are more rows.
datasets::Batch repeated_batch(const datasets::Dataset& set, std::int64_t rows, Device place) {
  std::vector<std::int64_t> samples(static_cast<std::size_t>(rows));
  for (std::int64_t i = 0; i < rows; ++i)
    samples[static_cast<std::size_t>(i)] = i % set.size();
  datasets::Batch batch;
  for (const HostArray& array : set.get(samples))
    batch.push_back(to_tensor(array, place));
  return batch;
}

/// The same on a device that has no data: what it accounts for, of which this machine holds
/// nothing.
datasets::Batch batch_without_data(const datasets::Dataset& set, std::int64_t rows, Device place) {
  constexpr std::int64_t kFirst[] = {0};
  datasets::Batch batch;
  for (const HostArray& sample : set.get(kFirst)) {
    Shape shape = sample.shape;
    shape[0] = rows;
    batch.push_back(empty(shape, {.dtype = sample.dtype, .device = place}));
  }
  return batch;
}

}  // namespace

Trial::Trial(const RunOptions& options, const DataSets& sets, const Machine& machine)
    : options_(options),
      machine_(machine),
      train_(sets.train),
      task_(make_task(options, sets.form, parallel_options(options, machine.devices()))),
      optimizer_(options.make_optimizer(task_->module())),
      clock_(machine_.clock(task_->devices())),
      loader_(sets.train,
              options.loader(*sets.train, datasets::Split::train, machine.batch_device())) {}

datasets::Batch Trial::next_batch() {
  auto batch = loader_.next();
  if (!batch) batch = loader_.next();  // of the next epoch
  TANDEM_CHECK(batch.has_value(), "trial: the training set has no samples");
  return *std::move(batch);
}

void Trial::run(std::int64_t steps, const std::function<void(std::int64_t, double)>& on_step) {
  const std::vector<Device>& devices = task_->devices();
  std::optional<Autocast> mixed;
  if (const auto products = options_.numbers.products()) mixed.emplace(*products);
  for (const Device d : devices)
    logical_device(d).reset_peak();
  Traffic traffic(devices);
  std::vector<std::int64_t> rows(devices.size());
  {
    const Subscription subscription(traffic);
    for (std::int64_t step = 0; step < steps;) {
      const datasets::Batch batch = next_batch();
      parallel::StepResult result;
      const auto seconds = clock_([&] { result = task_->step(batch, *optimizer_); });
      step_ms_.push_back(seconds.count() * 1e3);
      if (total(result.rows) >= total(rows)) rows = result.rows;
      StatusSignal::note_step(++step);
      if (on_step) on_step(step, result.loss);
    }
  }
  devices_.clear();
  for (std::size_t d = 0; d < devices.size(); ++d) {
    devices_.push_back({devices[d],
                        rows[d],
                        logical_device(devices[d]).memory_stats().peak,
                        traffic.sent(d),
                        traffic.received(d)});
  }
}

parallel::LargestBatch Trial::find_largest_batch() {
  const Device place = machine_.batch_device();
  std::optional<Autocast> mixed;
  if (const auto products = options_.numbers.products()) mixed.emplace(*products);
  const auto make = [&](std::int64_t rows) {
    const ContextScope scope([](Context& c) { c.category = Category::input; });
    return logical_device(place).has_data() ? repeated_batch(*train_, rows, place)
                                            : batch_without_data(*train_, rows, place);
  };
  return task_->find_largest_batch(make, *optimizer_);
}

report::Recording Trial::watch(std::int64_t steps) {
  run(1);  // parameters may be everywhere already, from an evaluation
  const std::vector<Device>& devices = task_->devices();
  if (!machine_.is_simulated()) return report::record(devices, steps, [&] { run(steps); });
  std::vector<datasets::Batch> batches;  // fetched before: this machine's loader is not part of it
  for (std::int64_t step = 0; step < steps; ++step)
    batches.push_back(next_batch());
  std::optional<Autocast> mixed;
  if (const auto products = options_.numbers.products()) mixed.emplace(*products);
  return machine_.timed(report::record(devices,
                                       steps,
                                       [&] {
                                         for (const datasets::Batch& batch : batches)
                                           task_->step(batch, *optimizer_);
                                       }),
                        devices);
}

bool Trial::has_data() const {
  return logical_device(task_->devices().front()).has_data();
}

nn::NamedValues Trial::weights() {
  nn::NamedValues weights;
  for (const auto& [name, x] : task_->module().named_parameters())
    weights[name] = x.to_doubles();
  return weights;
}

double tolerance_of(const RunOptions& options) noexcept {
  if (options.numbers.dtype == "bf16") return 0;
  return options.numbers.dtype == "f64" ? 1e-12 : 1e-4;
}

const report::Remedies kRemedies{.of_state = "--mode dp-sharded",
                                 .of_outputs = "--loss-in-replica",
                                 .of_rounding = "--dtype f64"};

}  // namespace tandem::cli
