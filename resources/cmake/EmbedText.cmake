# SPDX-License-Identifier: Apache-2.0
# Writes a source that defines the text of a file, see coppice_embedded_text() in CoppiceTargets.cmake:
#   cmake -DINPUT=… -DOUTPUT=… -DNAME=namespace::kName -P EmbedText.cmake

cmake_minimum_required(VERSION 3.25)
if(NOT NAME MATCHES "^(.+)::(k[A-Za-z]+)$")
  message(FATAL_ERROR "${NAME} is not a name in a namespace")
endif()
set(namespace ${CMAKE_MATCH_1})
set(name ${CMAKE_MATCH_2})
# Single characters: compilers limit how long a string literal may be.
file(READ "${INPUT}" bytes HEX)
string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${bytes}")
string(REPLACE "'\\x0a'," "'\\x0a',\n" bytes "${bytes}")
file(
  WRITE "${OUTPUT}"
  "#include <string_view>
namespace ${namespace} {
static constexpr char ${name}Bytes[] = {
${bytes}};
extern constexpr std::string_view ${name}(${name}Bytes, sizeof ${name}Bytes);
}
")
