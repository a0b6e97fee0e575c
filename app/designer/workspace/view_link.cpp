// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/workspace/view_link.hpp"

#include <QFileInfo>
#include <QStringList>
#include <QTimer>
#include <cmath>
#include <memory>

#include "designer/workspace/workspace.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

constexpr int kWhole = 100;  // %
constexpr int kMaxZoom = 40 * kWhole;

Error unknownPart(const QString& part) {
  return {ErrorCode::badUsage, "a view has no \"" + part.toStdString() + '"',
          "write mode=draw, analyse, schedule or run, collective=allgather, cut=1, zoom=100"};
}

}  // namespace

Result<std::optional<ViewLink>> ViewLink::of(const QString& text) {
  const qsizetype hash = text.lastIndexOf(u'#');
  if (hash < 0 || QFileInfo::exists(text)) {
    return std::optional<ViewLink>();
  }
  ViewLink link{text.left(hash)};
  for (const QString& part : text.mid(hash + 1).split(u'&', Qt::SkipEmptyParts)) {
    const QString key = part.section(u'=', 0, 0);
    const QString value = part.section(u'=', 1);
    bool isNumber = false;
    const int number = value.toInt(&isNumber);
    if (key == u"mode"_s) {
      for (const Mode mode : kModes) {
        link.mode = nameOf(mode) == value ? mode : link.mode;
      }
    } else if (key == u"collective"_s) {
      link.collective = parseCollective(value.toStdString());
    }
    const bool isKnown = (key == u"mode"_s && link.mode) || (key == u"collective"_s && link.collective) ||
                         (key == u"cut"_s && isNumber && number > 0) ||
                         (key == u"zoom"_s && isNumber && number > 0 && number <= kMaxZoom);
    if (!isKnown) {
      return unknownPart(part);
    }
    if (key == u"cut"_s) {
      link.cut = number;
    } else if (key == u"zoom"_s) {
      link.zoom = number;
    }
  }
  return std::optional(std::move(link));
}

ViewLink ViewLink::to(EditorContext& context, Mode mode) {
  ViewLink link{context.file().path(), mode, context.bound().question().collective};
  link.cut = static_cast<int>(context.shownCut()) + 1;
  link.zoom = context.canvas().keepsFit() ? 0 : static_cast<int>(std::lround(context.canvas().zoom() * kWhole));
  return link;
}

QString ViewLink::text() const {
  QStringList parts;
  if (mode) {
    parts << u"mode="_s + nameOf(*mode);
  }
  if (collective) {
    parts << u"collective="_s + QLatin1String(toString(*collective));
  }
  if (cut > 1) {
    parts << u"cut=%1"_s.arg(cut);
  }
  if (zoom > 0) {
    parts << u"zoom=%1"_s.arg(zoom);
  }
  return path + u'#' + parts.join(u'&');
}

void ViewLink::show(EditorContext& context, Workspace& workspace) const {
  if (mode) {
    workspace.setMode(*mode);
  }
  if (collective) {
    Question question = context.bound().question();
    question.collective = *collective;
    context.bound().setQuestion(question);
  }
  if (zoom > 0) {
    // After the docks of the mode have come, which fit the drawing again.
    QTimer::singleShot(0, &context.canvas(), [canvas = &context.canvas(), wanted = static_cast<double>(zoom) / kWhole] {
      canvas->setZoom(wanted);
    });
  }
  if (cut > 1) {
    const auto wanted = static_cast<std::size_t>(cut) - 1;
    if (context.bound().isCurrent()) {
      context.setShownCut(wanted);
      return;
    }
    auto connection = std::make_shared<QMetaObject::Connection>();
    *connection =
        QObject::connect(&context.bound(), &LiveBound::changed, &context, [editor = &context, wanted, connection] {
          if (editor->bound().isCurrent()) {
            QObject::disconnect(*connection);
            editor->setShownCut(wanted);
          }
        });
  }
}

}  // namespace coppice::designer
