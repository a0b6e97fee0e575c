// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>

#include "designer/document/fabric_file.hpp"
#include "designer/window/main_window.hpp"
#include "presets/presets.hpp"

namespace coppice::designer::test {

/// A preset with its default parameters in a new tab; nullptr where there is none of that name.
inline EditorContext* openPreset(MainWindow& window, const QString& name) {
  const presets::Preset* preset = presets::find(name.toStdString());
  const auto made = presets::make(name.toStdString(), {});
  return preset != nullptr && made
             ? window.workspace().adopt(readArranged(*made).model, {}, QString::fromStdString(preset->title))
             : nullptr;
}

}  // namespace coppice::designer::test
