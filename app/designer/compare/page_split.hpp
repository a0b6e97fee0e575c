// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPointer>
#include <QSplitter>
#include <QWidget>

#include "designer/workspace/editor_context.hpp"

namespace coppice::designer {

/// The page of a document in two halves: a line above its canvas, and another widget beside it. Ends with this object.
class PageSplit {
public:
  /// Takes both widgets.
  PageSplit(EditorContext& context, QWidget* above, QWidget* beside);
  PageSplit(const PageSplit&) = delete;
  PageSplit& operator=(const PageSplit&) = delete;
  ~PageSplit();

private:
  QPointer<EditorContext> m_context;
  QPointer<QSplitter> m_halves;
};

}  // namespace coppice::designer
