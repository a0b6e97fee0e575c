// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/schedules/size_list.hpp"

#include <algorithm>

#include "designer/document/figures.hpp"

namespace coppice::designer {

void fillWithSizes(QComboBox& list, std::int64_t chosen, const QString& text) {
  for (const std::int64_t size : comparedSizes()) {
    list.addItem(text.arg(bytesText(size)), QVariant::fromValue<qint64>(size));
  }
  chooseSize(list, chosen);
}

void chooseSize(QComboBox& list, std::int64_t size) {
  list.setCurrentIndex(std::max(0, list.findData(QVariant::fromValue<qint64>(size))));
}

std::int64_t sizeIn(const QComboBox& list) {
  return list.currentData().toLongLong();
}

}  // namespace coppice::designer
