# Finds cuDNN in the folders of CUDA's toolkit, where its archives are unpacked, or where CUDNN_ROOT
# says, or in the system's. Call find_package(CUDAToolkit) before. Defines CUDNN::cudnn.
#
# Installed beside tandemConfig.cmake, which uses it to find the library again.
find_path(CUDNN_INCLUDE_DIR NAMES cudnn_version.h HINTS ${CUDNN_ROOT} ${CUDAToolkit_INCLUDE_DIRS}
          PATH_SUFFIXES include)
find_library(CUDNN_LIBRARY NAMES cudnn libcudnn.so.9 HINTS ${CUDNN_ROOT} ${CUDAToolkit_LIBRARY_DIR} ${CUDAToolkit_LIBRARY_ROOT}
             PATH_SUFFIXES lib lib64)
mark_as_advanced(CUDNN_INCLUDE_DIR CUDNN_LIBRARY)

include("${CMAKE_CURRENT_LIST_DIR}/TandemHeaderVersion.cmake")
tandem_header_version(CUDNN_VERSION "${CUDNN_INCLUDE_DIR}/cudnn_version.h"
                      CUDNN_MAJOR CUDNN_MINOR CUDNN_PATCHLEVEL)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CUDNN REQUIRED_VARS CUDNN_LIBRARY CUDNN_INCLUDE_DIR VERSION_VAR CUDNN_VERSION)

if(CUDNN_FOUND AND NOT TARGET CUDNN::cudnn)
  add_library(CUDNN::cudnn UNKNOWN IMPORTED)
  set_target_properties(CUDNN::cudnn PROPERTIES
    IMPORTED_LOCATION "${CUDNN_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${CUDNN_INCLUDE_DIR}")
endif()
