# SPDX-License-Identifier: Apache-2.0
# What install_test.cmake and package_test.cmake share: are these programs, below a prefix, all there and alive?
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

function(check_files prefix)
  foreach(file IN LISTS ARGN)
    if(NOT EXISTS ${prefix}/${file})
      message(FATAL_ERROR "${prefix}/${file} is missing")
    endif()
  endforeach()
endfunction()

# Every long option that the help names is in the man page, as roff writes it.
function(check_man_page program page)
  execute_process(COMMAND ${program} --help OUTPUT_VARIABLE help)
  file(READ ${page} text)
  string(REGEX MATCHALL "--[a-z][a-z-]+" options "${help}")
  list(REMOVE_DUPLICATES options)
  list(REMOVE_ITEM options --help)
  foreach(option IN LISTS options)
    string(REPLACE "-" "\\-" written "${option}")
    string(FIND "${text}" "${written}" found)
    if(found EQUAL -1)
      message(FATAL_ERROR "${page} does not tell of ${option}")
    endif()
  endforeach()
endfunction()

# One name for all that a desktop knows of the designer.
function(check_desktop_files prefix)
  set(id alt.coppice.designer)
  check_files(
    ${prefix}
    share/applications/${id}.desktop
    share/mime/packages/${id}.xml
    share/metainfo/${id}.metainfo.xml
    share/icons/hicolor/scalable/apps/${id}.svg
    share/icons/hicolor/48x48/apps/${id}.png
    share/icons/hicolor/scalable/mimetypes/${id}.fabric.svg
    share/icons/hicolor/scalable/mimetypes/${id}.schedule.svg)
  file(READ ${prefix}/share/applications/${id}.desktop desktop)
  file(READ ${prefix}/share/metainfo/${id}.metainfo.xml metainfo)
  file(READ ${prefix}/share/mime/packages/${id}.xml mime)
  foreach(
    pattern
    "<id>${id}</id>"
    ">${id}.desktop</launchable>"
    "<icon type=\"stock\">${id}</icon>")
    if(NOT metainfo MATCHES "${pattern}")
      message(FATAL_ERROR "the AppStream data lack ${pattern}")
    endif()
  endforeach()
  if(NOT desktop MATCHES "Icon=${id}\n")
    message(FATAL_ERROR "the desktop file has another icon than ${id}")
  endif()
  foreach(kind fabric schedule)
    set(type application/x.coppice.${kind}+json)
    foreach(text IN ITEMS "${desktop}" "${metainfo}" "${mime}")
      string(FIND "${text}" "${type}" place)
      if(place EQUAL -1)
        message(FATAL_ERROR "${type} is missing in ${text}")
      endif()
    endforeach()
    string(FIND "${mime}" "<icon name=\"${id}.${kind}\"/>" place)
    if(place EQUAL -1)
      message(FATAL_ERROR "${type} has no icon")
    endif()
  endforeach()
  find_program(APPSTREAMCLI appstreamcli)
  if(APPSTREAMCLI)
    run(COMMAND ${APPSTREAMCLI} validate --no-net ${prefix}/share/metainfo/${id}.metainfo.xml)
  endif()
  find_program(DESKTOP_FILE_VALIDATE desktop-file-validate)
  if(DESKTOP_FILE_VALIDATE)
    run(COMMAND ${DESKTOP_FILE_VALIDATE} ${prefix}/share/applications/${id}.desktop)
  endif()
endfunction()

function(check_programs prefix home)
  set(example ${prefix}/share/coppice/examples/2x-dgx-a100.fabric.json)
  run(COMMAND ${prefix}/bin/coppice-cli optimum ${example} --json EXPECT "\"algbw\":\"1040/3\"")
  check_man_page(${prefix}/bin/coppice-cli ${prefix}/share/man/man1/coppice-cli.1)
  if(HAS_DOT)
    run(COMMAND ${prefix}/bin/coppice-cli convert ${example} -o ${PREFIX}/example.dot)
    run(COMMAND ${prefix}/bin/coppice-cli optimum ${PREFIX}/example.dot --json EXPECT "\"algbw\":\"1040/3\"")
    check_files(${prefix} share/man/man1/coppice-dot.1)
  endif()
  if(HAS_EXECUTOR)
    run(COMMAND ${prefix}/bin/coppice-exec --help EXPECT "coppice-exec")
    check_man_page(${prefix}/bin/coppice-exec ${prefix}/share/man/man1/coppice-exec.1)
  endif()
  if(PYTHON)
    run(COMMAND ${CMAKE_COMMAND} -E env PYTHONPATH=${prefix}/lib/python3/dist-packages ${PYTHON} -B -c
                "print(__import__('coppice').optimum(__import__('coppice').load('${example}')).algbw)" EXPECT "^1040/3")
  endif()
  if(NOT HAS_DESIGNER)
    return()
  endif()
  check_desktop_files(${prefix})
  check_man_page(${prefix}/bin/coppice ${prefix}/share/man/man1/coppice.1)
  set(alone ${CMAKE_COMMAND} -E env --unset=DISPLAY --unset=WAYLAND_DISPLAY --unset=QT_QPA_PLATFORM HOME=${home})
  run(COMMAND ${alone} ${prefix}/bin/coppice --version EXPECT "^coppice [0-9.]+\n$")
  run(COMMAND ${alone} ${prefix}/bin/coppice --export-image ${PREFIX}/cut.svg --mode analyse ${example})
  file(READ ${PREFIX}/cut.svg picture)
  if(NOT picture MATCHES "GPUs · 325 GB/s")
    message(FATAL_ERROR "the picture does not show the cut")
  endif()
  # The window stays until it is closed: nothing ends it but the time limit.
  execute_process(
    COMMAND ${alone} XDG_CONFIG_HOME=${home}/config XDG_DATA_HOME=${home}/data XDG_RUNTIME_DIR=${home}
            QT_QPA_PLATFORM=offscreen ${prefix}/bin/coppice ${example}
    TIMEOUT 5
    OUTPUT_VARIABLE out
    ERROR_VARIABLE err
    RESULT_VARIABLE code)
  if(NOT code MATCHES "timeout")
    message(FATAL_ERROR "the window went away by itself: ${code}\n${out}\n${err}")
  endif()
endfunction()
