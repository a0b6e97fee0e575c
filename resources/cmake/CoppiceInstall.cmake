# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` copies, by component: cli, designer, executor, dot, python, examples, doc. Programs find each other
# relative to their own place, never by absolute path (so the folder of helpers is fixed); the build tree has the same
# shape. The target `programs` builds just these.
set(COPPICE_RELEASE_DATE 2026-11-21)
set(packaging ${PROJECT_SOURCE_DIR}/resources/packaging)
add_custom_target(programs)

# coppice_program(TARGET COMPONENT FOLDER): installs a program into a folder, bin or libexec/coppice, with its man page.
function(coppice_program target component folder)
  if(NOT TARGET ${target})
    return()
  endif()
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${folder})
  add_dependencies(programs ${target})
  set(destination ${folder})
  if(folder STREQUAL bin)
    set(destination ${CMAKE_INSTALL_BINDIR})
  endif()
  install(TARGETS ${target} RUNTIME DESTINATION ${destination} COMPONENT ${component})
  set(template ${packaging}/man/${target}.1.in)
  if(CMAKE_CROSSCOMPILING OR NOT EXISTS ${template})
    return()
  endif()
  # From what the program itself prints with --help.
  set(page ${PROJECT_BINARY_DIR}/share/man/man1/${target}.1)
  set(script ${PROJECT_SOURCE_DIR}/resources/cmake/ManPage.cmake)
  add_custom_command(
    OUTPUT ${page}
    COMMAND
      ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:${target}> -DVERSION=${PROJECT_VERSION} -DDATE=${COPPICE_RELEASE_DATE}
      -DTEMPLATE=${template} -DOUTPUT=${page} -P ${script}
    DEPENDS ${target} ${template} ${script}
    VERBATIM)
  add_custom_target(man-${target} ALL DEPENDS ${page})
  add_dependencies(programs man-${target})
  install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT ${component})
endfunction()
coppice_program(coppice-cli cli bin)
coppice_program(coppice designer bin)
coppice_program(coppice-exec executor bin)
coppice_program(coppice-dot dot libexec/coppice)
# Beside the program in the build, and here once installed: the two places where it looks for them.
foreach(plugin coppice-exec-mpi coppice-exec-cuda coppice-exec-cuda-mpi)
  if(TARGET ${plugin})
    add_dependencies(programs ${plugin})
    install(TARGETS ${plugin} LIBRARY DESTINATION lib/coppice COMPONENT executor)
  endif()
endforeach()

if(TARGET coppice_python)
  # Where Debian's interpreter looks for the packages that Debian packages bring.
  add_dependencies(programs coppice_python)
  install(TARGETS coppice_python LIBRARY DESTINATION lib/python3/dist-packages/coppice COMPONENT python)
  install(
    DIRECTORY ${PROJECT_SOURCE_DIR}/app/python/coppice
    DESTINATION lib/python3/dist-packages
    COMPONENT python
    FILES_MATCHING
    PATTERN "*.py"
    PATTERN "*.pyi"
    PATTERN "py.typed")
endif()

if(TARGET coppice)
  # The name of the designer for desktops. No domain is claimed by it: "alt" stands outside the DNS (RFC 9476).
  set(id alt.coppice.designer)
  install(FILES ${packaging}/${id}.desktop DESTINATION ${CMAKE_INSTALL_DATADIR}/applications COMPONENT designer)
  configure_file(${packaging}/${id}.metainfo.xml.in ${PROJECT_BINARY_DIR}/share/metainfo/${id}.metainfo.xml @ONLY)
  install(
    FILES ${PROJECT_BINARY_DIR}/share/metainfo/${id}.metainfo.xml
    DESTINATION ${CMAKE_INSTALL_DATADIR}/metainfo
    COMPONENT designer)
  install(
    FILES ${packaging}/${id}.mime.xml
    DESTINATION ${CMAKE_INSTALL_DATADIR}/mime/packages
    RENAME ${id}.xml
    COMPONENT designer)
  set(icons ${CMAKE_INSTALL_DATADIR}/icons/hicolor)
  install(
    FILES ${packaging}/icons/coppice.svg
    DESTINATION ${icons}/scalable/apps
    RENAME ${id}.svg
    COMPONENT designer)
  foreach(kind fabric schedule)
    install(
      FILES ${packaging}/icons/coppice-${kind}.svg
      DESTINATION ${icons}/scalable/mimetypes
      RENAME ${id}.${kind}.svg
      COMPONENT designer)
  endforeach()
  foreach(size 16 24 32 48 64 128 256)
    install(
      FILES ${packaging}/icons/coppice-${size}.png
      DESTINATION ${icons}/${size}x${size}/apps
      RENAME ${id}.png
      COMPONENT designer)
  endforeach()
endif()

install(
  DIRECTORY ${PROJECT_SOURCE_DIR}/examples/
  DESTINATION ${CMAKE_INSTALL_DATADIR}/coppice/examples
  COMPONENT examples
  FILES_MATCHING
  PATTERN "*.fabric.json")
install(
  DIRECTORY ${PROJECT_SOURCE_DIR}/resources/schema
  DESTINATION ${CMAKE_INSTALL_DATADIR}/coppice
  COMPONENT cli)
install(
  FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/LICENSE ${packaging}/copyright
  DESTINATION ${CMAKE_INSTALL_DOCDIR}
  COMPONENT doc)
# At the place that the links of README.md name.
install(
  DIRECTORY ${PROJECT_SOURCE_DIR}/resources/doc ${PROJECT_SOURCE_DIR}/resources/help
            ${PROJECT_SOURCE_DIR}/resources/screenshots
  DESTINATION ${CMAKE_INSTALL_DOCDIR}/resources
  COMPONENT doc
  FILES_MATCHING
  PATTERN "*.md"
  PATTERN "*.png")
install(
  DIRECTORY ${PROJECT_SOURCE_DIR}/LICENSES
  DESTINATION ${CMAKE_INSTALL_DOCDIR}
  COMPONENT doc)
