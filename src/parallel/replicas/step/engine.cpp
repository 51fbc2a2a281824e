// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/step/engine.hpp"

#include <utility>

#include "tandem/core/check.hpp"
#include "tandem/world/world.hpp"

#include "parallel/options/check_options.hpp"
#include "parallel/replicas/call/one_process.hpp"
#include "parallel/replicas/call/several_processes.hpp"

namespace tandem::parallel {
namespace {

Replicas make_replicas(const ReplicaSources& sources, const std::vector<Device>& devices) {
  Replicas replicas;
  for (std::size_t d = 0; d < devices.size(); ++d)
    replicas.push_back(
        std::make_unique<DeviceReplica>(static_cast<int>(d), devices[d], sources[d]));
  return replicas;
}

std::unique_ptr<const Processes> make_processes(const std::vector<Device>& devices,
                                                const DataParallelOptions& o) {
  if (o.world == nullptr || o.world->size() == 1) return std::make_unique<OneProcess>();
  return std::make_unique<SeveralProcesses>(devices, o);
}

/// Replicas of one process exchange by its own memory.
comm::Backend backend_here(comm::Backend backend) {
  const bool among_processes = backend == comm::Backend::gloo || backend == comm::Backend::mpi;
  return among_processes ? comm::Backend::local : backend;
}

}  // namespace

Engine::Engine(const ReplicaSources& sources,
               std::vector<Device> d,
               const DataParallelOptions& o,
               const ModeRules& rules)
    : options(o),
      devices(checked(std::move(d), o)),
      groups(devices, {.timeout = o.deadline, .backend = backend_here(o.backend)}),
      processes(make_processes(devices, o)),
      runner(devices, {.deadline = o.deadline, .dim = o.dim, .processes_here = processes->here()}),
      planner(devices, chunk_policy(o)),
      wrapped(
          o.init_on.value_or(devices.front()), sources, o.init_on ? "init_on" : "the first device"),
      move(*sources.front(), devices.front()),
      replicas(make_replicas(sources, devices)),
      parameters(replicas, rules, {.exchange = o.exchange, .sharding = o.sharding}),
      // Processes may evaluate other batches each, and leaves run a forward several times.
      buffers(replicas, rules, o.buffers, !processes->are_several() && o.bitwise_leaves == 0),
      gradients(
          replicas,
          parameters,
          rules,
          runner,
          [this](Phase phase, const Job& job) { return run(calls.open_everywhere(), phase, job); }),
      calls(*this),
      non_finite(replicas,
                 gradients,
                 {o.checks.non_finite_loss, o.checks.non_finite_gradients, o.bitwise_leaves > 0}),
      drift(o.checks.drift_every) {
  // A backend that these devices cannot have is refused now, too.
  if (backend_here(o.backend) != comm::Backend::local)
    groups.get(std::vector<RowRange>(devices.size()), ReplicaGroups::Members::all);
  wrapped.note_training(*parameters.arena());
  wrapped.claim(*buffers.arena());
  for (const auto& replica : replicas) {
    wrapped.claim(*replica->parameters());
    wrapped.claim(*replica->buffers);
  }
  processes->share(*sources.front(), {parameters.arena(), buffers.arena()});
  move.complete();
}

std::shared_ptr<Call> Engine::run(const std::shared_ptr<Call>& call, Phase phase, const Job& job) {
  runner.run(call, phase, [call, job](Call::Part& part) { job(*call, part); });
  return call;
}

void Engine::check_alone(const char* what, const char* remedy) const {
  TANDEM_CHECK(!processes->are_several(),
               "DataParallel: ",
               what,
               " for one process, and ",
               options.world->size(),
               " train together; ",
               remedy);
}

}  // namespace tandem::parallel
