// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "explain/sentences.hpp"

#include <algorithm>
#include <array>

#include "tandem/core/check.hpp"

namespace tandem::parallel {
namespace {

using tandem::detail::concat;

/// A row of the table: '@' stands for the devices, or for the links and their bytes.
struct Words {
  StepKey key;
  const char* title;
  const char* sentence;
};

constexpr auto kReplicas = Actor::replicas;

const std::array kTable{
    // Traffic.
    Words{{Phase::replicate, kReplicas, Category::parameter}, "Replicate", "the parameters go @"},
    Words{{Phase::replicate, kReplicas, Category::buffer}, "Replicate", "the buffers go @"},
    Words{{Phase::scatter, kReplicas, Category::input},
          "Scatter",
          "each device gets its rows of the batch, @"},
    Words{{Phase::forward, kReplicas, Category::activation},
          "Exchange",
          "forward adds up what it needs from the whole batch, such as batch norm's statistics, @"},
    Words{{Phase::gather, kReplicas, Category::output},
          "Gather",
          "the outputs of the replicas are joined, @"},
    Words{{Phase::loss, kReplicas, Category::activation},
          "Weigh",
          "the weights of the replicas' losses are added up to the weight of the batch, @"},
    Words{{Phase::backward, kReplicas, Category::output_gradient},
          "Scatter",
          "each replica gets the gradients of its outputs, @"},
    Words{{Phase::scatter, kReplicas, Category::output_gradient},
          "Scatter",
          "each replica gets the gradients of its outputs, @"},
    Words{{Phase::backward, kReplicas, Category::activation},
          "Exchange",
          "backward adds up what it needs from the whole batch, such as batch norm's sums, @"},
    Words{{Phase::backward, kReplicas, Category::gradient},
          "Gather",
          "the gradients of the inputs go @"},
    Words{{Phase::reduce, kReplicas, Category::gradient},
          "Reduce",
          "the gradients of the replicas are added up, @"},
    Words{{Phase::update, kReplicas, Category::buffer},
          "Merge",
          "the buffers that the replicas wrote are merged into the module's buffers, @"},
    Words{{Phase::update, kReplicas, Category::parameter},
          "Replicate",
          "the updated parameters go @"},
    // Work.
    Words{{Phase::replicate, kReplicas}, "Replicate", "parameters and buffers are made ready on @"},
    Words{{Phase::scatter, kReplicas}, "Scatter", "the batch is cut on @"},
    Words{{Phase::forward, kReplicas}, "Forward", "each of @ runs the module on its own rows"},
    Words{{Phase::forward, Actor::caller}, "Forward", "the module runs on @, outside of replicas"},
    Words{{Phase::loss, kReplicas},
          "Loss",
          "each of @ computes the loss of its own rows: a sum and a weight"},
    Words{{Phase::loss, Actor::caller}, "Loss", "the loss is computed from the outputs, on @"},
    Words{{Phase::backward, Actor::caller},
          "Backward",
          "the loss on @ gives the gradients of the outputs"},
    Words{{Phase::backward, kReplicas}, "Backward", "each of @ goes back through its own tape"},
    Words{{Phase::reduce, kReplicas}, "Reduce", "the gradients are completed on @"},
    Words{{Phase::none, Actor::vote},
          "Vote",
          "@ have reached this point: a failure before it would have changed nothing"},
    Words{{Phase::update, kReplicas}, "Update", "the optimizer changes the parameters on @"},
    Words{{Phase::none, Actor::caller},
          "Other",
          "work of the caller on @, outside all phases of a step"},
};

std::set<Device> devices_of(const ExplainedStep& step) {
  std::set<Device> devices;
  for (const DeviceShare& d : step.devices)
    devices.insert(d.device);
  return devices;
}

std::string amount(const std::vector<LinkShare>& links, bool one_source) {
  const auto [least, most] = std::ranges::minmax(links, {}, &LinkShare::nbytes);
  if (links.size() == 1) return format_nbytes(least.nbytes);
  const std::string sizes =
      least.nbytes == most.nbytes
          ? format_nbytes(least.nbytes)
          : concat(format_nbytes(least.nbytes), " to ", format_nbytes(most.nbytes));
  return sizes + (one_source ? " to each" : " from each");
}

}  // namespace

std::string list(const std::set<Device>& devices) {
  std::vector<std::string> parts;
  for (auto first = devices.begin(); first != devices.end();) {
    auto last = first;
    int length = 1;
    for (auto next = std::next(first);
         next != devices.end() && next->type == first->type && next->index == first->index + length;
         ++next, ++length)
      last = next;
    if (length > 2) {
      parts.push_back(concat(*first, "..", last->index));
    } else {
      parts.push_back(to_string(*first));
      if (length == 2) parts.push_back(to_string(*last));
    }
    first = std::next(last);
  }
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i)
    text += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  return text;
}

std::string describe_links(const std::vector<LinkShare>& links) {
  std::set<Device> from, to;
  for (const LinkShare& l : links) {
    from.insert(l.link.source);
    to.insert(l.link.destination);
  }
  const bool one_source = from.size() == 1;
  if (one_source || to.size() == 1)
    return concat("from ", list(from), " to ", list(to), ", ", amount(links, one_source));
  from.merge(to);
  std::size_t sum = 0;
  for (const LinkShare& l : links)
    sum += l.nbytes;
  return concat("among ", list(from), ", ", format_nbytes(sum), " in all");
}

std::string carried_by(const std::set<std::string>& carriers) {
  std::string text;
  for (const std::string& carrier : carriers)
    text += (text.empty() ? ", by " : " and ") + carrier;
  return text;
}

void put_into_words(ExplainedStep& step, const StepKey& key) {
  const std::string place =
      key.traffic ? describe_links(step.links) + carried_by(step.carriers) : list(devices_of(step));
  const auto words = std::ranges::find(kTable, key, &Words::key);
  if (words == kTable.end()) {
    step.title = "Other";
    step.sentence =
        key.traffic
            ? concat("bytes of category ", *key.traffic, " go ", place, ", in phase ", key.phase)
            : concat("work on ", place, ", in phase ", key.phase);
    return;
  }
  step.title = words->title;
  step.sentence = words->sentence;
  step.sentence.replace(step.sentence.find('@'), 1, place);
}

}  // namespace tandem::parallel
