# SPDX-License-Identifier: Apache-2.0
# Installs the build into a scratch prefix and runs the program from there: it must find its helper and its examples
# relative to itself. Usage: cmake -DBUILD=… -DPREFIX=… -DHAS_DOT=ON|OFF -P install_test.cmake
function(run)
  cmake_parse_arguments(ARG "" "EXPECT" "COMMAND" ${ARGN})
  execute_process(
    COMMAND ${ARG_COMMAND}
    WORKING_DIRECTORY ${PREFIX}
    OUTPUT_VARIABLE out
    ERROR_VARIABLE err
    RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${ARG_COMMAND}: exit ${code}\n${out}\n${err}")
  endif()
  if(ARG_EXPECT AND NOT out MATCHES "${ARG_EXPECT}")
    message(FATAL_ERROR "${ARG_COMMAND}: expected ${ARG_EXPECT} in\n${out}")
  endif()
endfunction()

file(REMOVE_RECURSE ${PREFIX})
file(MAKE_DIRECTORY ${PREFIX})
run(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${PREFIX})

set(example ${PREFIX}/share/coppice/examples/2x-dgx-a100.fabric.json)
run(COMMAND ${PREFIX}/bin/coppice-cli optimum ${example} --json EXPECT "\"algbw\":\"1040/3\"")
if(HAS_DOT)
  run(COMMAND ${PREFIX}/bin/coppice-cli convert ${example} -o ${PREFIX}/example.dot)
  run(COMMAND ${PREFIX}/bin/coppice-cli optimum ${PREFIX}/example.dot --json EXPECT "\"algbw\":\"1040/3\"")
endif()
foreach(file share/coppice/schema/fabric.schema.json share/doc/coppice/LICENSE share/doc/coppice/README.md
             share/doc/coppice/LICENSES/Apache-2.0.txt)
  if(NOT EXISTS ${PREFIX}/${file})
    message(FATAL_ERROR "${file} was not installed")
  endif()
endforeach()
file(REMOVE_RECURSE ${PREFIX})
