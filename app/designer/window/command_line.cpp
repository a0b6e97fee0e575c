// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/window/command_line.hpp"

#include <QCommandLineParser>
#include <QHash>
#include <algorithm>
#include <cmath>
#include <iterator>

#include "coppice/version.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

/// Options of QApplication that take a value, and those that do not. Source: QGuiApplication and QApplication.
const QStringList kQtWithValue = {
    u"platform"_s,     u"platformpluginpath"_s, u"platformtheme"_s, u"plugin"_s, u"qwindowgeometry"_s, u"qwindowicon"_s,
    u"qwindowtitle"_s, u"geometry"_s,           u"display"_s,       u"style"_s,  u"stylesheet"_s,      u"session"_s};
const QStringList kQtAlone = {u"reverse"_s};

QStringList withoutQtOptions(const QStringList& arguments) {
  QStringList kept;
  for (qsizetype i = 0; i < arguments.size(); ++i) {
    const QString& argument = arguments[i];
    if (argument == u"--"_s) {
      kept << arguments.mid(i);
      break;
    }
    const qsizetype dashes = argument.startsWith(u"--"_s) ? 2 : (argument.startsWith(u'-') ? 1 : 0);
    const QString name = argument.mid(dashes).section(u'=', 0, 0);
    if (dashes > 0 && kQtAlone.contains(name)) {
      continue;
    }
    if (dashes > 0 && kQtWithValue.contains(name)) {
      i += argument.contains(u'=') ? 0 : 1;
      continue;
    }
    kept << argument;
  }
  return kept;
}

struct Options {
  QCommandLineOption exportImage{
      u"export-image"_s, u"Draw FILE into the picture P (.svg, .pdf or .png) and exit. Needs no display."_s, u"P"_s};
  QCommandLineOption mode{
      u"mode"_s,
      u"What the picture shows: draw (the fabric, the default), analyse (the bottleneck cut), or schedule (saved beside "_s
      u"FILE, in FILE, or generated)."_s,
      u"M"_s, u"draw"_s};
  QCommandLineOption collective{
      u"collective"_s,
      u"analyse, schedule: allgather (the default), reduce_scatter, allreduce, broadcast or reduce; analyse also "
      "gather, scatter and alltoall."_s,
      u"C"_s};
  QCommandLineOption root{u"root"_s, u"broadcast, reduce: the root, by the name of a GPU."_s, u"GPU"_s};
  QCommandLineOption trees{
      u"trees"_s, u"schedule: draw N trees, each of another root (1 to 16); without it, the load of each link."_s,
      u"N"_s};
  QCommandLineOption selection{
      u"selection"_s, u"Draw only these: nodes and boxes by name, separated by commas; * and ? are wildcards."_s,
      u"NAMES"_s};
  QCommandLineOption fold{u"fold"_s, u"Draw every outermost box folded."_s};
  QCommandLineOption dark{u"dark"_s, u"Use the dark theme."_s};
  QCommandLineOption transparent{u"transparent"_s, u"Transparent background."_s};
  QCommandLineOption noLegend{u"no-legend"_s, u"Omit the legend of an overlay."_s};
  QCommandLineOption scale{u"scale"_s, u"Larger or smaller, 0.01 to 16; 1 is as on the canvas at 100 %."_s, u"N"_s,
                           u"1"_s};
  QCommandLineOption size{u"size"_s, u"Fit the drawing into W by H pixels; --scale then multiplies them."_s, u"WxH"_s};
  QCommandLineOption help{{u"h"_s, u"help"_s}, u"Print this help and exit."_s};
  QCommandLineOption version{{u"v"_s, u"version"_s}, u"Print the version and exit."_s};

  void addTo(QCommandLineParser& parser) const {
    parser.addOptions({exportImage, mode, collective, root, trees, selection, fold, dark, transparent, noLegend, scale,
                       size, help, version});
    parser.addPositionalArgument(u"FILE"_s, u"Fabrics to open, in any format that coppice-cli reads."_s, u"[FILE…]"_s);
  }
  /// Those that say something about the picture.
  [[nodiscard]] std::vector<const QCommandLineOption*> ofPictures() const {
    return {&mode, &collective, &root, &trees, &selection, &fold, &dark, &transparent, &noLegend, &scale, &size};
  }
};

Error usage(const QString& message, const QString& fix) {
  return {ErrorCode::badUsage, message.toStdString(), fix.toStdString()};
}

Result<ImageRequest> parseImage(const QCommandLineParser& parser, const Options& options) {
  ImageRequest request;
  request.output = parser.value(options.exportImage);
  const auto format = pictureFormatOf(request.output);
  if (!format) {
    return usage(u"--export-image: \"%1\" has no picture suffix"_s.arg(request.output),
                 u"use the suffix .svg, .pdf or .png"_s);
  }
  const QStringList files = parser.positionalArguments();
  if (files.size() != 1) {
    return usage(files.isEmpty() ? u"--export-image needs a fabric"_s
                                 : u"--export-image draws one fabric, not %1"_s.arg(files.size()),
                 u"as in: coppice --export-image picture.svg cluster.fabric.json"_s);
  }
  request.input = files.front();
  request.picture.format = *format;
  const QString mode = parser.value(options.mode);
  if (mode == u"analyse"_s) {
    request.mode = ImageRequest::Mode::analyse;
  } else if (mode == u"schedule"_s) {
    request.mode = ImageRequest::Mode::schedule;
  } else if (mode != u"draw"_s) {
    return usage(u"--mode: \"%1\" is not a mode"_s.arg(mode), u"use draw, analyse or schedule"_s);
  }
  const QString collective = parser.value(options.collective);
  if (parser.isSet(options.collective)) {
    const auto known = parseCollective(collective.toStdString());
    if (!known || *known == Collective::custom) {
      return usage(u"--collective: \"%1\" is not a collective"_s.arg(collective),
                   u"use allgather, reduce_scatter, allreduce, broadcast, reduce, gather, scatter or alltoall"_s);
    }
    if (request.mode == ImageRequest::Mode::schedule && !parseForestCollective(collective.toStdString())) {
      return usage(u"--collective: schedules of %1 have no trees to draw"_s.arg(collective),
                   u"use --mode analyse, or allgather, reduce_scatter, allreduce, broadcast or reduce"_s);
    }
    request.collective = *known;
  }
  request.root = parser.value(options.root);
  const bool hasRoot = request.collective && isRooted(*request.collective);
  if (!request.root.isEmpty() && !hasRoot) {
    return usage(u"--root: %1 has no root"_s.arg(collective.isEmpty() ? u"allgather"_s : collective),
                 u"leave --root out, or ask for broadcast, reduce, gather or scatter"_s);
  }
  if (request.mode == ImageRequest::Mode::draw && (request.collective || !request.root.isEmpty())) {
    return usage(u"--collective and --root do not apply to a plain drawing"_s, u"add --mode analyse or schedule"_s);
  }
  if (parser.isSet(options.trees)) {
    constexpr int kMaxTrees = 16;
    bool isCount = false;
    request.trees = parser.value(options.trees).toInt(&isCount);
    if (!isCount || request.trees < 1 || request.trees > kMaxTrees) {
      return usage(u"--trees: \"%1\" is not a number from 1 to %2"_s.arg(parser.value(options.trees)).arg(kMaxTrees),
                   u"leave --trees out for the load of each link"_s);
    }
    if (request.mode != ImageRequest::Mode::schedule) {
      return usage(u"--trees applies to schedules"_s, u"add --mode schedule"_s);
    }
  }
  if (parser.isSet(options.selection)) {
    for (const QString& name : parser.value(options.selection).split(u',', Qt::SkipEmptyParts)) {
      request.selection << name.trimmed();
    }
    if (request.selection.isEmpty()) {
      return usage(u"--selection is empty"_s, u"give names of nodes or boxes, separated by commas"_s);
    }
    request.picture.part = PicturePart::selection;
  }
  bool isNumber = false;
  request.picture.scale = parser.value(options.scale).toDouble(&isNumber);
  if (!isNumber || !std::isfinite(request.picture.scale) || request.picture.scale < kMinPictureScale ||
      request.picture.scale > kMaxPictureScale) {
    return usage(u"--scale: \"%1\" is not a number from %2 to %3"_s.arg(parser.value(options.scale))
                     .arg(kMinPictureScale)
                     .arg(kMaxPictureScale),
                 u"use 2 for twice as large"_s);
  }
  if (parser.isSet(options.size)) {
    const QStringList sides = parser.value(options.size).toLower().split(u'x');
    constexpr int kMost = 32767;
    bool isWidth = false;
    bool isHeight = false;
    const int width = sides.value(0).toInt(&isWidth);
    const int height = sides.value(1).toInt(&isHeight);
    if (sides.size() != 2 || !isWidth || !isHeight || width < 1 || height < 1 || width > kMost || height > kMost) {
      return usage(u"--size: \"%1\" is not a width and a height in pixels"_s.arg(parser.value(options.size)),
                   u"as in --size 1600x1000"_s);
    }
    request.picture.fit = QSizeF(width, height);
  }
  request.picture.scheme = parser.isSet(options.dark) ? Scheme::dark : Scheme::light;
  request.picture.isTransparent = parser.isSet(options.transparent);
  request.picture.hasLegend = !parser.isSet(options.noLegend);
  request.isFolded = parser.isSet(options.fold);
  return request;
}

}  // namespace

Result<CommandLine> parseCommandLine(const QStringList& arguments) {
  const Options options;
  QCommandLineParser parser;
  options.addTo(parser);
  if (!parser.parse(withoutQtOptions(arguments))) {
    QString message = parser.errorText();
    if (message.endsWith(u'.')) {
      message.chop(1);
    }
    return usage(message, u"coppice --help lists the options"_s);
  }
  CommandLine line;
  line.files = parser.positionalArguments();
  if (parser.isSet(options.help)) {
    line.task = CommandLine::Task::help;
  } else if (parser.isSet(options.version)) {
    line.task = CommandLine::Task::version;
  } else if (parser.isSet(options.exportImage)) {
    line.task = CommandLine::Task::image;
    auto image = parseImage(parser, options);
    if (!image) {
      return image.error();
    }
    line.image = *std::move(image);
  } else {
    for (const QCommandLineOption* option : options.ofPictures()) {
      if (parser.isSet(*option)) {
        return usage(u"--%1 is for pictures"_s.arg(option->names().back()), u"add --export-image"_s);
      }
    }
  }
  return line;
}

QString commandLineHelp() {
  const Options options;
  QString text =
      u"Usage: coppice [OPTIONS] [FILE…]\n"
      u"Draw a GPU fabric and see its bound and its bottleneck as you draw.\n\n"
      u"Each FILE opens in a tab. With --export-image the program draws one FILE into a picture instead; FILE may "
      u"then\n"
      u"also be preset:NAME,key=value,…, as coppice-cli preset list shows them.\n\n"
      u"Options:\n"_s;
  QCommandLineParser parser;
  options.addTo(parser);
  // What Qt lays out, from the list of the options on.
  const QString laidOut = parser.helpText();
  const qsizetype list = laidOut.indexOf(u"Options:\n"_s);
  const qsizetype arguments = laidOut.indexOf(u"\nArguments:"_s);
  text += laidOut.mid(list + 9, arguments - list - 9);
  text +=
      u"\nExamples:\n"
      u"  coppice cluster.fabric.json\n"
      u"  coppice --export-image cut.svg --mode analyse cluster.fabric.json\n"
      u"  coppice --export-image trees.pdf --mode schedule --trees 2 cluster.fabric.json\n"
      u"  coppice --export-image figure.png --scale 2 --dark preset:dgx-h100,boxes=4\n\n"
      u"Exit codes: 0 success; 1 there is no bound to draw; 2 bad usage or input.\n"_s;
  return text;
}

}  // namespace coppice::designer
