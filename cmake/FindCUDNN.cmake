# Finds cuDNN in the folders of CUDA's toolkit, where its archives are unpacked, or where CUDNN_ROOT
# says, or in the system's. Call find_package(CUDAToolkit) before. Defines CUDNN::cudnn.
#
# Installed beside tandemConfig.cmake, which uses it to find the library again.
find_path(CUDNN_INCLUDE_DIR NAMES cudnn_version.h HINTS ${CUDNN_ROOT} ${CUDAToolkit_INCLUDE_DIRS}
          PATH_SUFFIXES include)
find_library(CUDNN_LIBRARY NAMES cudnn libcudnn.so.9 HINTS ${CUDNN_ROOT} ${CUDAToolkit_LIBRARY_DIR} ${CUDAToolkit_LIBRARY_ROOT}
             PATH_SUFFIXES lib lib64)
mark_as_advanced(CUDNN_INCLUDE_DIR CUDNN_LIBRARY)

if(CUDNN_INCLUDE_DIR)
  set(CUDNN_VERSION)
  file(STRINGS "${CUDNN_INCLUDE_DIR}/cudnn_version.h" _cudnn_lines
       REGEX "^#define CUDNN_(MAJOR|MINOR|PATCHLEVEL) +[0-9]+")
  foreach(_cudnn_line IN LISTS _cudnn_lines)
    string(REGEX MATCH "[0-9]+$" _cudnn_part "${_cudnn_line}")
    list(APPEND CUDNN_VERSION "${_cudnn_part}")
  endforeach()
  list(JOIN CUDNN_VERSION "." CUDNN_VERSION)
  unset(_cudnn_lines)
  unset(_cudnn_part)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CUDNN REQUIRED_VARS CUDNN_LIBRARY CUDNN_INCLUDE_DIR VERSION_VAR CUDNN_VERSION)

if(CUDNN_FOUND AND NOT TARGET CUDNN::cudnn)
  add_library(CUDNN::cudnn UNKNOWN IMPORTED)
  set_target_properties(CUDNN::cudnn PROPERTIES
    IMPORTED_LOCATION "${CUDNN_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${CUDNN_INCLUDE_DIR}")
endif()
