// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/program/step_list.hpp"

#include <QTimer>
#include <QVariant>

namespace coppice::designer {
namespace {

constexpr int kPlaceRole = Qt::UserRole + 1;

}  // namespace

StepList::StepList(const QString& name, const QString& title, QWidget* parent) : QListWidget(parent) {
  setObjectName(name);
  setAccessibleName(title);
  setFrameShape(QFrame::NoFrame);
  setWordWrap(true);
  setResizeMode(QListView::Adjust);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  connect(this, &QListWidget::itemActivated, this, &StepList::choose);
  connect(this, &QListWidget::itemClicked, this, &StepList::choose);
}

QListWidgetItem* StepList::add(const QString& text, const program::StepPlace& place) {
  auto* item = new QListWidgetItem(text, this);
  item->setData(kPlaceRole, QVariant::fromValue(place));
  return item;
}

void StepList::choose(const QListWidgetItem* item) {
  const QVariant place = item->data(kPlaceRole);
  if (place.isValid()) {
    QTimer::singleShot(0, this, [this, place = place.value<program::StepPlace>()] { Q_EMIT chosen(place); });
  }
}

}  // namespace coppice::designer
