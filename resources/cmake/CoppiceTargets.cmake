# SPDX-License-Identifier: Apache-2.0
# Helpers that give every target the same flags.

find_program(COPPICE_CCACHE ccache)
if(COPPICE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # ccache serves sources with precompiled headers only with these two.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${COPPICE_CCACHE})
endif()
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

include(CoppicePrecompiled)

# Warnings, sanitizers and coverage.
add_library(coppice_warnings INTERFACE)
target_compile_options(
  coppice_warnings
  INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor
            $<$<BOOL:${COPPICE_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 warns wrongly on std::string concatenation (GCC bug 105651). In a precompiled header it does not see that the
  # string is the library's, and warns of two other overflows too.
  target_compile_options(coppice_warnings INTERFACE -Wno-restrict
                                                    "$<$<BOOL:${COPPICE_PRECOMPILE}>:-Wno-stringop-overflow;-Wno-array-bounds>")
endif()
if(COPPICE_SANITIZE)
  target_compile_options(coppice_warnings INTERFACE -fsanitize=${COPPICE_SANITIZE} -fno-omit-frame-pointer
                                                    -fno-sanitize-recover=all)
  target_link_options(coppice_warnings INTERFACE -fsanitize=${COPPICE_SANITIZE})
  if(COPPICE_SANITIZE MATCHES "thread" AND EXISTS /proc/sys/vm/mmap_rnd_bits)
    file(STRINGS /proc/sys/vm/mmap_rnd_bits COPPICE_MMAP_RND_BITS LIMIT_COUNT 1)
    if(COPPICE_MMAP_RND_BITS GREATER 28)
      message(WARNING "vm.mmap_rnd_bits is ${COPPICE_MMAP_RND_BITS}: programs with GCC 12's thread sanitizer may end with "
                      "'unexpected memory mapping'. Run 'sysctl vm.mmap_rnd_bits=28' as root before the tests.")
    endif()
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC 12 warns wrongly about std::variant and std::optional in instrumented code (GCC bug 105562).
    target_compile_options(coppice_warnings INTERFACE -Wno-maybe-uninitialized)
  endif()
endif()
if(COPPICE_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "COPPICE_FUZZ needs clang and its libFuzzer: cmake --preset fuzz")
  endif()
  # Coverage feedback in every library; only the fuzz programs link libFuzzer's main.
  target_compile_options(coppice_warnings INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(coppice_warnings INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(COPPICE_COVERAGE)
  target_compile_options(coppice_warnings INTERFACE --coverage -O0)
  target_link_options(coppice_warnings INTERFACE --coverage)
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC collects garbage each time its memory has doubled, from 128 MB on. Less often takes 5 to 10 % off its time.
  target_compile_options(coppice_warnings INTERFACE "SHELL:--param ggc-min-heapsize=524288")
endif()

# Apart from the warnings, because the LEMON module must stay at C++17.
add_library(coppice_cxx20 INTERFACE)
target_compile_features(coppice_cxx20 INTERFACE cxx_std_20)

# coppice/version.hpp, from project(VERSION).
configure_file(${PROJECT_SOURCE_DIR}/resources/cmake/version.hpp.in
               ${PROJECT_BINARY_DIR}/generated/coppice/version.hpp @ONLY)
add_library(coppice_version INTERFACE)
target_include_directories(coppice_version INTERFACE ${PROJECT_BINARY_DIR}/generated)

# coppice/test_paths.hpp: the folders of the files that tests read.
configure_file(${PROJECT_SOURCE_DIR}/resources/cmake/test_paths.hpp.in
               ${PROJECT_BINARY_DIR}/test_paths/coppice/test_paths.hpp @ONLY)
add_library(coppice_test_paths INTERFACE)
target_include_directories(coppice_test_paths INTERFACE ${PROJECT_BINARY_DIR}/test_paths)

# coppice_quick_to_compile(TARGET): for code that waits for people, files or other programs, where -O3 only costs time.
function(coppice_quick_to_compile target)
  target_compile_options(${target} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)
endfunction()

# coppice_unity(TARGET): compiles the sources of TARGET in groups, because most of the time of a small source goes into
# headers and templates that its neighbours need too. Names in anonymous namespaces must therefore differ in a target.
function(coppice_unity target)
  if(COPPICE_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
endfunction()

# coppice_alone(SOURCE ...): sources of this folder that coppice_unity leaves apart. Their private names are right, and
# other sources have them too.
function(coppice_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# coppice_library(NAME SOURCES ... [LINKS ...] [PRIVATE_LINKS ...] [QUICK_TO_COMPILE] [HOT]): static library coppice_NAME.
# The sources of HOT libraries compile one by one: GCC inlines less in a group, which made the live bound 1 to 3 % slower.
# They also inline functions with external linkage, which position-independent code does not by default, as a library
# loaded before could replace them: 5 to 20 % of an edit of the live bound. Elsewhere no difference was measured.
function(coppice_library name)
  cmake_parse_arguments(ARG "QUICK_TO_COMPILE;HOT" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  add_library(coppice_${name} STATIC ${ARG_SOURCES})
  target_include_directories(coppice_${name} PUBLIC ${PROJECT_SOURCE_DIR}/core)
  target_link_libraries(
    coppice_${name}
    PUBLIC coppice_cxx20 ${ARG_LINKS}
    PRIVATE coppice_warnings ${ARG_PRIVATE_LINKS})
  set_target_properties(coppice_${name} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  coppice_precompiled(coppice_${name} standard)
  if(ARG_HOT)
    target_compile_options(coppice_${name} PRIVATE -fno-semantic-interposition)
  else()
    coppice_unity(coppice_${name})
  endif()
  if(ARG_QUICK_TO_COMPILE)
    coppice_quick_to_compile(coppice_${name})
  endif()
endfunction()

# coppice_embedded_text(TARGET FILE NAME): FILE becomes part of TARGET, as `extern const std::string_view NAME`.
function(coppice_embedded_text target file name)
  cmake_path(GET file STEM stem)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${stem}_text.cpp)
  set(script ${PROJECT_SOURCE_DIR}/resources/cmake/EmbedText.cmake)
  add_custom_command(
    OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DINPUT=${file} -DOUTPUT=${source} -DNAME=${name} -P ${script}
    DEPENDS ${file} ${script}
    VERBATIM)
  target_sources(${target} PRIVATE ${source})
endfunction()

# coppice_without_test_folders(): takes the absolute paths of QFINDTESTDATA, which no test uses, off the command lines of
# tests. With them a compiler cache serves no second checkout.
function(coppice_without_test_folders)
  get_target_property(definitions Qt6::Test INTERFACE_COMPILE_DEFINITIONS)
  list(FILTER definitions EXCLUDE REGEX "QT_TESTCASE_(BUILD|SOURCE)DIR")
  set_target_properties(Qt6::Test PROPERTIES INTERFACE_COMPILE_DEFINITIONS "${definitions}")
endfunction()

# coppice_moc(TARGET SOURCE ...): what AUTOMOC does for sources that include their own .moc, by one call of moc each.
# AUTOMOC starts CMake for each of the 160 test programs and compiles one more source in each.
function(coppice_moc target)
  set(definitions $<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>)
  foreach(source ${ARGN})
    cmake_path(GET source STEM name)
    file(STRINGS ${source} includes REGEX "#include \"${name}\\.moc\"")
    if(includes)
      set(moc ${CMAKE_CURRENT_BINARY_DIR}/${target}_moc/${name}.moc)
      add_custom_command(
        OUTPUT ${moc}
        COMMAND Qt6::moc "$<$<BOOL:${definitions}>:-D$<JOIN:${definitions},;-D>>" -o ${moc}
                ${CMAKE_CURRENT_SOURCE_DIR}/${source}
        DEPENDS ${source}
        COMMAND_EXPAND_LISTS VERBATIM)
      target_sources(${target} PRIVATE ${moc})
      target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/${target}_moc)
    endif()
  endforeach()
endfunction()

# coppice_test(NAME SOURCES ... [LINKS ...] [TIMEOUT seconds] [NO_PRECOMPILED] [LONG]): Qt Test program tst_NAME, run by
# CTest. LONG tests take about a minute: CTest starts them first, so that the last one does not run alone.
function(coppice_test name)
  cmake_parse_arguments(ARG "NO_PRECOMPILED;LONG" "TIMEOUT" "SOURCES;LINKS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 600)
  endif()
  add_executable(tst_${name} ${ARG_SOURCES})
  set_target_properties(tst_${name} PROPERTIES CXX_EXTENSIONS OFF)
  target_link_libraries(tst_${name} PRIVATE coppice_cxx20 coppice_warnings coppice_test_paths Qt6::Test ${ARG_LINKS})
  target_include_directories(tst_${name} PRIVATE ${PROJECT_SOURCE_DIR}/core ${PROJECT_SOURCE_DIR}/tests)
  coppice_moc(tst_${name} ${ARG_SOURCES})
  coppice_quick_to_compile(tst_${name})
  if(NOT ARG_NO_PRECOMPILED)
    if(ARG_LINKS MATCHES "coppice_designer_")
      coppice_precompiled(tst_${name} designer_test)
    else()
      coppice_precompiled(tst_${name} test)
    endif()
  endif()
  add_test(NAME ${name} COMMAND tst_${name})
  if(COPPICE_SANITIZE)
    # Sanitized programs take several times as long; what is not ours is listed, with the reason, in these files. Child
    # processes, those of mpirun too, inherit the variables.
    math(EXPR ARG_TIMEOUT "4 * ${ARG_TIMEOUT}")
    set_property(
      TEST ${name}
      PROPERTY ENVIRONMENT_MODIFICATION "TSAN_OPTIONS=set:suppressions=${PROJECT_SOURCE_DIR}/tests/support/tsan.supp"
               "QTEST_FUNCTION_TIMEOUT=set:1200000"
               "LSAN_OPTIONS=set:suppressions=${PROJECT_SOURCE_DIR}/tests/support/lsan.supp:print_suppressions=0")
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS core)
  if(ARG_LONG)
    set_tests_properties(${name} PROPERTIES COST 60)
  endif()
endfunction()
