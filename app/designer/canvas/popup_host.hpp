// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPointF>
#include <QPointer>
#include <QString>
#include <QWidget>
#include <functional>
#include <string>

#include "designer/document/edits.hpp"

namespace coppice::designer {

/// Opens small editors on a canvas, one at a time.
class PopupHost {
public:
  /// @param canvas parent of the editors @param toView maps scene units to its pixels
  PopupHost(QWidget& canvas, std::function<QPointF(const QPointF&)> toView)
      : m_canvas(canvas), m_toView(std::move(toView)) {}

  [[nodiscard]] bool isOpen() const { return m_popup != nullptr; }
  void close() { delete m_popup; }

  /// An editor for a bandwidth at the place; calls done with text that can be read, at Enter.
  void askBandwidth(const QPointF& scenePoint, const QString& initial, std::function<void(const std::string&)> done);
  /// An editor for a name at the place; `fault` says what is wrong with a name (empty: nothing). Enter, or a click
  /// elsewhere, takes it; Esc leaves the name as it was.
  void askName(const QPointF& scenePoint, const QString& initial, std::function<QString(const QString&)> fault,
               std::function<void(const QString&)> done);
  /// The chooser of a pattern between two sets of nodes.
  void askPattern(const QPointF& scenePoint, std::function<void(edits::LinkPattern)> done);
  /// An editor for a text of several lines.
  void askText(const QPointF& scenePoint, const QString& initial, std::function<void(const QString&)> done);

private:
  void open(QWidget* popup, const QPointF& scenePoint);

  QWidget& m_canvas;
  std::function<QPointF(const QPointF&)> m_toView;
  QPointer<QWidget> m_popup;
};

}  // namespace coppice::designer
