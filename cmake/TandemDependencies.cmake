# Everything comes from Debian's packages or the CUDA toolkit (scripts/setup installs what is missing).
find_package(Threads REQUIRED)
find_package(OpenBLASPthread REQUIRED)
find_package(TBB REQUIRED)
find_package(ZLIB REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(fmt REQUIRED)
find_path(TANDEM_RANDOM123_INCLUDE NAMES Random123/philox.h REQUIRED)
find_path(TANDEM_XXHASH_INCLUDE NAMES xxhash.h REQUIRED)
mark_as_advanced(TANDEM_RANDOM123_INCLUDE TANDEM_XXHASH_INCLUDE)

set(TANDEM_HAS_CUDA false)
if(TANDEM_CUDA)
  find_package(CUDAToolkit 12.8 REQUIRED)
  set(TANDEM_HAS_CUDA true)
  if(NOT TANDEM_CUDA_STAND_IN)  # the tests' stand-in needs the toolkit's headers alone
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES 80 90)
    endif()
    enable_language(CUDA)
  endif()
endif()
set(TANDEM_HAS_ONEDNN false)
if(TANDEM_ONEDNN)
  find_package(dnnl REQUIRED)
  set(TANDEM_HAS_ONEDNN true)
endif()
set(TANDEM_HAS_OPENMP false)
if(TANDEM_OPENMP)
  find_package(OpenMP REQUIRED COMPONENTS CXX)
  set(TANDEM_HAS_OPENMP true)
endif()

# Thrust: the toolkit's CCCL or Debian's libthrust-dev, never both in one build.
if(TANDEM_CUDA)
  find_path(TANDEM_CCCL_INCLUDE NAMES thrust/version.h PATHS ${CUDAToolkit_INCLUDE_DIRS}
            PATH_SUFFIXES cccl NO_DEFAULT_PATH REQUIRED)
  mark_as_advanced(TANDEM_CCCL_INCLUDE)
  set(TANDEM_THRUST "${TANDEM_CCCL_INCLUDE}")
else()
  find_path(TANDEM_THRUST_INCLUDE NAMES thrust/version.h PATHS /usr/include NO_DEFAULT_PATH)
  mark_as_advanced(TANDEM_THRUST_INCLUDE)
  set(TANDEM_THRUST "${TANDEM_THRUST_INCLUDE}")
  if(NOT TANDEM_THRUST_INCLUDE)
    message(FATAL_ERROR "tandem needs Thrust (Debian: libthrust-dev); run scripts/setup")
  endif()
endif()

# All of them PRIVATE: no public header shows one. A static library hands its libraries on to the
# program that links it, as $<LINK_ONLY:...>; cmake/tandemConfig.cmake.in finds those again. Of what is
# headers alone only the folder is taken, so that it ends with our own build.
function(tandem_link_dependencies target)
  target_include_directories(${target} SYSTEM PRIVATE
    "${TANDEM_RANDOM123_INCLUDE}" "${TANDEM_THRUST}" "${TANDEM_XXHASH_INCLUDE}"
    $<TARGET_PROPERTY:nlohmann_json::nlohmann_json,INTERFACE_INCLUDE_DIRECTORIES>)
  target_link_libraries(${target} PRIVATE
    Threads::Threads OpenBLASPthread::OpenBLASPthread TBB::tbb ZLIB::ZLIB)
  if(TANDEM_CUDA AND NOT TANDEM_CUDA_STAND_IN)
    target_link_libraries(${target} PRIVATE CUDA::cudart CUDA::cublasLt)
  elseif(TANDEM_CUDA)
    target_include_directories(${target} SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  endif()
  if(TANDEM_ONEDNN)
    target_link_libraries(${target} PRIVATE DNNL::dnnl)
  endif()
  if(TANDEM_OPENMP)
    target_link_libraries(${target} PRIVATE OpenMP::OpenMP_CXX)
  endif()
endfunction()
