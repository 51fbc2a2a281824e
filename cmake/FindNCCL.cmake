# Finds NCCL in the folders of CUDA's toolkit, or where NCCL_ROOT says, or in the system's. Call
# find_package(CUDAToolkit) before. Defines NCCL::nccl.
include(FindPackageHandleStandardArgs)

find_path(NCCL_INCLUDE_DIR NAMES nccl.h HINTS ${NCCL_ROOT} ${CUDAToolkit_INCLUDE_DIRS}
          PATH_SUFFIXES include)
find_library(NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS ${NCCL_ROOT} ${CUDAToolkit_LIBRARY_DIR} ${CUDAToolkit_LIBRARY_ROOT}
             PATH_SUFFIXES lib lib64)
mark_as_advanced(NCCL_INCLUDE_DIR NCCL_LIBRARY)

if(NCCL_INCLUDE_DIR)
  set(NCCL_VERSION)
  file(STRINGS "${NCCL_INCLUDE_DIR}/nccl.h" _nccl_lines REGEX "^#define NCCL_(MAJOR|MINOR|PATCH) +[0-9]+")
  foreach(_nccl_line IN LISTS _nccl_lines)
    string(REGEX MATCH "[0-9]+$" _nccl_part "${_nccl_line}")
    list(APPEND NCCL_VERSION "${_nccl_part}")
  endforeach()
  list(JOIN NCCL_VERSION "." NCCL_VERSION)
  unset(_nccl_lines)
  unset(_nccl_part)
endif()

find_package_handle_standard_args(NCCL REQUIRED_VARS NCCL_LIBRARY NCCL_INCLUDE_DIR VERSION_VAR NCCL_VERSION)

if(NCCL_FOUND AND NOT TARGET NCCL::nccl)
  add_library(NCCL::nccl UNKNOWN IMPORTED)
  set_target_properties(NCCL::nccl PROPERTIES
    IMPORTED_LOCATION "${NCCL_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${NCCL_INCLUDE_DIR}")
endif()
