# SPDX-License-Identifier: Apache-2.0
# Makes the Debian package, unpacks it, and runs the programs from there.
# Usage: cmake -DBUILD=… -DCONFIG=… -DSCRATCH=… -DHAS_DOT=… -DHAS_DESIGNER=… -DHAS_EXECUTOR=… -P package_test.cmake
include(${CMAKE_CURRENT_LIST_DIR}/programs_test.cmake)
set(PREFIX ${SCRATCH})

file(REMOVE_RECURSE ${SCRATCH})
file(MAKE_DIRECTORY ${SCRATCH})
run(COMMAND ${CMAKE_CPACK_COMMAND} --config ${CONFIG} -B ${SCRATCH}/packages -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip)
file(GLOB packages ${SCRATCH}/packages/*.deb)
list(LENGTH packages count)
if(NOT count EQUAL 1)
  message(FATAL_ERROR "expected one package, found: ${packages}")
endif()
run(COMMAND dpkg-deb --field ${packages} Depends EXPECT "libc6")
if(HAS_DESIGNER)
  run(COMMAND dpkg-deb --field ${packages} Depends EXPECT "libqt6widgets6")
endif()
run(COMMAND dpkg-deb --contents ${packages} EXPECT "drwxr-xr-x root/root .*\\./usr/bin/")
run(COMMAND dpkg-deb --extract ${packages} ${SCRATCH}/root)
check_programs(${SCRATCH}/root/usr ${SCRATCH}/home)
check_files(${SCRATCH}/root/usr share/doc/coppice/copyright)
file(REMOVE_RECURSE ${SCRATCH})
