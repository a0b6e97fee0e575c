// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/window/command_line.hpp"

#include <QCommandLineParser>
#include <QHash>
#include <QRegularExpression>
#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <vector>

#include "coppice/version.hpp"
#include "designer/render/film.hpp"
#include "workflow/method.hpp"
#include "workflow/sizes.hpp"

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
  QCommandLineOption exportFilm{
      u"export-film"_s,
      u"Draw a simulated run of the schedule as a film and exit: an animated P.webp, or numbered P.png pictures "_s
      u"(frame-%04d.png). Needs no display."_s,
      u"P"_s};
  QCommandLineOption exportReplay{
      u"export-replay"_s,
      u"Write a simulated run of the schedule as one HTML file that plays in any browser, and exit. Needs no display."_s,
      u"P"_s};
  QCommandLineOption mode{
      u"mode"_s,
      u"What the picture shows: draw (the fabric, the default), analyse (the bottleneck cut), schedule (saved beside "_s
      u"FILE, in FILE, or generated), timeline (its simulated run), compare (all saved schedules), or program (FILE is "_s
      u"MSCCL XML)."_s,
      u"M"_s, u"draw"_s};
  QCommandLineOption method{
      u"method"_s,
      u"schedule, timeline, film, replay: generate by this method, as coppice-cli generate --method "_s
      u"list names them. compare: methods beside the saved schedules, separated by commas."_s,
      u"NAME"_s};
  QCommandLineOption step{u"step"_s, u"schedule: the transfers of step N alone (schedules in steps)."_s, u"N"_s};
  QCommandLineOption time{
      u"time"_s,
      u"schedule: the data under way at this time of the simulated run, for example 12us or 50%. timeline: the "_s
      u"position of the clock."_s,
      u"T"_s};
  QCommandLineOption bytes{u"bytes"_s, u"Size of the simulated collective, for example 64M."_s, u"SIZE"_s, u"64M"_s};
  QCommandLineOption lanes{
      u"lanes"_s,
      u"timeline: links (the default), gpus, parts (trees, steps or transfers), or threadblocks (of the program)."_s,
      u"L"_s, u"links"_s};
  QCommandLineOption seconds{u"seconds"_s, u"film, replay: its length in seconds; it shows the whole run."_s, u"S"_s,
                             u"8"_s};
  QCommandLineOption framesPerSecond{u"fps"_s, u"film: frames per second, 1 to 60."_s, u"N"_s, u"25"_s};
  QCommandLineOption collective{
      u"collective"_s,
      u"analyse, schedule: allgather (the default), reduce_scatter, allreduce, broadcast or reduce; analyse also "
      "gather, scatter and alltoall."_s,
      u"C"_s};
  QCommandLineOption root{u"root"_s, u"broadcast, reduce: the root, by the name of a GPU."_s, u"GPU"_s};
  QCommandLineOption trees{
      u"trees"_s, u"schedule: draw N trees, each with a different root (1 to 16); without it, the load of each link."_s,
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
    parser.addOptions({exportImage, exportFilm,      exportReplay, mode, collective, root,
                       trees,       method,          step,         time, bytes,      lanes,
                       seconds,     framesPerSecond, selection,    fold, dark,       transparent,
                       noLegend,    scale,           size,         help, version});
    parser.addPositionalArgument(u"FILE"_s, u"Fabrics to open, in any format that coppice-cli reads."_s, u"[FILE…]"_s);
  }
  /// Those that say something about the picture.
  [[nodiscard]] std::vector<const QCommandLineOption*> ofPictures() const {
    return {&mode,    &collective,      &root,      &trees, &method, &step,        &time,     &bytes, &lanes,
            &seconds, &framesPerSecond, &selection, &fold,  &dark,   &transparent, &noLegend, &scale, &size};
  }
};

Error usage(const QString& message, const QString& fix) {
  return {ErrorCode::badUsage, message.toStdString(), fix.toStdString()};
}

/// A whole number of an option. Errors: badUsage, naming the range.
Result<int> numberOf(const QCommandLineParser& parser, const QCommandLineOption& option, int min, int max) {
  bool isNumber = false;
  const int number = parser.value(option).toInt(&isNumber);
  if (!isNumber || number < min || number > max) {
    return usage(u"--%1: \"%2\" is not a number from %3 to %4"_s.arg(option.names().back(), parser.value(option))
                     .arg(min)
                     .arg(max),
                 u"give a whole number"_s);
  }
  return number;
}

/// Options that apply in these modes alone are refused elsewhere.
Outcome checkModes(const QCommandLineParser& parser, const Options& options, const ImageRequest& request) {
  using Mode = ImageRequest::Mode;
  struct Rule {
    const QCommandLineOption* option;
    std::vector<Mode> modes;
    QString where;
    bool isForFilms;
  };
  const Rule rules[] = {
      {&options.trees, {Mode::schedule}, u"schedule"_s, false},
      {&options.step, {Mode::schedule}, u"schedule"_s, false},
      {&options.method, {Mode::schedule, Mode::timeline, Mode::compare}, u"schedule, timeline or compare"_s, true},
      {&options.time, {Mode::schedule, Mode::timeline}, u"schedule or timeline"_s, false},
      {&options.bytes, {Mode::schedule, Mode::timeline, Mode::compare}, u"schedule, timeline or compare"_s, true},
      {&options.lanes, {Mode::timeline}, u"timeline"_s, false},
      {&options.seconds, {}, {}, true},
      {&options.framesPerSecond, {}, {}, true}};
  for (const Rule& rule : rules) {
    if (!parser.isSet(*rule.option)) {
      continue;
    }
    const QString name = rule.option->names().back();
    if (request.film && (!rule.isForFilms || (request.isReplay && rule.option == &options.framesPerSecond))) {
      return usage(u"--%1 does not apply to %2"_s.arg(name, request.isReplay ? u"replays"_s : u"films"_s),
                   u"leave it out"_s);
    }
    if (!request.film && rule.modes.empty()) {
      return usage(u"--%1 is for films"_s.arg(name), u"add --export-film"_s);
    }
    if (!request.film && std::find(rule.modes.begin(), rule.modes.end(), request.mode) == rule.modes.end()) {
      return usage(u"--%1 applies to the mode %2"_s.arg(name, rule.where), u"add --mode"_s);
    }
  }
  return Done{};
}

/// What a schedule is made by and played with.
Outcome parsePlay(const QCommandLineParser& parser, const Options& options, ImageRequest& request) {
  if (Outcome checked = checkModes(parser, options, request); !checked) {
    return checked;
  }
  const QStringList methods = parser.value(options.method).split(u',', Qt::SkipEmptyParts);
  if (request.mode == ImageRequest::Mode::compare) {
    request.methods = methods;
  } else if (methods.size() > 1) {
    return usage(u"--method: only one method can be drawn"_s, u"give several with --mode compare"_s);
  } else {
    request.method = methods.value(0);
  }
  for (const QString& method : methods) {
    if (workflow::findMethod(method.toStdString()) == nullptr) {
      return usage(u"--method: there is no method \"%1\""_s.arg(method),
                   u"coppice-cli generate --method list names them all"_s);
    }
  }
  if (parser.isSet(options.step)) {
    const auto step = numberOf(parser, options.step, 1, 1'000'000);
    if (!step) {
      return step.error();
    }
    request.step = *step;
  }
  if (parser.isSet(options.time)) {
    const auto time = parsePlayTime(parser.value(options.time));
    if (!time) {
      return time.error();
    }
    request.time = *time;
  }
  if (request.step && (request.time || request.trees > 0)) {
    return usage(u"--step, --time and --trees cannot be combined"_s, u"give one of them"_s);
  }
  const auto bytes = workflow::parseBytes(parser.value(options.bytes).toStdString(), "bytes");
  if (!bytes || *bytes < 1) {
    return bytes ? usage(u"--bytes: a simulation needs at least one byte"_s, u"for example --bytes 64M"_s)
                 : bytes.error();
  }
  request.bytes = *bytes;
  const QString lanes = parser.value(options.lanes);
  const std::map<QString, Playback::LaneKind> kinds = {{u"links"_s, Playback::LaneKind::links},
                                                       {u"gpus"_s, Playback::LaneKind::gpus},
                                                       {u"parts"_s, Playback::LaneKind::parts},
                                                       {u"threadblocks"_s, Playback::LaneKind::blocks}};
  const auto kind = kinds.find(lanes);
  if (kind == kinds.end()) {
    return usage(u"--lanes: \"%1\" is not a kind of lanes"_s.arg(lanes), u"use links, gpus, parts or threadblocks"_s);
  }
  request.lanes = kind->second;
  return Done{};
}

Outcome parseFilm(const QCommandLineParser& parser, const Options& options, ImageRequest& request) {
  constexpr int kMaxFrames = 60;
  constexpr double kMaxSeconds = 600;
  FilmRequest film;
  bool isNumber = false;
  film.seconds = parser.value(options.seconds).toDouble(&isNumber);
  if (!isNumber || !std::isfinite(film.seconds) || film.seconds <= 0 || film.seconds > kMaxSeconds) {
    return usage(
        u"--seconds: \"%1\" is not a number above 0, up to %2"_s.arg(parser.value(options.seconds)).arg(kMaxSeconds),
        u"for example --seconds 8"_s);
  }
  const auto frames = numberOf(parser, options.framesPerSecond, 1, kMaxFrames);
  if (!frames) {
    return frames.error();
  }
  film.framesPerSecond = *frames;
  request.film = film;
  request.mode = ImageRequest::Mode::schedule;
  if (parser.isSet(options.mode) && parser.value(options.mode) != u"schedule"_s) {
    return usage(u"--mode: a film shows a schedule"_s, u"leave --mode out"_s);
  }
  return Done{};
}

Outcome parseMode(const QCommandLineParser& parser, const Options& options, ImageRequest& request) {
  using Mode = ImageRequest::Mode;
  static const QHash<QString, Mode> kNames = {{u"draw"_s, Mode::draw},         {u"analyse"_s, Mode::analyse},
                                              {u"schedule"_s, Mode::schedule}, {u"timeline"_s, Mode::timeline},
                                              {u"compare"_s, Mode::compare},   {u"program"_s, Mode::program}};
  const QString mode = parser.value(options.mode);
  const auto found = kNames.find(mode);
  if (found == kNames.end()) {
    return usage(u"--mode: \"%1\" is not a mode"_s.arg(mode),
                 u"use draw, analyse, schedule, timeline, compare or program"_s);
  }
  request.mode = *found;
  return Done{};
}

/// Collective, root and trees.
Outcome parseQuestion(const QCommandLineParser& parser, const Options& options, ImageRequest& request) {
  const QString collective = parser.value(options.collective);
  if (parser.isSet(options.collective)) {
    const auto known = parseCollective(collective.toStdString());
    if (!known || *known == Collective::custom) {
      return usage(u"--collective: \"%1\" is not a collective"_s.arg(collective),
                   u"use allgather, reduce_scatter, allreduce, broadcast, reduce, gather, scatter or alltoall"_s);
    }
    if (request.mode == ImageRequest::Mode::schedule && !parser.isSet(options.method) &&
        !parseForestCollective(collective.toStdString())) {
      return usage(u"--collective: schedules of %1 have no trees"_s.arg(collective),
                   u"use --mode analyse, or allgather, reduce_scatter, allreduce, broadcast or reduce"_s);
    }
    request.collective = *known;
  }
  request.root = parser.value(options.root);
  const bool hasRoot = request.collective && isRooted(*request.collective);
  if (!request.root.isEmpty() && !hasRoot) {
    return usage(u"--root: %1 has no root"_s.arg(collective.isEmpty() ? u"allgather"_s : collective),
                 u"leave --root out, or choose broadcast, reduce, gather or scatter"_s);
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
  }
  return Done{};
}

/// What is drawn, how large and how.
Outcome parsePicture(const QCommandLineParser& parser, const Options& options, ImageRequest& request) {
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
    constexpr int kMax = 32767;
    bool isWidth = false;
    bool isHeight = false;
    const int width = sides.value(0).toInt(&isWidth);
    const int height = sides.value(1).toInt(&isHeight);
    if (sides.size() != 2 || !isWidth || !isHeight || width < 1 || height < 1 || width > kMax || height > kMax) {
      return usage(u"--size: \"%1\" is not a width and a height in pixels"_s.arg(parser.value(options.size)),
                   u"for example --size 1600x1000"_s);
    }
    request.picture.fit = QSizeF(width, height);
  }
  request.picture.scheme = parser.isSet(options.dark) ? Scheme::dark : Scheme::light;
  request.picture.isTransparent = parser.isSet(options.transparent);
  request.picture.hasLegend = !parser.isSet(options.noLegend);
  return Done{};
}

Result<ImageRequest> parseImage(const QCommandLineParser& parser, const Options& options) {
  ImageRequest request;
  request.isReplay = parser.isSet(options.exportReplay);
  const bool isFilm = request.isReplay || parser.isSet(options.exportFilm);
  const QCommandLineOption& task = request.isReplay ? options.exportReplay
                                   : isFilm         ? options.exportFilm
                                                    : options.exportImage;
  const QString command = u"--"_s + task.names().back();
  request.output = parser.value(task);
  const auto format = pictureFormatOf(request.output);
  const bool isKnown = request.isReplay ? request.output.endsWith(u".html"_s, Qt::CaseInsensitive)
                       : isFilm         ? filmFormatOf(request.output).has_value()
                                        : format.has_value();
  if (!isKnown) {
    return usage(
        u"%1: \"%2\" has no %3 suffix"_s.arg(command, request.output, request.isReplay ? u"HTML"_s : u"picture"_s),
        request.isReplay ? u"use the suffix .html"_s
        : isFilm         ? u"use .webp, or .png for numbered frames"_s
                         : u"use the suffix .svg, .pdf or .png"_s);
  }
  const QStringList files = parser.positionalArguments();
  if (files.size() != 1) {
    return usage(files.isEmpty() ? u"%1 needs a fabric"_s.arg(command)
                                 : u"%1 draws one fabric, not %2"_s.arg(command).arg(files.size()),
                 u"for example coppice %1 picture.%2 cluster.fabric.json"_s.arg(command, request.isReplay ? u"html"_s
                                                                                         : isFilm         ? u"webp"_s
                                                                                                          : u"svg"_s));
  }
  request.input = files.front();
  request.picture.format = isFilm ? PictureFormat::png : *format;
  if (Outcome read = parseMode(parser, options, request); !read) {
    return read.error();
  }
  if (isFilm) {
    if (Outcome filmed = parseFilm(parser, options, request); !filmed) {
      return filmed.error();
    }
  }
  if (Outcome asked = parseQuestion(parser, options, request); !asked) {
    return asked.error();
  }
  if (Outcome played = parsePlay(parser, options, request); !played) {
    return played.error();
  }
  if (Outcome drawn = parsePicture(parser, options, request); !drawn) {
    return drawn.error();
  }
  request.isFolded = parser.isSet(options.fold);
  return request;
}

}  // namespace

Result<PlayTime> parsePlayTime(const QString& text) {
  static const QRegularExpression kTime(u"^\\s*([0-9]*\\.?[0-9]+)\\s*(ns|us|µs|ms|s|%)\\s*$"_s);
  const auto match = kTime.match(text);
  if (!match.hasMatch()) {
    return usage(u"--time: \"%1\" is not a time"_s.arg(text), u"for example 12us, 1.5ms or 50%"_s);
  }
  const double number = match.captured(1).toDouble();
  const QString unit = match.captured(2);
  if (unit == u"%"_s) {
    constexpr double kHundred = 100;
    if (number > kHundred) {
      return usage(u"--time: \"%1\" is more than 100%"_s.arg(text), u"give 0% to 100%"_s);
    }
    return PlayTime{number / kHundred, true};
  }
  return PlayTime{number * (unit == u"s"_s ? 1e9 : unit == u"ms"_s ? 1e6 : unit == u"ns"_s ? 1 : 1e3), false};
}

int FilmRequest::frameCount() const {
  return std::max(2, static_cast<int>(std::lround(seconds * framesPerSecond)));
}

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
  } else if (const int tasks = (parser.isSet(options.exportImage) ? 1 : 0) +
                               (parser.isSet(options.exportFilm) ? 1 : 0) +
                               (parser.isSet(options.exportReplay) ? 1 : 0);
             tasks > 1) {
    return usage(u"--export-image, --export-film and --export-replay cannot be combined"_s, u"give one of them"_s);
  } else if (tasks == 1) {
    line.task = CommandLine::Task::image;
    auto image = parseImage(parser, options);
    if (!image) {
      return image.error();
    }
    line.image = *std::move(image);
  } else {
    for (const QCommandLineOption* option : options.ofPictures()) {
      if (parser.isSet(*option)) {
        return usage(u"--%1 is for pictures"_s.arg(option->names().back()),
                     u"add --export-image, --export-film or --export-replay"_s);
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
      u"Each FILE opens in a tab. With --export-image, --export-film or --export-replay the program draws one FILE\n"
      u"instead. FILE may also be preset:NAME,key=value,…, as coppice-cli preset list shows them.\n"
      u"FILE#mode=analyse&cut=2 opens at that mode (draw, analyse, schedule, run) and cut; collective=… and zoom=… in\n"
      u"percent are known too.\n\n"
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
      u"  coppice preset:dgx-h100,boxes=4\n"
      u"  coppice --export-image cut.svg --mode analyse cluster.fabric.json\n"
      u"  coppice --export-image trees.pdf --mode schedule --trees 2 cluster.fabric.json\n"
      u"  coppice --export-image figure.png --scale 2 --dark preset:dgx-h100,boxes=4\n"
      u"  coppice --export-image moment.svg --mode schedule --time 50% cluster.fabric.json\n"
      u"  coppice --export-image program.png --mode program allreduce.xml\n"
      u"  coppice --export-film run.webp --method ring --seconds 6 --size 960x600 cluster.fabric.json\n"
      u"  coppice --export-replay run.html --bytes 16M cluster.fabric.json\n\n"
      u"Exit codes: 0 success; 1 there is no bound to draw; 2 bad usage or input.\n"_s;
  return text;
}

}  // namespace coppice::designer
