// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/features/report/report.hpp"

#include <QBuffer>
#include <QCoreApplication>
#include <QDate>
#include <QFile>
#include <QLocale>
#include <QPageLayout>
#include <QPdfWriter>
#include <QTextDocument>
#include <QUrl>
#include <algorithm>
#include <cstddef>
#include <map>
#include <vector>

#include "designer/document/figures.hpp"
#include "designer/theme/fonts.hpp"
#include "io/files.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

struct ReportTexts {
  Q_DECLARE_TR_FUNCTIONS(Report)
};

constexpr int kPictureWidth = 640;
constexpr int kPictureHeight = 330;

/// Rows of a table with the same figures: one of them stands for all.
struct AlikeRows {
  const RankedRow* first;
  std::size_t count;
};

/// Single links with the same figures together, each group where its first row was.
std::vector<AlikeRows> alikeRows(const std::vector<RankedRow>& rows) {
  std::vector<AlikeRows> groups;
  std::map<QStringList, std::size_t> known;
  for (const RankedRow& row : rows) {
    if (row.elements.size() == 1) {
      QStringList figures;
      for (std::size_t column = 1; column < row.cells.size(); ++column) {
        figures << row.cells[column].text;
      }
      const auto [group, isNew] = known.try_emplace(figures, groups.size());
      if (!isNew) {
        ++groups[group->second].count;
        continue;
      }
    }
    groups.push_back({&row, 1});
  }
  return groups;
}

/// Every row for itself.
std::vector<AlikeRows> eachRow(const std::vector<RankedRow>& rows) {
  std::vector<AlikeRows> groups;
  for (const RankedRow& row : rows) {
    groups.push_back({&row, 1});
  }
  return groups;
}

/// The first groups are those that matter.
QString tableOf(const Ranking& ranking, const std::vector<AlikeRows>& groups, const QStringList& headers) {
  if (ranking.rows.empty()) {
    return u"<p class=\"quiet\">"_s + ranking.why.toHtmlEscaped() + u"</p>"_s;
  }
  QString html = u"<table width=\"100%\" cellspacing=\"0\" cellpadding=\"2\"><tr>"_s;
  const std::vector<RankedCell>& cells = ranking.rows.front().cells;
  const auto align = [&](std::size_t column) {
    return column < cells.size() && cells[column].isNumber ? u"right"_s : u"left"_s;
  };
  for (qsizetype column = 0; column < headers.size(); ++column) {
    html += u"<th align=\"%1\">%2</th>"_s.arg(align(static_cast<std::size_t>(column)), headers[column].toHtmlEscaped());
  }
  html += u"</tr>"_s;
  const std::size_t shown = std::min(groups.size(), kReportRows);
  std::size_t left = ranking.rows.size();
  for (std::size_t i = 0; i < shown; ++i) {
    html += u"<tr>"_s;
    const auto& [row, count] = groups[i];
    left -= count;
    for (std::size_t column = 0; column < row->cells.size(); ++column) {
      const QString& text = row->cells[column].text;
      const bool isName = column == 0 && count > 1;
      html += u"<td align=\"%1\">%2</td>"_s.arg(
          align(column), (isName ? ReportTexts::tr("any of %1 like %2").arg(count).arg(text) : text).toHtmlEscaped());
    }
    html += u"</tr>"_s;
  }
  html += u"</table>"_s;
  if (left > 0) {
    html += u"<p class=\"quiet\">"_s + ReportTexts::tr("and %1 more").arg(left) + u"</p>"_s;
  }
  return html;
}

Outcome savePage(const Report& report, const QString& path) {
  QPdfWriter writer(path);
  writer.setTitle(report.title);
  writer.setCreator(u"Coppice"_s);
  const bool isLetter = QLocale::system().measurementSystem() == QLocale::ImperialUSSystem;
  writer.setPageSize(QPageSize(isLetter ? QPageSize::Letter : QPageSize::A4));
  constexpr double kMargin = 14;  // mm
  writer.setPageMargins({kMargin, kMargin, kMargin, kMargin}, QPageLayout::Millimeter);
  constexpr double kPixels = 12;
  QTextDocument text;
  text.setDefaultFont(uiFont(kPixels));
  const QString source = u"fabric"_s;
  text.addResource(QTextDocument::ImageResource, QUrl(source), report.picture);
  text.setHtml(reportHtml(report, source));
  // The page as a screen of 96 pixels to an inch, so that sizes are those of the text.
  constexpr int kPerInch = 96;
  const QRectF room = writer.pageLayout().paintRectPixels(kPerInch);
  text.setPageSize(room.size());
  writer.setResolution(kPerInch);
  QPainter painter;
  if (!painter.begin(&writer)) {
    return Error{ErrorCode::io, path.toStdString() + " cannot be written", "check the path and its permissions"};
  }
  const int pages = text.pageCount();
  for (int page = 0; page < pages; ++page) {
    if (page > 0) {
      writer.newPage();
    }
    painter.save();
    painter.translate(0, -page * room.height());
    text.drawContents(&painter, QRectF(0, page * room.height(), room.width(), room.height()));
    painter.restore();
  }
  return painter.end() ? Outcome(Done{})
                       : Outcome(Error{ErrorCode::io, path.toStdString() + " cannot be written",
                                       "check the free space of the disk"});
}

}  // namespace

QString reportHtml(const Report& report, const QString& picture) {
  const Bound& bound = report.bound;
  QString html =
      u"<html><head><meta charset=\"utf-8\"><title>%1</title><style>"
      "body { color: #1E2421; } h1 { font-size: 20px; margin: 0; } h2 { font-size: 13px; margin: 10px 0 2px 0; }"
      " p { margin: 3px 0; } table { font-size: 11px; } th { color: #66706A; } .quiet { color: #66706A; font-size: "
      "11px; }"
      " .number { font-size: 26px; font-weight: 700; margin: 6px 0 0 0; } .cut { color: #C8500A; }"
      "</style></head><body>"_s.arg(report.title.toHtmlEscaped());
  html += u"<h1>%1</h1><p class=\"quiet\">%2</p>"_s.arg(
      report.title.toHtmlEscaped(),
      (report.parts + u" · "_s + QDate::currentDate().toString(Qt::ISODate)).toHtmlEscaped());
  if (bound.algbw) {
    html += u"<p class=\"number\">%1 GB/s</p><p>%2</p>"_s.arg(
        decimal(*bound.algbw),
        (collectiveName(bound.question.collective) + u" · "_s + exactly(*bound.algbw) + u" GB/s · "_s + bound.claim())
            .toHtmlEscaped());
  } else {
    html += u"<p>%1</p>"_s.arg(bound.why.toHtmlEscaped());
  }
  if (!report.picture.isNull()) {
    const QSize size = report.picture.size().scaled(kPictureWidth, kPictureHeight, Qt::KeepAspectRatio);
    html += u"<p align=\"center\"><img src=\"%1\" width=\"%2\" height=\"%3\"></p>"_s.arg(picture)
                .arg(size.width())
                .arg(size.height());
  }
  if (!bound.cuts.empty()) {
    html += u"<h2>%1</h2><p class=\"cut\">%2</p><p>%3</p>"_s.arg(ReportTexts::tr("What limits it"),
                                                                 bound.cuts.front().words.toHtmlEscaped(),
                                                                 bound.cuts.front().sentence.toHtmlEscaped());
    if (bound.cutCount > 1) {
      html += u"<p class=\"quiet\">%1</p>"_s.arg((bound.isCutCountExact
                                                      ? ReportTexts::tr("%1 cuts are equally tight.")
                                                      : ReportTexts::tr("At least %1 cuts are equally tight."))
                                                     .arg(bound.cutCount));
    }
  }
  html += u"<h2>%1</h2>%2"_s.arg(ReportTexts::tr("What more bandwidth would gain"),
                                 tableOf(report.upgrades, alikeRows(report.upgrades.rows), upgradeHeaders()));
  html += u"<h2>%1</h2>%2"_s.arg(ReportTexts::tr("What a failure would cost"),
                                 tableOf(report.failures, eachRow(report.failures.rows), damageHeaders()));
  html += u"<p class=\"quiet\">%1</p>"_s.arg(
      (ReportTexts::tr("All figures are exact; bandwidths are GB/s per direction. Made with Coppice.") +
       (report.command.isEmpty() ? QString() : u" · "_s + report.command))
          .toHtmlEscaped());
  return html + u"</body></html>"_s;
}

Outcome saveReport(const Report& report, const QString& path) {
  if (path.endsWith(u".pdf"_s, Qt::CaseInsensitive)) {
    return savePage(report, path);
  }
  if (!path.endsWith(u".html"_s, Qt::CaseInsensitive)) {
    return Error{ErrorCode::badUsage, "a report is a .pdf or an .html file", "name the file report.pdf"};
  }
  QByteArray png;
  QBuffer buffer(&png);
  buffer.open(QIODevice::WriteOnly);
  report.picture.save(&buffer, "PNG");
  return io::saveFile(
      QFile::encodeName(path).toStdString(),
      reportHtml(report, u"data:image/png;base64,"_s + QString::fromLatin1(png.toBase64())).toStdString());
}

}  // namespace coppice::designer
