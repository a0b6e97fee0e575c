# SPDX-License-Identifier: Apache-2.0
# `cpack` in the build folder makes one Debian package of all that is built: coppice_VERSION_ARCH.deb. Which packages it
# needs is read from the programs.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME coppice)
set(CPACK_PACKAGE_VENDOR Coppice)
set(CPACK_PACKAGE_CONTACT "The Coppice authors <coppice@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "exact optimal collective communication on GPU clusters")
set(CPACK_PACKAGE_DESCRIPTION
    "Coppice finds the fastest possible collective communication on a GPU cluster, exactly, and turns it into a program
that MSCCL runtimes run. The designer, coppice, is a window in which a fabric is drawn or imported, with the optimum
and the bottleneck cut always in view; coppice-cli does the same on the command line.")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_RESOURCE_FILE_README ${PROJECT_SOURCE_DIR}/README.md)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Loaded or started when the programs run.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "qt6-wayland, openssh-client, openmpi-bin, coinor-cbc, python3")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# Whatever the umask.
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
                                                WORLD_EXECUTE)
include(CPack)
