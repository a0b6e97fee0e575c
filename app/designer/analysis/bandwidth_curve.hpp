// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QWidget>

#include "base/units.hpp"
#include "designer/analysis/what_if.hpp"

namespace coppice::designer {

/// Draws the bound over the bandwidth of the chosen links: break points as dots, today as a dashed line, the change
/// that is tried as a full one.
class BandwidthCurve : public QWidget {
  Q_OBJECT

public:
  explicit BandwidthCurve(QWidget* parent = nullptr);

  void setWhatIf(WhatIf whatIf);
  [[nodiscard]] const WhatIf& whatIf() const { return m_whatIf; }
  void setChange(const Bandwidth& change);

  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override;

Q_SIGNALS:
  /// Clicked or dragged there: 0 = the curve's begin, 1 = its end.
  void dragged(double share);

protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;

private:
  [[nodiscard]] QRectF plot() const;
  void drag(const QMouseEvent* event);
  struct Scale;
  void paintCurve(QPainter& painter, const Scale& scale) const;
  void paintTexts(QPainter& painter, const Scale& scale) const;
  void paintChange(QPainter& painter, const Scale& scale) const;
  void paintBound(QPainter& painter, const Scale& scale) const;

  WhatIf m_whatIf;
  Bandwidth m_change;
};

}  // namespace coppice::designer
