// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Convolutions by cuDNN's graph interface: an operation graph of one node, whose engines a
// heuristic lists, the fastest first; the first that fits becomes the plan. The older interface of
// one function per convolution is deprecated, and has not the newer engines.

#include "kernels/cudnn/conv_plan.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tandem/core/error.hpp"

namespace tandem::cuda {

void check(cudnnStatus_t status, const char* call) {
  if (status == CUDNN_STATUS_SUCCESS) [[likely]]
    return;
  check_context(current_gpu(), call);
  std::array<char, 512> why{};
  cudnnGetLastErrorString(why.data(), why.size());
  const std::string name(call);
  throw DeviceError("GPU " + std::to_string(current_gpu()),
                    name.substr(0, name.find('(')),
                    status,
                    std::string(cudnnGetErrorString(status)) + ", " + why.data());
}

}  // namespace tandem::cuda

namespace tandem::kernels::cudnn {
namespace {

using Four = std::array<std::int64_t, 4>;

/// Names of the tensors of a plan.
constexpr std::array<std::int64_t, 3> kIds = {'x', 'w', 'y'};
/// Bytes that a plan may ask for.
constexpr std::int64_t kMaxWorkspace = std::int64_t{512} << 20;

cudnnDataType_t data_type(DType type) {
  switch (type) {
    case DType::f64:
      return CUDNN_DATA_DOUBLE;
    case DType::bf16:
      return CUDNN_DATA_BFLOAT16;
    case DType::f16:
      return CUDNN_DATA_HALF;
    default:
      return CUDNN_DATA_FLOAT;
  }
}

Four strides(const Four& dims, Layout layout) {
  if (layout == Layout::channels_last)
    return {dims[1] * dims[2] * dims[3], 1, dims[3] * dims[1], dims[1]};
  return {dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1};
}

Descriptor make_tensor(const ConvProblem& p, std::int64_t id, const Four& dims) {
  Descriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, data_type(p.type));
  tensor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, dims);
  tensor.set(CUDNN_ATTR_TENSOR_STRIDES, strides(dims, p.layout));
  tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
  tensor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, p.alignment);
  tensor.finalize();
  return tensor;
}

/// Groups follow from the channels of x and of the weights. Types of 16 bits are summed in f32.
Descriptor make_convolution(const ConvProblem& p) {
  Descriptor conv(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  conv.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE,
           CUDNN_TYPE_DATA_TYPE,
           p.type == DType::f64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT);
  conv.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION);
  conv.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, std::int64_t{2});
  conv.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, p.size.dilation);
  conv.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, p.size.stride);
  conv.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, p.size.padding);
  conv.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, p.size.padding);
  conv.finalize();
  return conv;
}

/// How a pass's operation calls its attributes.
struct Names {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t x, weight, y, conv, alpha, beta;
};

constexpr Names names(Pass pass) {
  switch (pass) {
    case Pass::forward:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
    case Pass::input_grad:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    default:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
  }
}

/// The graph; none where cuDNN does not support the operation.
std::optional<Descriptor> make_graph(cudnnHandle_t handle, const ConvProblem& p) {
  const ConvSize& z = p.size;
  const Names name = names(p.pass);
  const Descriptor x = make_tensor(p, kIds[0], {z.n, z.c, z.h, z.w}),
                   weight = make_tensor(p, kIds[1], {z.o, z.c / z.groups, z.kh, z.kw}),
                   y = make_tensor(p, kIds[2], {z.n, z.o, z.oh, z.ow}), conv = make_convolution(p);
  Descriptor operation(name.type);
  operation.set(name.x, x);
  operation.set(name.weight, weight);
  operation.set(name.y, y);
  operation.set(name.conv, conv);
  if (p.type == DType::f64) {
    operation.set(name.alpha, CUDNN_TYPE_DOUBLE, 1.0);
    operation.set(name.beta, CUDNN_TYPE_DOUBLE, 0.0);
  } else {
    operation.set(name.alpha, CUDNN_TYPE_FLOAT, 1.0F);
    operation.set(name.beta, CUDNN_TYPE_FLOAT, 0.0F);
  }
  if (!operation.try_finalize()) return std::nullopt;
  Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
  if (!graph.try_finalize()) return std::nullopt;
  return graph;
}

/// The engines for `graph` with their settings, the fastest first.
std::vector<Descriptor> make_configs(const Descriptor& graph, cudnnBackendHeurMode_t mode) {
  Descriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
  if (!heuristic.try_finalize()) return {};
  const auto results = [&](std::int64_t most, void* into) {
    return heuristic.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, most, into);
  };
  std::vector<Descriptor> configs;
  std::vector<cudnnBackendDescriptor_t> natives;
  for (std::int64_t count = results(0, nullptr); count > 0; --count) {
    configs.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    natives.push_back(configs.back().native());
  }
  if (configs.empty()) return configs;
  const std::int64_t filled = results(static_cast<std::int64_t>(natives.size()), natives.data());
  configs.erase(configs.begin() + filled, configs.end());
  return configs;
}

/// Keeps to the precision that is asked for, and gives the same bits in every run.
bool is_acceptable(const Descriptor& config, const ConvProblem& p) {
  const Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t native = engine.native();
  config.get(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &native);
  std::array<cudnnBackendNumericalNote_t, CUDNN_NUMERICAL_NOTE_TYPE_COUNT> notes{};
  const std::int64_t count = engine.get(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                        CUDNN_TYPE_NUMERICAL_NOTE,
                                        static_cast<std::int64_t>(notes.size()),
                                        notes.data());
  const bool exact = p.type == DType::f32 && p.precision == MatmulPrecision::highest;
  return std::none_of(
      notes.begin(), notes.begin() + count, [exact](cudnnBackendNumericalNote_t note) {
        switch (note) {
          case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
          case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
          case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6:
          case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13:  // these two lose digits
            return true;
          case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
          case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
            return exact;
          default:
            return false;
        }
      });
}

}  // namespace

ConvProblem::Key ConvProblem::key() const noexcept {
  return {static_cast<std::int64_t>(pass),
          static_cast<std::int64_t>(type),
          static_cast<std::int64_t>(layout),
          static_cast<std::int64_t>(precision),
          alignment,
          size.n,
          size.c,
          size.h,
          size.w,
          size.o,
          size.kh,
          size.kw,
          size.groups,
          size.stride[0],
          size.stride[1],
          size.padding[0],
          size.padding[1],
          size.dilation[0],
          size.dilation[1],
          size.oh,
          size.ow};
}

std::optional<ConvPlan> ConvPlan::make(cudnnHandle_t handle, const ConvProblem& problem) {
  const std::optional<Descriptor> graph = make_graph(handle, problem);
  if (!graph.has_value()) return std::nullopt;
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    for (const Descriptor& config : make_configs(*graph, mode)) {
      if (!is_acceptable(config, problem)) continue;
      Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle);
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
      if (!plan.try_finalize()) continue;
      std::int64_t workspace = 0;
      plan.get(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &workspace);
      if (workspace > kMaxWorkspace) continue;
      return ConvPlan(std::move(plan), static_cast<std::size_t>(workspace));
    }
  }
  return std::nullopt;
}

void ConvPlan::run(cudnnHandle_t handle, void* x, void* weight, void* y, void* workspace) const {
  const std::array<void*, 3> pointers{x, weight, y};
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, kIds);
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 3, pointers.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
  pack.finalize();
  TANDEM_CUDA(cudnnBackendExecute(handle, plan_.native(), pack.native()));
}

}  // namespace tandem::kernels::cudnn
