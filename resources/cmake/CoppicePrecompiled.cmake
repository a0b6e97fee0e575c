# SPDX-License-Identifier: Apache-2.0
# Headers of the standard library and of Qt that most sources include, compiled once for all targets of a kind. No header
# of the project is among them, so an edit recompiles what includes it and no more. A source still includes what it uses:
# the presets of the sanitizers compile without precompiled headers.

option(COPPICE_PRECOMPILE "Compile the headers of the standard library and of Qt once" ON)

set(COPPICE_STANDARD_HEADERS
    <algorithm>
    <array>
    <cmath>
    <cstdint>
    <cstring>
    <functional>
    <limits>
    <map>
    <memory>
    <numeric>
    <optional>
    <set>
    <span>
    <sstream>
    <stop_token>
    <string>
    <string_view>
    <unordered_map>
    <unordered_set>
    <variant>
    <vector>)

set(COPPICE_DESIGNER_HEADERS
    <chrono>
    <future>
    <mutex>
    <QtCore/QAbstractItemModel>
    <QtCore/QDateTime>
    <QtCore/QElapsedTimer>
    <QtCore/QFutureWatcher>
    <QtCore/QHash>
    <QtCore/QLocale>
    <QtCore/QMap>
    <QtCore/QObject>
    <QtCore/QPointer>
    <QtCore/QPromise>
    <QtCore/QRegularExpression>
    <QtCore/QSet>
    <QtCore/QString>
    <QtCore/QStringList>
    <QtCore/QThreadPool>
    <QtCore/QTimer>
    <QtCore/QUrl>
    <QtCore/QVariant>
    <QtGui/QAction>
    <QtGui/QFontMetrics>
    <QtGui/QIcon>
    <QtGui/QImage>
    <QtGui/QMouseEvent>
    <QtGui/QPainter>
    <QtGui/QPainterPath>
    <QtGui/QTextDocument>
    <QtGui/QUndoStack>
    <QtWidgets/QBoxLayout>
    <QtWidgets/QLabel>
    <QtWidgets/QPushButton>
    <QtWidgets/QStyle>
    <QtWidgets/QWidget>)

# coppice_precompiled_kind(KIND [DEFINITIONS ...] [HEADERS ...] [INCLUDES Qt modules] [LINKS ...]): the target that compiles the headers of
# a kind. A precompiled header serves only targets that agree with it on each definition that it mentions, so INCLUDES
# takes the folders of Qt modules without their definitions.
function(coppice_precompiled_kind kind)
  cmake_parse_arguments(ARG "" "" "DEFINITIONS;HEADERS;INCLUDES;LINKS" ${ARGN})
  set(source ${PROJECT_BINARY_DIR}/precompiled/${kind}.cpp)
  if(NOT EXISTS ${source})
    file(WRITE ${source} "// The target of the precompiled headers needs a source.\n")
  endif()
  add_library(coppice_precompiled_${kind} OBJECT ${source})
  foreach(module ${ARG_INCLUDES})
    target_include_directories(coppice_precompiled_${kind} SYSTEM
                               PRIVATE $<TARGET_PROPERTY:Qt6::${module},INTERFACE_INCLUDE_DIRECTORIES>)
  endforeach()
  target_compile_definitions(coppice_precompiled_${kind} PRIVATE ${ARG_DEFINITIONS})
  target_link_libraries(coppice_precompiled_${kind} PRIVATE coppice_cxx20 coppice_warnings ${ARG_LINKS})
  set_target_properties(coppice_precompiled_${kind} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  target_precompile_headers(coppice_precompiled_${kind} PRIVATE ${COPPICE_STANDARD_HEADERS} ${ARG_HEADERS})
endfunction()

# coppice_precompiled(TARGET KIND): TARGET uses the headers of KIND.
#   standard        libraries without Qt
#   designer        parts of the designer
#   test            tests without a window
#   designer_test   tests of widgets
function(coppice_precompiled target kind)
  if(NOT COPPICE_PRECOMPILE)
    return()
  endif()
  if(NOT TARGET coppice_precompiled_${kind})
    if(kind STREQUAL "standard")
      coppice_precompiled_kind(standard)
    elseif(kind STREQUAL "designer")
      coppice_precompiled_kind(
        designer
        DEFINITIONS $<$<NOT:$<CONFIG:Debug>>:QT_NO_DEBUG> QT_NO_KEYWORDS
        HEADERS ${COPPICE_DESIGNER_HEADERS}
        INCLUDES Core Gui Widgets)
    elseif(kind STREQUAL "test")
      coppice_precompiled_kind(test HEADERS <QtTest/QTest> LINKS Qt6::Test)
    elseif(kind STREQUAL "designer_test")
      coppice_precompiled_kind(
        designer_test
        DEFINITIONS QT_NO_KEYWORDS
        HEADERS ${COPPICE_DESIGNER_HEADERS} <QtTest/QTest>
        LINKS Qt6::Widgets Qt6::Test)
    else()
      message(FATAL_ERROR "coppice_precompiled: no kind ${kind}")
    endif()
  endif()
  target_precompile_headers(${target} REUSE_FROM coppice_precompiled_${kind})
endfunction()
