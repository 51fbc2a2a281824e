# Finds NCCL in the folders of CUDA's toolkit, or where NCCL_ROOT says, or in the system's. Call
# find_package(CUDAToolkit) before. Defines NCCL::nccl.
include(FindPackageHandleStandardArgs)

find_path(NCCL_INCLUDE_DIR NAMES nccl.h HINTS ${NCCL_ROOT} ${CUDAToolkit_INCLUDE_DIRS}
          PATH_SUFFIXES include)
find_library(NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS ${NCCL_ROOT} ${CUDAToolkit_LIBRARY_DIR} ${CUDAToolkit_LIBRARY_ROOT}
             PATH_SUFFIXES lib lib64)
mark_as_advanced(NCCL_INCLUDE_DIR NCCL_LIBRARY)

include("${CMAKE_CURRENT_LIST_DIR}/TandemHeaderVersion.cmake")
tandem_header_version(NCCL_VERSION "${NCCL_INCLUDE_DIR}/nccl.h"
                      NCCL_MAJOR NCCL_MINOR NCCL_PATCH)

find_package_handle_standard_args(NCCL REQUIRED_VARS NCCL_LIBRARY NCCL_INCLUDE_DIR VERSION_VAR NCCL_VERSION)

if(NCCL_FOUND AND NOT TARGET NCCL::nccl)
  add_library(NCCL::nccl UNKNOWN IMPORTED)
  set_target_properties(NCCL::nccl PROPERTIES
    IMPORTED_LOCATION "${NCCL_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${NCCL_INCLUDE_DIR}")
endif()
