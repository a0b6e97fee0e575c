# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` copies, by component: cli, designer, dot, examples, doc. Programs find each other relative to their own
# place, never by absolute path (so the helper's folder is fixed); the build tree has the same shape. The target `programs` builds just these.
add_custom_target(programs)
if(TARGET coppice-cli)
  set_target_properties(coppice-cli PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  add_dependencies(programs coppice-cli)
  install(TARGETS coppice-cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT cli)
endif()
if(TARGET coppice)
  add_dependencies(programs coppice)
  install(TARGETS coppice RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT designer)
endif()
if(TARGET coppice-dot)
  set_target_properties(coppice-dot PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/libexec/coppice)
  add_dependencies(programs coppice-dot)
  install(TARGETS coppice-dot RUNTIME DESTINATION libexec/coppice COMPONENT dot)
endif()
install(
  DIRECTORY ${PROJECT_SOURCE_DIR}/examples/
  DESTINATION ${CMAKE_INSTALL_DATADIR}/coppice/examples
  COMPONENT examples
  FILES_MATCHING
  PATTERN "*.fabric.json")
install(
  DIRECTORY ${PROJECT_SOURCE_DIR}/resources/
  DESTINATION ${CMAKE_INSTALL_DATADIR}/coppice
  COMPONENT cli
  FILES_MATCHING
  PATTERN "*.schema.json"
  PATTERN "cmake" EXCLUDE
  PATTERN "scripts" EXCLUDE
  PATTERN "packaging" EXCLUDE)
install(
  FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/LICENSE
  DESTINATION ${CMAKE_INSTALL_DOCDIR}
  COMPONENT doc)
install(
  DIRECTORY ${PROJECT_SOURCE_DIR}/LICENSES
  DESTINATION ${CMAKE_INSTALL_DOCDIR}
  COMPONENT doc)
