# cpack -G DEB makes a package of Debian of what is installed: headers, libraries, program, plug-ins and data. For one that
# runs on other machines too, configure with -D CMAKE_INSTALL_PREFIX=/usr -D TANDEM_MARCH=x86-64-v2
# -D TANDEM_KERNELS=x86-64-v2,x86-64-v3,x86-64-v4.
set(CPACK_PACKAGE_NAME tandem-dev)
set(CPACK_PACKAGE_CONTACT "The tandem authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR DEB)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)  # of the program and the plug-ins
# What programs link that are built with it.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libopenblas-pthread-dev, zlib1g-dev, libfmt-dev")
if(TANDEM_ONEDNN AND TANDEM_ONEDNN_LIBRARY)
  string(APPEND CPACK_DEBIAN_PACKAGE_DEPENDS ", libdnnl-dev, ocl-icd-opencl-dev")
endif()
if(TANDEM_HOST_THREADS STREQUAL "tbb")
  string(APPEND CPACK_DEBIAN_PACKAGE_DEPENDS ", libtbb-dev")
endif()
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "g++, cmake")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "dataset-fashion-mnist")
include(CPack)
