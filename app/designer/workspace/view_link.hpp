// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <optional>

#include "base/collective.hpp"
#include "base/result.hpp"
#include "designer/workspace/mode.hpp"

namespace coppice::designer {

class EditorContext;
class Workspace;

/// A file and how it is looked at: "a.fabric.json#mode=analyse&collective=allreduce&cut=2&zoom=75".
struct ViewLink {
  QString path;
  std::optional<Mode> mode = {};
  std::optional<Collective> collective = {};
  int cut = 0;   ///< of the tied cuts, from 1; 0 = the first
  int zoom = 0;  ///< percent; 0 = all of the drawing

  /// A text with a view behind "#"; nullopt: it is a file's name as it is.
  /// Errors: badUsage for a key or value that is not known.
  [[nodiscard]] static Result<std::optional<ViewLink>> of(const QString& text);
  [[nodiscard]] static ViewLink to(EditorContext& context, Mode mode);
  [[nodiscard]] QString text() const;
  /// The cut follows as soon as the bound is known.
  void show(EditorContext& context, Workspace& workspace) const;
};

}  // namespace coppice::designer
