# SPDX-License-Identifier: Apache-2.0
# Installs the build into a scratch prefix, as a whole and by components, and runs the programs from there: they must
# find their helper and their examples relative to themselves, and need no display.
# Usage: cmake -DBUILD=… -DPREFIX=… -DHAS_DOT=ON|OFF -DHAS_DESIGNER=ON|OFF -DHAS_EXECUTOR=ON|OFF -P install_test.cmake
include(${CMAKE_CURRENT_LIST_DIR}/programs_test.cmake)

file(REMOVE_RECURSE ${PREFIX})
file(MAKE_DIRECTORY ${PREFIX})
run(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${PREFIX}/all)
check_programs(${PREFIX}/all ${PREFIX}/home)
check_files(
  ${PREFIX}/all
  share/coppice/schema/fabric.schema.json
  share/doc/coppice/LICENSE
  share/doc/coppice/README.md
  share/doc/coppice/resources/doc/command-line.md
  share/doc/coppice/resources/doc/glossary.md
  share/doc/coppice/resources/help/bound.md
  share/doc/coppice/resources/screenshots/analyse.png
  share/doc/coppice/copyright
  share/doc/coppice/LICENSES/Apache-2.0.txt)

# The command line alone: nothing of the designer comes along.
run(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${PREFIX}/cli --component cli)
run(COMMAND ${PREFIX}/cli/bin/coppice-cli optimum preset:dgx-a100,boxes=2 --json EXPECT "\"algbw\":\"1040/3\"")
foreach(file bin/coppice share/applications share/icons)
  if(EXISTS ${PREFIX}/cli/${file})
    message(FATAL_ERROR "component cli installs ${file}")
  endif()
endforeach()
file(REMOVE_RECURSE ${PREFIX})
