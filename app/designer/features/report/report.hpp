// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QImage>
#include <QString>

#include "base/result.hpp"
#include "designer/analysis/ranking.hpp"
#include "designer/jobs/bound.hpp"

namespace coppice::designer {

/// What a report of one page says of a fabric.
struct Report {
  QString title;     ///< of the document
  QString parts;     ///< "32 GPUs, 13 switches"
  Bound bound;       ///< with its cuts
  Ranking upgrades;  ///< rows by upgradeHeaders()
  Ranking failures;  ///< rows by damageHeaders()
  QImage picture;    ///< of the fabric with its cut
  QString command;   ///< that gives the same figures; empty where there is no file
};

/// Rows of a ranking that a page has room for.
inline constexpr std::size_t kReportRows = 8;

/// @param picture the source of the image
[[nodiscard]] QString reportHtml(const Report& report, const QString& picture);

/// A page of A4 as .pdf, or .html with the picture inside. Errors: io, badUsage (another ending).
[[nodiscard]] Outcome saveReport(const Report& report, const QString& path);

}  // namespace coppice::designer
