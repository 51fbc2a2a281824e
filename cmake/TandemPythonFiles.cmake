# tandem_python_files(FOLDER): the files of the Python package in FOLDER, as links to their sources, so that an edit needs no
# build. The stand-in's are linked to where it is built.
function(tandem_python_files folder)
  set(source "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../python/tandem")
  cmake_path(NORMAL_PATH source)
  file(MAKE_DIRECTORY "${folder}")
  file(GLOB files CONFIGURE_DEPENDS "${source}/*.py*")
  foreach(file IN LISTS files ITEMS "${source}/gpu_memory" "${source}/runner")
    cmake_path(GET file FILENAME name)
    file(CREATE_LINK "${file}" "${folder}/${name}" SYMBOLIC)
  endforeach()
endfunction()
