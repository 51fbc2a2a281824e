# Extension modules of the Python package, whose libtandem.so they load from beside them.
#
#   tandem_python_module(<target> <folder> <sources>...)    in <folder> of ${python_package}, where the package is built
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
if(NOT nanobind_ROOT)  # of the interpreter's environment, or where scripts/setup --python puts it
  execute_process(COMMAND "${Python_EXECUTABLE}" -m nanobind --cmake_dir
                  OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT nanobind_ROOT)
    include(TandemDataFolder)
    tandem_data_folder(data)
    set(nanobind_ROOT "${data}/python/nanobind/cmake")
  endif()
endif()
find_package(nanobind 3 CONFIG REQUIRED)
set(TANDEM_NANOBIND_DIR "${NB_DIR}" CACHE INTERNAL "Folder of nanobind's package")

function(tandem_python_module name folder)
  set(symbols "")
  if(TANDEM_BUILD_TESTS)
    set(symbols NOSTRIP)  # tests name functions; a wheel has no symbols
  endif()
  nanobind_add_module(${name} NB_STATIC ${symbols} ${ARGN})
  tandem_compile_options(${name})
  cmake_path(SET place NORMALIZE "${python_package}/${folder}")
  file(RELATIVE_PATH to_lib "${place}" "${python_package}/lib")
  set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${place}" CXX_EXTENSIONS OFF
                                           BUILD_RPATH "$ORIGIN/${to_lib}" INSTALL_RPATH "$ORIGIN/${to_lib}")
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_include_directories(${name} SYSTEM PRIVATE "${NB_DIR}/include")  # its names hide each other
  target_link_libraries(${name} PRIVATE tandem_shared)
endfunction()
