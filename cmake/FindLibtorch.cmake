# Finds PyTorch's C++ libraries in the folder of its Python package: TANDEM_TORCH_DIR, or where
# scripts/setup --torch puts it, or what python3 imports. Defines Libtorch::libtorch.
#
# PyTorch's own TorchConfig.cmake enables the CUDA language, and fails where nvcc is missing.
# Installed beside tandemConfig.cmake, which uses it to find the libraries again.
if(NOT TANDEM_TORCH_DIR)
  include("${CMAKE_CURRENT_LIST_DIR}/TandemDataFolder.cmake")
  tandem_data_folder(_libtorch_data)
  set(TANDEM_TORCH_DIR "${_libtorch_data}/torch/torch")
  if(NOT EXISTS "${TANDEM_TORCH_DIR}")
    execute_process(COMMAND python3 -c "import torch; print(torch.__path__[0], end='')"
                    OUTPUT_VARIABLE TANDEM_TORCH_DIR ERROR_QUIET)
  endif()
  unset(_libtorch_data)
endif()

find_path(LIBTORCH_INCLUDE_DIR NAMES ATen/ATen.h PATHS "${TANDEM_TORCH_DIR}/include" NO_DEFAULT_PATH)
find_library(LIBTORCH_LIBRARY NAMES torch_cpu PATHS "${TANDEM_TORCH_DIR}/lib" NO_DEFAULT_PATH)
find_library(LIBTORCH_C10_LIBRARY NAMES c10 PATHS "${TANDEM_TORCH_DIR}/lib" NO_DEFAULT_PATH)
mark_as_advanced(LIBTORCH_INCLUDE_DIR LIBTORCH_LIBRARY LIBTORCH_C10_LIBRARY)

include("${CMAKE_CURRENT_LIST_DIR}/TandemHeaderVersion.cmake")
set(_libtorch_version "${LIBTORCH_INCLUDE_DIR}/torch/headeronly/version.h")
if(NOT EXISTS "${_libtorch_version}")  # before PyTorch 2.10
  set(_libtorch_version "${LIBTORCH_INCLUDE_DIR}/torch/csrc/api/include/torch/version.h")
endif()
tandem_header_version(LIBTORCH_VERSION "${_libtorch_version}"
                      TORCH_VERSION_MAJOR TORCH_VERSION_MINOR TORCH_VERSION_PATCH)

set(_libtorch_includes "${LIBTORCH_INCLUDE_DIR}" "${LIBTORCH_INCLUDE_DIR}/torch/csrc/api/include")
set(_libtorch_cuda)
if(LIBTORCH_VERSION VERSION_LESS 2.9 AND EXISTS "${LIBTORCH_INCLUDE_DIR}/c10/cuda/impl/cuda_cmake_macros.h")
  # Before 2.9 the headers of PyTorch's allocator of GPUs include CUDA's, which its package brings.
  find_path(LIBTORCH_CUDA_INCLUDE_DIR NAMES cuda_runtime_api.h NO_DEFAULT_PATH
            PATHS "${LIBTORCH_INCLUDE_DIR}/../../nvidia/cuda_runtime/include" /usr/local/cuda/include)
  mark_as_advanced(LIBTORCH_CUDA_INCLUDE_DIR)
  list(APPEND _libtorch_includes "${LIBTORCH_CUDA_INCLUDE_DIR}")
  set(_libtorch_cuda LIBTORCH_CUDA_INCLUDE_DIR)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libtorch
  REQUIRED_VARS LIBTORCH_LIBRARY LIBTORCH_C10_LIBRARY LIBTORCH_INCLUDE_DIR ${_libtorch_cuda} VERSION_VAR LIBTORCH_VERSION
  REASON_FAILURE_MESSAGE "scripts/setup --torch puts PyTorch in place, and -DTANDEM_TORCH_DIR names the folder of another one's package")

if(Libtorch_FOUND AND NOT TARGET Libtorch::libtorch)
  add_library(Libtorch::c10 SHARED IMPORTED)
  set_target_properties(Libtorch::c10 PROPERTIES IMPORTED_LOCATION "${LIBTORCH_C10_LIBRARY}")
  add_library(Libtorch::libtorch SHARED IMPORTED)
  # PyTorch and OpenBLAS both export BLAS's names (sgemm_), and the library that a program names first answers
  # for both. PyTorch calls them and tandem does not, so PyTorch's library comes before all others.
  set_target_properties(Libtorch::libtorch PROPERTIES
    IMPORTED_LOCATION "${LIBTORCH_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${_libtorch_includes}"
    INTERFACE_LINK_OPTIONS "LINKER:--push-state,--no-as-needed,${LIBTORCH_LIBRARY},--pop-state"
    INTERFACE_LINK_LIBRARIES Libtorch::c10)
endif()
