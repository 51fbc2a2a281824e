// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <tandem/tandem.hpp>

#include "steps/net.hpp"

// A training on one device, or on several: what a case of the fuzzer of steps is made of. This
// header needs tandem alone, since programs that the fuzzer prints begin with it.
namespace tandem::steps {

/// Thrown by a piece of work that a case lets fail.
struct Injected : std::runtime_error {
  Injected() : std::runtime_error("injected") {}
};

/// Thrown where a statement that failed has changed something.
struct Changed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The first of the values that differ by more than `tolerance` times their size; empty: none does.
inline std::string difference(const Values& own, const Values& right, double tolerance) {
  for (const auto& [name, values] : right)
    if (!own.contains(name)) return name + ", which is missing";
  for (const auto& [name, values] : own) {
    const auto other = right.find(name);
    if (other == right.end()) return name + ", which should not be there";
    if (values.size() != other->second.size()) return name + ", whose size differs";
    double size = 1;
    for (const double v : other->second)
      size = std::max(size, std::abs(v));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double a = values[i], b = other->second[i];
      if (a == b || (a != a && b != b) || std::abs(a - b) <= tolerance * size) continue;
      std::ostringstream text;
      text.precision(17);
      text << name << ": element " << i << " is " << a << ", not " << b;
      return text.str();
    }
  }
  return "";
}

/// A training. Without a mode it is on one device, without a wrapper.
class Side {
 public:
  using Mode = std::optional<parallel::Mode>;

  Side(const Setup& setup, Mode mode) : setup_(setup), mode_(mode), dtype_(dtype_of(setup)) {
    manual_seed(static_cast<std::uint64_t>(setup.seed));
    net_ = std::make_unique<Net>(setup);
    parameters_ = net_->named_parameters();
    optimizer_ = make_optimizer();
    if (setup.averages == 1) make_averages();
    wrap();
    if (setup.averages == 2) make_averages();
    if (setup.scaler != 0)
      scaler_.emplace(optim::GradScalerOptions{.init_scale = 1024, .growth_interval = 2});
    numbers_ = default_generator().get_state();
  }

  /// Runs a statement: its name and numbers. Those that compute take their rows and the seed of
  /// their values. After "fail K" its K-th piece of work fails first, if there is a wrapper.
  ///
  /// @throws Changed  a statement that failed has changed something.
  void run(const std::string& statement) {
    std::vector<std::string> words = split(statement, ' ');
    values_.clear();
    went_forward_ = has_failed_ = false;
    const Turn turn(numbers_);
    if (words.at(0) == "fail") {
      const int work = std::stoi(words.at(1));
      words.erase(words.begin(), words.begin() + 2);
      if (dp_ != nullptr && !goes_well_with_fault(words, work)) return;
    }
    run(words);
  }
  /// The last statement was to fail, and did.
  bool has_failed() const { return has_failed_; }
  /// A failure has come after the vote, or in a backward: there is no going on.
  bool has_ended() const { return has_ended_; }
  /// Losses and outputs of the last statement alone: nothing is read that would be brought
  /// together.
  const Values& told() const { return values_; }
  /// All that a user can read.
  Values observe() {
    Values all = values_;
    for (const auto& [name, x] : parameters_) {
      all["parameter " + name] = x.to_doubles();
      if (const Tensor g = x.grad(); g.defined()) all["gradient " + name] = g.to_doubles();
    }
    for (const auto& [name, x] : net_->named_buffers())
      all["buffer " + name] = x.to_doubles();
    const optim::OptimizerState state = optimizer_->state_dict();
    for (const auto& [name, x] : state.tensors)
      all["state " + name] = x.to_doubles();
    for (const auto& [name, number] : state.numbers)
      all["number " + name] = {number};
    if (averages_)
      for (const auto& [name, x] : averages_->averages())
        all["average " + name] = x.to_doubles();
    if (scaler_) all["scale"] = {scaler_->get_scale()};
    if (!(setup_.accumulate > 1 && has_micro_batches()))
      all["forwards"] = {static_cast<double>(numbers_.forwards)};
    return all;
  }
  Mode mode() const { return mode_; }
  /// Changes parameters by random parts of themselves, at most `most`.
  void jitter(double most) {
    const autograd::NoGrad off;
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> part(1 - most, 1 + most);
    for (const auto& [name, x] : parameters_) {
      std::vector<double> values = x.to_doubles();
      for (double& value : values)
        value *= part(random);
      Tensor(x).copy_(from_host(std::span<const double>(values), x.shape()));
    }
  }
  /// Begins with the values of another one, which may be of another type.
  void take_parameters(const Side& other) {
    const autograd::NoGrad off;
    for (std::size_t p = 0; p < parameters_.size(); ++p)
      Tensor(parameters_[p].tensor).copy_(other.parameters_[p].tensor.to(dtype_));
  }

 private:
  /// The random numbers are this side's meanwhile.
  class Turn {
   public:
    explicit Turn(GeneratorState& numbers) : numbers_(numbers) {
      default_generator().set_state(numbers_);
    }
    ~Turn() { numbers_ = default_generator().get_state(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    GeneratorState& numbers_;
  };

  /// The net is in evaluation meanwhile.
  class Evaluation {
   public:
    explicit Evaluation(Net& net) : net_(net), trained_(net.is_training()) { net_.eval(); }
    ~Evaluation() { net_.train(trained_ ? nn::Mode::training : nn::Mode::evaluation); }
    Evaluation(const Evaluation&) = delete;
    Evaluation& operator=(const Evaluation&) = delete;

   private:
    Net& net_;
    bool trained_;
  };

  /// @return  whether the statement is to be run, since it has had no effect.
  bool goes_well_with_fault(const std::vector<std::string>& words, int work) {
    const bool updates = words[0] == "step" && words.at(3) != "0";
    if (updates) optimizer_->zero_grad();  // gradients of a step begin from nothing
    const Values before = observe();
    std::atomic<int> left{work};
    try {
      const WorkFaultScope scope([&left](const Work&, Device) {
        if (left.fetch_sub(1) == 1) throw Injected();
      });
      run(words);
      return false;
    } catch (const parallel::ReplicaError& e) {
      has_failed_ = true;
      values_.clear();
      has_ended_ = std::exchange(went_forward_, false);
      if (!is_usable()) return !(has_ended_ = true);  // its roll-back has failed as well
      check_unchanged(before, has_ended_, e.what());
      return !has_ended_;
    } catch (const Injected& e) {  // outside of the replicas, or after a vote
      has_failed_ = true;
      values_.clear();
      has_ended_ = true;
      if (is_usable()) check_unchanged(before, std::exchange(went_forward_, false), e.what());
      return false;
    }
  }
  bool is_usable() {
    try {
      dp_->sync();
      return true;
    } catch (const InvalidArgument&) {
      return false;
    }
  }
  /// @param went_forward  before the call that failed; another forward's backward may have ended,
  ///                      and with hooks the caller's thread adds gradients up, one after the
  ///                      other.
  void check_unchanged(Values before, bool went_forward, const std::string& error) {
    Values now = observe();
    for (Values* values : {&before, &now})
      if (went_forward)
        std::erase_if(*values, [this](const auto& entry) {
          return entry.first == "forwards" || entry.first.starts_with("buffer") ||
                 ((went_twice_ || has_hooks_) && entry.first.starts_with("gradient"));
        });
    const std::string changed = difference(now, before, 0);
    if (!changed.empty()) throw Changed("a failure (" + error + ") has changed " + changed);
  }
  void run(const std::vector<std::string>& words) {
    const std::string& name = words.at(0);
    Ints n;
    for (std::size_t i = 1; i < words.size() && words[i] != "look"; ++i)
      n.push_back(std::stoll(words[i]));
    if (name == "step") return step(n.at(0), n.at(1), n.at(2));
    if (name == "backward") return backward(n.at(0), n.at(1), n.at(2), n.at(3));
    if (name == "evaluate") return evaluate(n.at(0), n.at(1));
    if (name == "update") return optimizer_->step();
    if (name == "zero_grad") return optimizer_->zero_grad();
    if (name == "clip") return clip(n.at(0));
    if (name == "scale_gradients") return scale_gradients(n.at(0));
    if (name == "set_gradient") return set_gradient(n.at(0), n.at(1));
    if (name == "drop_gradient") return tensor(n.at(0)).set_grad({});
    if (name == "train") return set_training(n.at(0));
    if (name == "freeze") return (void)tensor(n.at(0)).requires_grad_(false);
    if (name == "thaw") return (void)tensor(n.at(0)).requires_grad_(true);
    if (name == "hook") return hook(n.at(0), n.at(1));
    if (name == "unhook") return unhook(n.at(0));
    if (name == "write") return write(n.at(0), n.at(1));
    if (name == "learning_rate") return learning_rate(n.at(0));
    if (name == "average") return average();
    if (name == "swap") return swap();
    if (name == "reload") return reload();
    if (name == "wrap_again") return wrap_again();
    if (name == "synchronise") return synchronise();
    throw std::invalid_argument("there is no statement '" + name + "'");
  }
  static void check_rows(std::int64_t rows) {
    if (rows < 1) throw std::invalid_argument("a batch without rows has no mean loss");
  }
  /// A whole step; updates: 1 by the optimizer, 0 not at all.
  void step(std::int64_t rows, std::int64_t seed, std::int64_t updates) {
    check_rows(rows);
    const Batch batch = make_batch(setup_, rows, seed);
    optim::Optimizer* optimizer = updates != 0 ? optimizer_.get() : nullptr;
    optim::GradScaler* scaler = optimizer != nullptr && scaler_ ? &*scaler_ : nullptr;
    if (dp_ != nullptr)
      values_["loss"] = {dp_->step(batch, loss_of(), optimizer, {.scaler = scaler}).loss};
    else
      step_on_one(batch, optimizer, scaler);
  }
  /// One forward, or two whose losses are added up, and the backward. syncs: 0: under no_sync.
  void backward(std::int64_t rows, std::int64_t seed, std::int64_t more_rows, std::int64_t syncs) {
    check_rows(rows);
    std::optional<parallel::NoSync<parallel::ReplicaSet>> scope;
    if (dp_ != nullptr && syncs == 0) scope.emplace(dp_->no_sync());
    went_twice_ = more_rows > 0;
    Tensor loss = loss_of_call(make_batch(setup_, rows, seed));
    if (more_rows > 0) loss = loss + loss_of_call(make_batch(setup_, more_rows, seed + 1));
    values_["loss"] = {loss.item()};
    loss.backward();
    went_forward_ = false;
  }
  /// A forward without gradients, in evaluation.
  void evaluate(std::int64_t rows, std::int64_t seed) {
    const autograd::NoGrad off;
    const Evaluation scope(*net_);
    values_["output"] = call(make_batch(setup_, rows, seed).x).to_doubles();
  }
  void clip(std::int64_t percent) {
    values_["norm"] = {
        optim::clip_grad_norm_(tensors(), static_cast<double>(percent) / 100).item()};
  }
  void scale_gradients(std::int64_t percent) {
    const autograd::NoGrad off;
    for (const Tensor& x : tensors())
      if (Tensor g = x.grad(); g.defined()) g.mul_(static_cast<double>(percent) / 100);
  }
  void set_gradient(std::int64_t parameter, std::int64_t percent) {
    const Tensor x = tensor(parameter);
    x.set_grad(full(
        x.shape(), static_cast<double>(percent) / 100, {.dtype = x.dtype(), .device = x.device()}));
  }
  void set_training(std::int64_t on) {
    net_->train(on != 0 ? nn::Mode::training : nn::Mode::evaluation);
  }
  /// kind: 0 a hook that halves the gradient; 1 an accumulate hook that doubles it.
  void hook(std::int64_t parameter, std::int64_t kind) {
    const Tensor x = tensor(parameter);
    if (!x.requires_grad()) return;
    has_hooks_ = true;
    if (kind == 0)
      hooks_.emplace_back(x, autograd::register_hook(x, [](const Tensor& g) { return g * 0.5; }));
    else
      autograd::set_accumulate_hook(x, [](const Tensor& leaf) {
        const autograd::NoGrad off;
        leaf.grad().mul_(2.0);
      });
  }
  void unhook(std::int64_t parameter) {
    const Tensor x = tensor(parameter);
    std::erase_if(hooks_, [&](const auto& hook) {
      if (hook.first.is(x)) autograd::remove_hook(x, hook.second);
      return hook.first.is(x);
    });
    autograd::set_accumulate_hook(x, nullptr);
  }
  void write(std::int64_t parameter, std::int64_t percent) {
    const autograd::NoGrad off;
    tensor(parameter).mul_(static_cast<double>(percent) / 100);
  }
  void learning_rate(std::int64_t thousandths) {
    optimizer_->param_groups()[0].set("lr", static_cast<double>(thousandths) / 1000);
  }
  void average() {
    if (averages_) averages_->update();
  }
  void swap() {
    if (!averages_) return;
    averages_->swap();
    averages_->swap();
  }
  /// Another optimizer goes on from this one's state.
  void reload() {
    const optim::OptimizerState state = optimizer_->state_dict();
    std::map<std::string, Tensor> tensors;
    for (const auto& [name, x] : state.tensors)
      tensors[name] = x.clone();
    optimizer_ = make_optimizer();
    optimizer_->load_state_dict({tensors, state.numbers});
  }
  void wrap_again() {
    if (dp_ == nullptr) return;
    dp_.reset();
    wrap();
  }
  void synchronise() {
    if (dp_ != nullptr) dp_->sync();
  }

  void wrap() {
    if (!mode_) return;
    parallel::DataParallelOptions o{.devices = {}, .mode = *mode_};
    for (int d = 0; d < setup_.devices; ++d)
      o.devices.push_back({DeviceType::cpu, d});
    o.output_device = Device{DeviceType::cpu, setup_.output};
    if (setup_.buffers == 1 && net_->has("norm"))
      o.buffers = {{"*.running_mean", parallel::BufferMerge::mean}};
    if (setup_.buffers == 2 && net_->has("count"))
      o.buffers = {{"*.count", parallel::BufferMerge::sum}};
    if (setup_.chunks.size() == 1) o.gpu0_bsz = setup_.chunks[0];
    if (setup_.chunks.size() > 1) o.chunk_sizes = setup_.chunks;
    o.accumulate = setup_.accumulate;
    o.bitwise_leaves = setup_.bitwise;
    o.sharding.whole_tensors = setup_.whole_tensors != 0;
    if (setup_.units > 0)
      o.sharding.units = parallel::UnitPolicy::by_size(static_cast<std::size_t>(setup_.units));
    o.sharding.reshard_after_forward = setup_.reshard != 0;
    o.sharding.prefetch = static_cast<std::size_t>(setup_.prefetch);
    if (setup_.offload != 0) o.sharding.offload = Device{DeviceType::cpu, 7};
    const bool is_full = *mode_ == parallel::Mode::fully_sharded;
    if (!is_full && *mode_ != parallel::Mode::sharded_gradients) {
      o.sharding.whole_tensors = false;
      o.sharding.units = {};
    }
    if (!is_full) {
      o.sharding.prefetch = 0;
      o.sharding.reshard_after_forward = true;
    }
    if (!is_full || setup_.devices == 1) o.sharding.offload.reset();
    o.exchange.first_bucket_nbytes = o.exchange.bucket_nbytes =
        static_cast<std::size_t>(setup_.bucket_nbytes);
    o.checks.drift_every = setup_.drift;
    o.deadline = std::chrono::seconds(30);
    if (setup_.non_finite != 0) o.checks.non_finite_gradients = parallel::NonFinite::error;
    dp_ = std::make_unique<parallel::DataParallel<Net>>(*net_, o);
  }
  std::unique_ptr<optim::Optimizer> make_optimizer() const {
    const std::string& kind = setup_.optimizer;
    if (kind == "adamw")
      return std::make_unique<optim::AdamW>(parameters_,
                                            optim::AdamWOptions{.lr = 0.01, .eps = 1e-3});
    if (kind == "nadam")
      return std::make_unique<optim::NAdam>(parameters_,
                                            optim::NAdamOptions{.lr = 0.01, .eps = 1e-3});
    if (kind == "rmsprop")
      return std::make_unique<optim::RMSprop>(parameters_,
                                              optim::RMSpropOptions{.eps = 1e-2, .momentum = 0.5});
    if (kind == "adagrad")
      return std::make_unique<optim::Adagrad>(
          parameters_, optim::AdagradOptions{.initial_accumulator_value = 0.1});
    if (kind == "lamb")
      return std::make_unique<optim::LAMB>(parameters_,
                                           optim::LAMBOptions{.lr = 0.01, .eps = 1e-3});
    if (kind == "momentum")
      return std::make_unique<optim::SGD>(
          parameters_, optim::SGDOptions{.lr = 0.05, .momentum = 0.9, .weight_decay = 0.01});
    return std::make_unique<optim::SGD>(parameters_, optim::SGDOptions{.lr = 0.1});
  }
  void make_averages() {
    averages_.emplace(parameters_, optim::MovingAverageOptions{.decay = 0.5});
  }

  std::vector<Tensor> tensors() const {
    std::vector<Tensor> all;
    for (const auto& p : parameters_)
      all.push_back(p.tensor);
    return all;
  }
  Tensor tensor(std::int64_t parameter) const {
    return parameters_[static_cast<std::size_t>(parameter) % parameters_.size()].tensor;
  }
  static WeightedSum weigh(const std::string& kind, const Tensor& y, const Batch& b) {
    if (kind == "labels") return cross_entropy_sum(y, b.labels);
    if (kind == "weighted")
      return {sum(sum(square(y - b.target), {1}) * b.weight), sum(b.weight).detach()};
    return mse_loss_sum(y, b.target);
  }
  using Loss = std::function<WeightedSum(Net&, const Batch&)>;
  Loss loss_of() const {
    if (setup_.loss == "mean")
      return [](Net& net, const Batch& b) {  // without a weight of its own
        return WeightedSum{mse_loss(net(b.x), b.target) * static_cast<double>(b.x.size(0)), {}};
      };
    return [kind = setup_.loss](Net& net, const Batch& b) { return weigh(kind, net(b.x), b); };
  }
  Tensor call(const Tensor& x) {
    if (dp_ == nullptr) return (*net_)(x);
    Tensor y = (*dp_)(x);
    went_forward_ = true;
    return y;
  }
  Tensor loss_of_call(const Batch& b) {
    const Tensor y = call(b.x);
    const auto here = [&y](const Tensor& x) { return x.to(y.device()); };
    const WeightedSum w = weigh(setup_.loss == "mean" ? "sum" : setup_.loss,
                                y,
                                {b.x, here(b.target), here(b.weight), here(b.labels)});
    return w.sum / w.weight.to(w.sum.dtype());
  }
  /// There are buffers, which alone tell micro-batches from one batch.
  bool has_micro_batches() const { return net_->has("norm") || net_->has("count"); }
  void step_on_one(const Batch& batch, optim::Optimizer* optimizer, optim::GradScaler* scaler) {
    if (optimizer != nullptr) optimizer->zero_grad();
    const std::int64_t rows = batch.x.size(0);
    const std::int64_t parts =
        has_micro_batches() ? std::min<std::int64_t>(setup_.accumulate, rows) : 1;
    Tensor loss;
    double weight = 0;
    for (std::int64_t k = 0, begin = 0; k < parts; ++k) {
      const std::int64_t size = rows / parts + (k < rows % parts ? 1 : 0);
      const auto part = [&](const Tensor& x) { return x.narrow(0, begin, size); };
      const WeightedSum w = loss_of()(
          *net_, {part(batch.x), part(batch.target), part(batch.weight), part(batch.labels)});
      begin += size;
      loss = loss.defined() ? loss + w.sum : w.sum;
      weight += w.weight.defined() ? w.weight.item() : static_cast<double>(size);
    }
    loss = loss / weight;
    values_["loss"] = {loss.item()};
    if (!std::isfinite(loss.item())) throw std::runtime_error("the loss is not finite");
    (scaler != nullptr ? scaler->scale(loss) : loss).backward();
    if (optimizer == nullptr) return;
    if (scaler == nullptr) return optimizer->step();
    (void)scaler->step(*optimizer);
    scaler->update();
  }

  Setup setup_;
  Mode mode_;
  DType dtype_;
  std::unique_ptr<Net> net_;
  std::vector<nn::NamedTensor> parameters_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::optional<optim::ExponentialMovingAverage> averages_;
  std::optional<optim::GradScaler> scaler_;
  std::vector<std::pair<Tensor, int>> hooks_;
  std::unique_ptr<parallel::DataParallel<Net>> dp_;  // ends before the net
  GeneratorState numbers_;                           // of this side, which takes turns with others
  Values values_;
  bool went_forward_ = false, went_twice_ = false, has_hooks_ = false;
  bool has_failed_ = false, has_ended_ = false;
};

}  // namespace tandem::steps
