# Everything comes from Debian's packages or the CUDA toolkit (scripts/setup installs what is missing).
find_package(Threads REQUIRED)

# Debian's alternatives give the threaded OpenBLAS under the plain name, so the serial one is taken
# by its folder: one serial GEMM per device thread (docs/adr/0001).
find_library(TANDEM_OPENBLAS_SERIAL NAMES openblas
             PATH_SUFFIXES openblas-serial x86_64-linux-gnu/openblas-serial aarch64-linux-gnu/openblas-serial
             PATHS /usr/lib NO_DEFAULT_PATH)
find_path(TANDEM_OPENBLAS_SERIAL_INCLUDE NAMES cblas.h
          PATH_SUFFIXES openblas-serial x86_64-linux-gnu/openblas-serial aarch64-linux-gnu/openblas-serial
          PATHS /usr/include NO_DEFAULT_PATH)
if(NOT TANDEM_OPENBLAS_SERIAL OR NOT TANDEM_OPENBLAS_SERIAL_INCLUDE)
  message(FATAL_ERROR "tandem needs the serial OpenBLAS (Debian: libopenblas-serial-dev); run scripts/setup")
endif()
add_library(tandem_openblas INTERFACE)
target_include_directories(tandem_openblas SYSTEM INTERFACE "${TANDEM_OPENBLAS_SERIAL_INCLUDE}")
target_link_libraries(tandem_openblas INTERFACE "${TANDEM_OPENBLAS_SERIAL}")

find_package(TBB REQUIRED)
find_package(ZLIB REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(fmt REQUIRED)
find_path(TANDEM_RANDOM123_INCLUDE NAMES Random123/philox.h REQUIRED)

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
find_path(TANDEM_THRUST_INCLUDE NAMES thrust/version.h PATHS /usr/include NO_DEFAULT_PATH)
if(NOT TANDEM_THRUST_INCLUDE)
  message(FATAL_ERROR "tandem needs Thrust (Debian: libthrust-dev); run scripts/setup")
endif()
