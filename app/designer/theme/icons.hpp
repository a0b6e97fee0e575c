// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QIcon>
#include <QPixmap>
#include <QString>
#include <QStringList>

#include "designer/theme/tokens.hpp"

namespace coppice::designer {

/// An icon of the program (resources/icons/NAME.svg), drawn at every size and scale in the colours of the present
/// theme: muted at rest, accent when on, faint when disabled. A null icon if there is none of that name.
[[nodiscard]] QIcon icon(const QString& name);
/// The same in one colour.
[[nodiscard]] QPixmap iconPixmap(const QString& name, int size, qreal devicePixelRatio, const QColor& color);

}  // namespace coppice::designer
