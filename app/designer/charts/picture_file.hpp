// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainter>
#include <QSizeF>
#include <QString>
#include <QtCharts/QChartView>
#include <functional>

#include "base/result.hpp"

namespace coppice::designer {

/// For dialogs that ask where a picture goes.
[[nodiscard]] QString pictureFilter();

/// Writes what `paint` draws on the ground of the panels, .svg or .png by the name; .png with two pixels where the
/// screen has one. Errors: io, badUsage (another ending).
Outcome savePictureFile(const QString& path, const QSizeF& size, const QString& title,
                        const std::function<void(QPainter&)>& paint);
/// The chart as it is on the screen.
Outcome saveChartPicture(const QString& path, QChartView& view);

}  // namespace coppice::designer
