// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/replay/replay.hpp"

#include <QCoreApplication>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QPainterPath>
#include <QTransform>
#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <vector>

#include "base/counted.hpp"
#include "coppice/version.hpp"
#include "designer/canvas/canvas_view.hpp"
#include "designer/canvas/motion_lanes.hpp"
#include "designer/document/figures.hpp"
#include "designer/schedules/schedule_book.hpp"
#include "designer/theme/scales.hpp"
#include "designer/theme/tokens.hpp"
#include "designer/timeline/time_text.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

/// replay.html, where @NAME@ stands for what is filled in.
extern const std::string_view kReplayTemplate;

namespace {

struct Texts {
  Q_DECLARE_TR_FUNCTIONS(Replay)
};

/// Times are whole numbers of this part of the run.
constexpr double kTicks = 1e6;
constexpr int kHues = 48;
constexpr int kHeats = 21;
constexpr int kListedParts = 200;

QJsonValue rounded(double value) {
  constexpr double kPlaces = 100;
  return std::round(value * kPlaces) / kPlaces;
}

/// The path as SVG writes it.
QString pathData(const QPainterPath& path) {
  QString data;
  const auto point = [](const QPainterPath::Element& at) {
    return QString::number(at.x, 'f', 1) + u' ' + QString::number(at.y, 'f', 1);
  };
  for (int i = 0; i < path.elementCount(); ++i) {
    const QPainterPath::Element at = path.elementAt(i);
    if (at.isCurveTo()) {
      data += u'C' + point(at) + u' ' + point(path.elementAt(i + 1)) + u' ' + point(path.elementAt(i + 2));
      i += 2;
    } else {
      data += (at.isMoveTo() ? u'M' : u'L') + point(at);
    }
  }
  return data;
}

/// Lines, GPUs and colours of the drawing.
class Stage {
public:
  Stage(CanvasView& view, const PictureFrame& frame)
      : m_view(view),
        m_lanes(view.scene()),
        m_scale(frame.drawing.width() / frame.source.width()),
        m_style(m_scale),
        m_toPage(QTransform::fromTranslate(-frame.source.left(), -frame.source.top()) *
                 QTransform::fromScale(m_scale, m_scale) *
                 QTransform::fromTranslate(frame.drawing.left(), frame.drawing.top())) {}

  /// Numbers of the lanes of an arc; none where its links are not drawn.
  QJsonArray lanesOf(const std::vector<LinkStep>& steps) {
    QJsonArray numbers;
    for (const LinkStep& step : steps) {
      if (const auto lane = m_lanes.laneOf(step)) {
        const auto [found, isNew] = m_numberOf.try_emplace(*lane, static_cast<int>(m_paths.size()));
        if (isNew) {
          QPainterPath path;
          m_lanes.curveOf(*lane, m_style.aside()).appendTo(path);
          m_paths.append(pathData(m_toPage.map(path)));
        }
        numbers.append(found->second);
      }
    }
    return numbers;
  }
  [[nodiscard]] QRectF onPage(NodeId node) const { return m_toPage.mapRect(m_view.scene().rectOf(node)); }
  [[nodiscard]] const QJsonArray& paths() const { return m_paths; }
  [[nodiscard]] double widthOf(double share) const { return m_style.widthOf(share) * m_scale; }
  [[nodiscard]] double radius() const { return m_style.radius() * m_scale; }

private:
  CanvasView& m_view;
  MotionLanes m_lanes;
  double m_scale;
  MotionStyle m_style;
  QTransform m_toPage;
  std::map<MotionLanes::Lane, int> m_numberOf;
  QJsonArray m_paths;
};

/// Columns of the messages, and the routes, sizes and parts that they name.
void addMessages(const Playback& run, QJsonObject& data) {
  const double tick = std::max(run.duration(), 1.0) / kTicks;
  const auto ticks = [tick](double time) { return static_cast<std::int64_t>(std::llround(time / tick)); };
  QJsonArray begins;
  QJsonArray sendings;
  QJsonArray landings;
  QJsonArray routes;
  QJsonArray parts;
  QJsonArray hues;
  QJsonArray sizes;
  std::map<std::vector<std::int32_t>, int> routeNumbers;
  QJsonArray allRoutes;
  std::map<std::size_t, int> partNumbers;
  std::map<double, int> sizeNumbers;
  QJsonArray allSizes;
  std::vector<std::pair<std::size_t, int>> partList;  // key and hue, by number
  std::int64_t before = 0;
  for (std::size_t at = 0; at < run.messageCount(); ++at) {
    const Playback::Track track = run.trackAt(at);
    std::vector<std::int32_t> key(track.arcs.begin(), track.arcs.end());
    key.push_back(track.to);
    const auto [route, isNewRoute] = routeNumbers.try_emplace(std::move(key), static_cast<int>(allRoutes.size()));
    if (isNewRoute) {
      QJsonArray arcs;
      for (const std::int32_t arc : track.arcs) {
        arcs.append(arc);
      }
      allRoutes.append(QJsonObject{{u"arcs"_s, arcs}, {u"to"_s, track.to}});
    }
    const int hue = track.category % kHues;
    const auto [part, isNewPart] = partNumbers.try_emplace(track.part, static_cast<int>(partList.size()));
    if (isNewPart) {
      partList.emplace_back(track.part, hue);
    }
    const auto [size, isNewSize] = sizeNumbers.try_emplace(track.bytes, static_cast<int>(allSizes.size()));
    if (isNewSize) {
      allSizes.append(track.bytes);
    }
    const std::int64_t begin = ticks(track.begin);
    begins.append(static_cast<qint64>(begin - before));
    before = begin;
    const std::int64_t sending = std::max<std::int64_t>(0, ticks(track.end) - begin);
    sendings.append(static_cast<qint64>(sending));
    landings.append(static_cast<qint64>(std::max<std::int64_t>(0, ticks(track.arrived) - begin - sending)));
    routes.append(route->second);
    parts.append(part->second);
    hues.append(hue);
    sizes.append(size->second);
  }
  QJsonArray names;
  for (const auto& [key, hue] : partList) {
    names.append(QJsonArray{run.partName(key), hue});
  }
  data[u"tick"_s] = tick;
  data[u"begin"_s] = begins;
  data[u"sending"_s] = sendings;
  data[u"landing"_s] = landings;
  data[u"route"_s] = routes;
  data[u"part"_s] = parts;
  data[u"hue"_s] = hues;
  data[u"size"_s] = sizes;
  data[u"sizes"_s] = allSizes;
  data[u"routes"_s] = allRoutes;
  data[u"parts"_s] = names;
  data[u"listed"_s] = kListedParts;
  data[u"partsName"_s] = run.partsName();
}

QJsonArray factsOf(const Playback& run) {
  const ScheduleResult& result = run.result();
  const auto gigabytes = [](double value) { return Texts::tr("%1 GB/s").arg(value, 0, 'f', 2); };
  QJsonArray facts{QJsonArray{Texts::tr("Fabric"), QString::fromStdString(result.fabric->name())},
                   QJsonArray{Texts::tr("GPUs"), QString::number(result.fabric->gpuCount())},
                   QJsonArray{Texts::tr("Size"), bytesText(run.bytes())},
                   QJsonArray{Texts::tr("Time"), timeText(run.duration())},
                   QJsonArray{Texts::tr("Simulated"), gigabytes(run.row().algbw.gigabytesPerSecond())},
                   QJsonArray{Texts::tr("Schedule"), gigabytes(toGBps(result.algbw))}};
  if (!run.sample().isEmpty()) {
    facts.append(QJsonArray{Texts::tr("Sample"), run.sample()});
  }
  return facts;
}

QByteArray colorRules(Scheme scheme) {
  QByteArray rules;
  for (const TokenInfo& info : tokenTable()) {
    rules += "--" + QByteArray(info.name) + ": " + colorsOf(scheme)[info.token].name().toLatin1() + "; ";
  }
  return rules + "--load: " + heat(1, scheme).name().toLatin1() +
         "; color-scheme: " + (scheme == Scheme::dark ? "dark" : "light") + ";";
}

}  // namespace

Result<QByteArray> replayPage(CanvasView& view, const Playback& run, const FabricMap& map,
                              const ReplayOptions& options) {
  if (run.messageCount() > kMaxReplayMessages) {
    return Error{ErrorCode::limit,
                 "a replay of " + counted(static_cast<std::int64_t>(run.messageCount()), "message") +
                     " would be too large to send",
                 "choose a smaller size of the collective, or a film"};
  }
  PictureOptions picture = options.picture;
  picture.format = PictureFormat::svg;
  picture.hasLegend = false;
  const auto frame = pictureFrame(view, picture);
  if (!frame) {
    return frame.error();
  }
  const auto drawing = drawPicture(view, picture);
  if (!drawing) {
    return drawing.error();
  }
  const ScheduleResult& result = run.result();
  const fabric::Fabric& fabric = *result.fabric;
  const Scheme scheme = picture.scheme;
  Stage stage(view, *frame);
  QJsonObject data;
  const qsizetype root = drawing->indexOf("<svg");
  data[u"svg"_s] = QString::fromUtf8(drawing->mid(root));
  QJsonArray arcs;
  for (std::size_t arc = 0; arc < fabric.arcs().size(); ++arc) {
    arcs.append(QJsonObject{{u"name"_s, run.linkName(arc)},
                            {u"rate"_s, rounded(toGBps(fabric.arcs()[arc].bandwidth))},
                            {u"lanes"_s, stage.lanesOf(map.stepsOf(arc))}});
  }
  QJsonArray gpus;
  for (const fabric::NodeIndex gpu : fabric.gpus()) {
    const QRectF rect = stage.onPage(map.nodeOf(gpu));
    gpus.append(QJsonArray{rounded(rect.x()), rounded(rect.y()), rounded(rect.width()), rounded(rect.height()),
                           QString::fromStdString(fabric.nodes()[gpu].id)});
  }
  QJsonArray hues;
  for (int i = 0; i < kHues; ++i) {
    hues.append(mutedHue(i, scheme).name());
  }
  QJsonArray heats;
  for (int i = 0; i < kHeats; ++i) {
    heats.append(heat(static_cast<double>(i) / (kHeats - 1), scheme).name());
  }
  data[u"arcs"_s] = arcs;
  data[u"lanes"_s] = stage.paths();
  data[u"gpus"_s] = gpus;
  data[u"hues"_s] = hues;
  data[u"heat"_s] = heats;
  data[u"radius"_s] = rounded(stage.radius());
  data[u"thinnest"_s] = rounded(stage.widthOf(0));
  data[u"thickest"_s] = rounded(stage.widthOf(1));
  data[u"duration"_s] = run.duration();
  data[u"seconds"_s] = options.seconds;
  data[u"facts"_s] = factsOf(run);
  addMessages(run, data);

  // qCompress writes the length before what is zlib's.
  constexpr qsizetype kLength = 4;
  constexpr int kSmallest = 9;
  const QByteArray packed =
      qCompress(QJsonDocument(data).toJson(QJsonDocument::Compact), kSmallest).mid(kLength).toBase64();
  const QString title = ScheduleBook::nameFor(result) + u" · "_s + QString::fromStdString(fabric.name());
  QByteArray page(kReplayTemplate.data(), static_cast<qsizetype>(kReplayTemplate.size()));
  page.replace("@VERSION@", kVersion);
  page.replace("@TITLE@", title.toHtmlEscaped().toUtf8());
  page.replace("@COLORS@", colorRules(scheme));
  page.replace("@DATA@", packed);
  return page;
}

}  // namespace coppice::designer
