// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/module/gradient_reads.hpp"

namespace tandem::parallel {

class GradientReads::Source final : public autograd::GradientSource {
 public:
  Source(std::weak_ptr<const void> owner, GradientReads& reads)
      : owner_(std::move(owner)), reads_(reads) {}
  void complete() override {
    const auto alive = owner_.lock();  // and so are the reads
    if (alive != nullptr && !reads_.lies_) reads_.complete_();
  }

 private:
  std::weak_ptr<const void> owner_;
  GradientReads& reads_;
};

void GradientReads::begin(const std::shared_ptr<const void>& owner) {
  source_ = std::make_shared<Source>(owner, *this);
}

void GradientReads::attach(const optim::Arena& arena) const {
  if (source_ == nullptr) return;
  for (const std::size_t p : arena.layout().place_indices()) {
    const Tensor x = arena.tensor(p);
    // Frozen ones too, if they lie beside others that train.
    if (arena.gradient(p).defined()) autograd::set_gradient_source(x, source_);
  }
}

}  // namespace tandem::parallel
