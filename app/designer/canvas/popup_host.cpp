// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/canvas/popup_host.hpp"

#include <algorithm>
#include <utility>

#include "designer/canvas/popups.hpp"

namespace coppice::designer {

void PopupHost::open(QWidget* popup, const QPointF& scenePoint) {
  close();
  m_popup = popup;
  popup->adjustSize();
  static constexpr int kMargin = 4;
  constexpr int kBelow = 12;
  const QPointF place = m_toView(scenePoint);
  const auto within = [](int wanted, int size, int room) {
    return std::clamp(wanted, kMargin, std::max(kMargin, room - size - kMargin));
  };
  popup->move(within(qRound(place.x()) - popup->width() / 2, popup->width(), m_canvas.width()),
              within(qRound(place.y()) + kBelow, popup->height(), m_canvas.height()));
  popup->show();
  popup->setFocus();
}

void PopupHost::askBandwidth(const QPointF& scenePoint, const QString& initial,
                             std::function<void(const std::string&)> done) {
  open(new BandwidthPopup(initial, std::move(done), &m_canvas), scenePoint);
}

void PopupHost::askName(const QPointF& scenePoint, const QString& initial, std::function<QString(const QString&)> fault,
                        std::function<void(const QString&)> done) {
  open(new NamePopup(initial, std::move(fault), std::move(done), &m_canvas), scenePoint);
}

void PopupHost::askPattern(const QPointF& scenePoint, std::function<void(edits::LinkPattern)> done) {
  open(new PatternPopup(std::move(done), &m_canvas), scenePoint);
}

void PopupHost::askText(const QPointF& scenePoint, const QString& initial, std::function<void(const QString&)> done) {
  open(new TextPopup(initial, std::move(done), &m_canvas), scenePoint);
}

}  // namespace coppice::designer
