// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QComboBox>
#include <QString>
#include <cstdint>

#include "designer/schedules/prediction.hpp"

namespace coppice::designer {

/// That lists of sizes begin with.
inline constexpr std::int64_t kUsualSize = std::int64_t{1} << 26;

/// Fills a list with comparedSizes(), which are the data of its entries. @param text of an entry, with %1 for the size
void fillWithSizes(QComboBox& list, std::int64_t chosen = kUsualSize, const QString& text = QStringLiteral("%1"));
/// The first entry where the list has no such size.
void chooseSize(QComboBox& list, std::int64_t size);
[[nodiscard]] std::int64_t sizeIn(const QComboBox& list);

}  // namespace coppice::designer
