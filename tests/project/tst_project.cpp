// SPDX-License-Identifier: Apache-2.0
#include <QDir>
#include <QDirIterator>
#include <QFile>
#include <QFileInfo>
#include <QMap>
#include <QProcess>
#include <QRegularExpression>
#include <QSet>
#include <QTemporaryDir>
#include <QTest>

namespace {

/// Which folders of core/ each folder of core/ may include, beside itself. A folder that is not listed may include
/// nothing, so a new folder must be entered here on purpose. flow/lemon counts as a folder of its own: the verifiers
/// use its maximum flow and the generators must not.
const QMap<QString, QSet<QString>>& allowedIncludes() {
  static const QMap<QString, QSet<QString>> kAllowed = {
      {"base", {}},
      {"fabric", {"base", "flow"}},
      {"topology", {"base", "fabric"}},
      {"patch", {"base", "fabric", "flow"}},
      {"bom", {"base", "fabric"}},
      {"presets", {"base", "fabric", "topology"}},
      {"flow", {"base"}},
      {"flow/lemon", {"base"}},
      {"symmetry", {"base", "fabric"}},
      {"lp", {"base", "fabric", "flow"}},
      {"schedule", {"base", "fabric", "symmetry"}},
      {"program", {"base"}},
      {"mscclpp", {"base", "fabric", "schedule", "program"}},
      {"sketch", {"base", "fabric", "schedule"}},
      {"taccl", {"base", "fabric", "lp", "schedule", "sketch"}},
      {"forestcoll", {"base", "fabric", "flow", "lp", "schedule", "symmetry"}},
      {"alltoall", {"base", "fabric", "flow", "lp", "schedule", "symmetry"}},
      {"groups", {"base", "fabric", "lp", "schedule", "symmetry"}},
      {"bfb", {"base", "fabric", "flow", "forestcoll", "schedule"}},
      {"finder", {"base", "topology", "bfb"}},
      {"baselines", {"base", "fabric", "forestcoll", "schedule"}},
      {"synth", {"base", "fabric", "flow", "lp", "schedule", "symmetry"}},
      {"live", {"base", "fabric", "flow", "forestcoll", "schedule", "symmetry"}},
      {"lowering", {"base", "fabric", "schedule", "program"}},
      {"advice", {"base", "fabric", "forestcoll", "schedule", "program", "lowering"}},
      {"verify",
       {"base", "fabric", "schedule", "program", "mscclpp", "sketch", "flow/lemon"}},  // see mayVerifierInclude
      {"simulate", {"base", "fabric", "schedule", "program", "mscclpp", "verify"}},
      {"order", {"base", "fabric", "flow", "groups", "baselines", "schedule", "simulate", "symmetry"}},
      {"training", {"base"}},
      {"io", {"base", "fabric", "schedule", "sketch", "training"}},
      {"nccl", {"base", "fabric", "io"}},
      {"dot", {"base", "fabric", "io"}},
  };
  return kAllowed;
}

/// What core/verify may include of other folders, but for base/: data types, names of things in texts, and a maximum
/// flow that nothing else uses. A header that computes anything which the verifier compares must not be entered here.
const QSet<QString>& typesOfTheVerifier() {
  static const QSet<QString> kTypes = {
      "fabric/description.hpp",    "fabric/fabric.hpp",
      "flow/lemon/max_flow.hpp",   "mscclpp/execution_plan.hpp",
      "program/finding_sink.hpp",  "program/program.hpp",
      "program/step_place.hpp",    "schedule/collective_table.hpp",
      "schedule/concurrent.hpp",   "schedule/exchange.hpp",
      "schedule/forest.hpp",       "schedule/placement.hpp",
      "schedule/rank_pattern.hpp",
      "schedule/step_figures.hpp", "schedule/step_schedule.hpp",
      "schedule/tree_bound.hpp",   "sketch/model.hpp",
      "sketch/plan.hpp",           "sketch/sketch.hpp",
  };
  return kTypes;
}

/// What the verifier calls of core/, beside base/ and the names and limits of core/program: members of the data types.
/// Headers of types declare functions too, which includes alone do not tell.
bool mayVerifierCall(const QString& function) {
  static const QRegularExpression kOther(QStringLiteral("\\bcoppice::(?!program::|mscclpp::)[a-z_]+::"));
  static const QRegularExpression kAllowed(
      QStringLiteral("^coppice::(verify::|fabric::Fabric::findArc\\(|schedule::PathPool::|flow::lemon::)"));
  // Types of other folders stand among the arguments.
  const QString name = function.left(function.indexOf(QLatin1Char('(')) + 1);
  return !kOther.match(name).hasMatch() || kAllowed.match(name).hasMatch();
}

bool mayVerifierInclude(const QString& file, const QString& target) {
  // The text of a program as its runtime meets it: it has to be read.
  static const QSet<QString> kReading = {"program/msccl_xml.hpp", "program/merge_findings.hpp", "program/rooted.hpp"};
  return !target.contains(QLatin1Char('/')) || target.startsWith("base/") || target.startsWith("verify/") ||
         typesOfTheVerifier().contains(target) ||
         (file.startsWith("core/verify/judgement.") && kReading.contains(target));
}

/// The folder of core/ that a path relative to core/ lies in, as the table above counts folders.
QString layerOf(const QString& path) {
  return path.startsWith(QLatin1String("flow/lemon/")) ? QStringLiteral("flow/lemon")
                                                       : path.section(QLatin1Char('/'), 0, 0);
}

QString sourceDir() {
  return QStringLiteral(COPPICE_SOURCE_DIR);
}

QByteArray contents(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

/// Files below the named folders of the project, relative to it, whose name matches one of the patterns.
QStringList filesBelow(const QStringList& folders, const QStringList& patterns, const QDir& root = QDir(sourceDir())) {
  QStringList found;
  for (const QString& folder : folders) {
    QDirIterator walk(root.filePath(folder), patterns, QDir::Files | QDir::Hidden, QDirIterator::Subdirectories);
    while (walk.hasNext()) {
      found << root.relativeFilePath(walk.next());
    }
  }
  found.sort();
  return found;
}

struct Include {
  QString target;
  int line = 0;
};

QList<Include> includesOf(const QString& text) {
  static const QRegularExpression kInclude(QStringLiteral("^\\s*#\\s*include\\s*[<\"]([^>\"]+)[>\"]"));
  QList<Include> found;
  int line = 0;
  for (const QString& row : text.split(QLatin1Char('\n'))) {
    ++line;
    const auto match = kInclude.match(row);
    if (match.hasMatch()) {
      found.append({match.captured(1), line});
    }
  }
  return found;
}

/// A member whose unit is in its comment alone.
bool isBareUnit(const QString& line) {
  static const QRegularExpression kBare(
      QStringLiteral("\\b(?:double|float|Rational)>* (?!m_)\\w+[^/]*///< (?:GB/s|us\\b|microseconds)"));
  return kBare.match(line).hasMatch();
}

/// Which folders of app/ each folder of app/ may include, beside itself and core/; parts of the designer count as
/// folders of their own. A feature of the designer includes no
/// other feature: they meet in the workspace. A folder that is not listed may include nothing.
const QMap<QString, QSet<QString>>& allowedInApp() {
  static const QSet<QString> kKernel = {"designer/document", "designer/jobs",   "designer/models",
                                        "designer/theme",    "designer/canvas", "designer/charts"};
  // What a part with a feature of its own knows: the open documents and the questions to the user too.
  static const QSet<QString> kGround = kKernel + QSet<QString>{"designer/palette", "designer/workspace", "workflow"};
  static const QSet<QString> kSchedules = kGround + QSet<QString>{"designer/schedules"};
  static const QMap<QString, QSet<QString>> kAllowed = {
      {"remote", {}},
      {"workflow", {"remote"}},
      {"dot-helper", {}},
      {"executor", {}},
      {"cli", {"remote", "workflow"}},
      {"python", {"workflow"}},
      {"designer/document", {}},
      {"designer/theme", {}},
      {"designer/charts", {"designer/document", "designer/theme"}},
      {"designer/timeline", {"designer/theme"}},
      {"designer/jobs", {"designer/document", "workflow"}},
      {"designer/models", {"designer/document"}},
      {"designer/canvas", {"designer/document", "designer/jobs", "designer/theme"}},
      {"designer/layout", {"designer/document", "designer/jobs"}},
      {"designer/palette", kKernel},
      {"designer/workspace", kKernel + QSet<QString>{"designer/palette"}},
      {"designer/help", kKernel},
      {"designer/analysis", kKernel},
      {"designer/render", kKernel},
      {"designer/schedules", kGround},
      {"designer/trees", kSchedules + QSet<QString>{"designer/layout"}},
      {"designer/search", kSchedules},
      {"designer/export", kSchedules},
      {"designer/playback", kSchedules + QSet<QString>{"designer/trees", "designer/timeline", "designer/render"}},
      {"designer/replay",
       kSchedules + QSet<QString>{"designer/trees", "designer/playback", "designer/render", "designer/timeline"}},
      {"designer/compare",
       kSchedules + QSet<QString>{"designer/trees", "designer/export", "designer/playback", "designer/timeline"}},
      {"designer/finder", kSchedules},
      {"designer/frontier", kSchedules},
      {"designer/sketch", kSchedules},
      {"designer/groups", kSchedules},
      {"designer/exchange", kSchedules},
      {"designer/training", kSchedules + QSet<QString>{"designer/timeline"}},
      {"designer/program", kSchedules + QSet<QString>{"designer/trees", "designer/export"}},
      {"designer/run",
       kSchedules + QSet<QString>{"designer/trees", "designer/playback", "designer/timeline", "remote"}},
      {"designer/features",
       kGround + QSet<QString>{"designer/layout", "designer/analysis", "designer/help", "designer/render", "remote"}},
      {"designer/window",
       kSchedules + QSet<QString>{"designer/layout",   "designer/finder",   "designer/frontier", "designer/help",
                                  "designer/analysis", "designer/render",   "designer/trees",    "designer/search",
                                  "designer/export",   "designer/playback", "designer/compare",  "designer/timeline",
                                  "designer/program",  "designer/sketch",   "designer/run",      "designer/replay",
                                  "designer/groups",   "designer/exchange", "designer/training", "designer/features"}},
  };
  return kAllowed;
}

/// The folder of app/ that a path relative to app/ lies in, as the table above counts folders.
QString appLayerOf(const QString& path) {
  const int depth = path.startsWith(QLatin1String("designer/")) ? 1 : 0;
  return path.section(QLatin1Char('/'), 0, depth);
}

/// Why a file of core/ (path relative to the project) may not include the target; empty = it may.
QString objection(const QString& file, const QString& target) {
  const QString folder = layerOf(file.section(QLatin1Char('/'), 1));
  if (target.startsWith(QLatin1String("graphviz/")) && folder != QLatin1String("dot")) {
    return QStringLiteral("only core/dot and app/dot-helper may include Graphviz");
  }
  static const QRegularExpression kQt(QStringLiteral("^(Qt[A-Z0-9]\\w*/.*|Q[A-Z]\\w*|q[a-z0-9]+\\.h)$"));
  if (kQt.match(target).hasMatch()) {
    return QStringLiteral("core/ knows nothing of Qt");
  }
  if (target.startsWith(QLatin1String("app/")) || target.startsWith(QLatin1String("../"))) {
    return QStringLiteral("core/ includes only from core/, with the folder's name");
  }
  const QString other = layerOf(target);
  if (!target.contains(QLatin1Char('/')) || !allowedIncludes().contains(other) || other == folder) {
    return {};
  }
  if (folder == QLatin1String("verify") && !mayVerifierInclude(file, target)) {
    return QStringLiteral("core/verify shares data types alone; what it compares it computes itself");
  }
  if (!allowedIncludes().value(folder).contains(other)) {
    return QStringLiteral("core/%1 may not include core/%2").arg(folder, other);
  }
  return {};
}

/// Why a file of app/workflow or app/remote (path relative to the project) may not include the target; empty = it may.
/// Both are for all front ends, so they know none of them.
QString sharedObjection(const QString& file, const QString& target) {
  static const QRegularExpression kQt(QStringLiteral("^(Qt[A-Z0-9]\\w*/.*|Q[A-Z]\\w*|q[a-z0-9]+\\.h)$"));
  if (kQt.match(target).hasMatch()) {
    return QStringLiteral("it knows nothing of Qt");
  }
  if (target.startsWith(QLatin1String("CLI/"))) {
    return QStringLiteral("options are read by app/cli");
  }
  const bool isRemote = file.startsWith(QLatin1String("app/remote/"));
  const QString folder = layerOf(target);
  const bool isOwn = target.endsWith(QLatin1String(".hpp"));
  const bool isBelow = folder == QLatin1String("remote") || (!isRemote && folder == QLatin1String("workflow"));
  const bool isBuilt = folder == QLatin1String("coppice");  // made by CMake
  const bool isLibrary = folder == QLatin1String("nlohmann");
  if (isOwn && !isBelow && !isBuilt && !isLibrary && !allowedIncludes().contains(folder)) {
    return QStringLiteral("it includes only core/, %1, with the folder's name")
        .arg(isRemote ? QStringLiteral("app/remote") : QStringLiteral("app/remote and app/workflow"));
  }
  return {};
}

/// Why a file of app/ (path relative to the project) may not include the target; empty = it may.
QString appObjection(const QString& file, const QString& target) {
  const QString inApp = file.section(QLatin1Char('/'), 1);
  const QString folder = appLayerOf(inApp);
  if (folder == QLatin1String("workflow") || folder == QLatin1String("remote")) {
    return sharedObjection(file, target);
  }
  static const QRegularExpression kQt(QStringLiteral("^(Qt[A-Z0-9]\\w*/.*|Q[A-Z]\\w*|q[a-z0-9]+\\.h)$"));
  if (!folder.startsWith(QLatin1String("designer/")) && kQt.match(target).hasMatch()) {
    return QStringLiteral("only the designer includes Qt");
  }
  const QString other = appLayerOf(target);
  if (!allowedInApp().contains(other)) {
    return {};
  }
  static const QString kFeatures = QStringLiteral("designer/features");
  if (folder == kFeatures && other == kFeatures &&
      inApp.section(QLatin1Char('/'), 0, 2) != target.section(QLatin1Char('/'), 0, 2)) {
    return QStringLiteral("a feature may not include another feature");
  }
  if (other != folder && !allowedInApp().value(folder).contains(other)) {
    return QStringLiteral("app/%1 may not include app/%2").arg(folder, other);
  }
  return {};
}

/// "core/verify/a.cpp:3: includes b.hpp: why not" for each include below core/ and app/ that may not be.
QStringList faultyIncludes(const QDir& root, int& seen) {
  QStringList faults;
  for (const QString& file : filesBelow({"core", "app"}, {"*.hpp", "*.cpp", "*.h"}, root)) {
    const bool isApp = file.startsWith(QLatin1String("app/"));
    for (const Include& include : includesOf(QString::fromUtf8(contents(root.filePath(file))))) {
      ++seen;
      const QString why = isApp ? appObjection(file, include.target) : objection(file, include.target);
      if (!why.isEmpty()) {
        faults << QStringLiteral("%1:%2: includes %3: %4").arg(file).arg(include.line).arg(include.target, why);
      }
    }
  }
  return faults;
}

}  // namespace

class TestProject : public QObject {
  Q_OBJECT

private slots:
  void objections_data();
  void objections();
  void everyFolderOfCoreIsListed();
  void everyFolderOfAppIsListed();
  void includesFollowTheLayers();
  void plantedIncludesAreFound();
  void verifierSharesTypesAlone();
  void verifierCalls_data();
  void verifierCalls();
  void verifierCallsNothingElse();
  void appObjections_data();
  void appObjections();
  void graphvizStaysInTheHelper();
  void everySourceNamesItsLicence();
  void noMachinePaths();
  void oddWords_data();
  void oddWords();
  void textsUseTheWordsOfTheGlossary();
  void bareUnits_data();
  void bareUnits();
  void headersTypeTheirUnits();
  void architectureNamesFoldersAndFiles();
};

void TestProject::objections_data() {
  QTest::addColumn<QString>("file");
  QTest::addColumn<QString>("target");
  QTest::addColumn<bool>("allowed");
  QTest::newRow("lower layer") << "core/fabric/fabric.cpp"
                               << "base/result.hpp" << true;
  QTest::newRow("own folder") << "core/verify/a.cpp"
                              << "verify/b.hpp" << true;
  QTest::newRow("standard header") << "core/base/a.cpp"
                                   << "vector" << true;
  QTest::newRow("library header") << "core/io/a.cpp"
                                  << "nlohmann/json.hpp" << true;
  QTest::newRow("upper layer") << "core/base/a.cpp"
                               << "fabric/fabric.hpp" << false;
  QTest::newRow("verifier and generator") << "core/verify/a.cpp"
                                          << "forestcoll/forestcoll.hpp" << false;
  QTest::newRow("verifier and lowering") << "core/verify/a.cpp"
                                         << "lowering/lowering.hpp" << false;
  QTest::newRow("verifier and presets") << "core/verify/a.cpp"
                                        << "presets/presets.hpp" << false;
  QTest::newRow("verifier and a schedule") << "core/verify/a.cpp"
                                           << "schedule/step_schedule.hpp" << true;
  QTest::newRow("verifier and loads of schedules") << "core/verify/step_verifier.cpp"
                                                   << "schedule/step_cost.hpp" << false;
  QTest::newRow("verifier and rotations") << "core/verify/symmetry_check.cpp"
                                          << "schedule/rotation.hpp" << false;
  QTest::newRow("verifier and routes") << "core/verify/exchange_check.cpp"
                                       << "schedule/arc_finder.hpp" << false;
  QTest::newRow("verifier and the order of transfers") << "core/verify/step_state.hpp"
                                                       << "schedule/transfer_order.hpp" << false;
  QTest::newRow("verifier and makers of models") << "core/verify/plan_check.cpp"
                                                 << "sketch/make_model.hpp" << false;
  QTest::newRow("verifier and the reader of programs") << "core/verify/program_verifier.cpp"
                                                       << "program/msccl_xml.hpp" << false;
  QTest::newRow("verifier and max flow") << "core/verify/a.cpp"
                                         << "flow/lemon/max_flow.hpp" << true;
  QTest::newRow("verifier and the generator's flow") << "core/verify/a.cpp"
                                                     << "flow/feasibility.hpp" << false;
  QTest::newRow("generator and the verifier's flow") << "core/forestcoll/a.cpp"
                                                     << "flow/lemon/max_flow.hpp" << false;
  QTest::newRow("generator and files") << "core/forestcoll/a.cpp"
                                       << "io/files.hpp" << false;
  QTest::newRow("Qt class") << "core/io/a.cpp"
                            << "QString" << false;
  QTest::newRow("Qt module") << "core/io/a.cpp"
                             << "QtCore/qstring.h" << false;
  QTest::newRow("Graphviz") << "core/io/a.cpp"
                            << "graphviz/cgraph.h" << false;
  QTest::newRow("Graphviz in its folder") << "core/dot/a.cpp"
                                          << "graphviz/cgraph.h" << true;
  QTest::newRow("program") << "core/io/a.cpp"
                           << "app/cli/x.hpp" << false;
  QTest::newRow("relative path") << "core/io/a.cpp"
                                 << "../base/result.hpp" << false;
}

void TestProject::objections() {
  QFETCH(QString, file);
  QFETCH(QString, target);
  QFETCH(bool, allowed);
  QCOMPARE(objection(file, target).isEmpty(), allowed);
}

void TestProject::everyFolderOfAppIsListed() {
  for (const QString& base : {QStringLiteral("app"), QStringLiteral("app/designer")}) {
    const QStringList folders = QDir(sourceDir() + "/" + base).entryList(QDir::Dirs | QDir::NoDotAndDotDot);
    QVERIFY(!folders.isEmpty());
    for (const QString& folder : folders) {
      const QString path = (base + "/" + folder).mid(4);
      QVERIFY2(path == "designer" || allowedInApp().contains(path),
               qPrintable("app/" + path + " is not in the table of this test"));
    }
  }
}

void TestProject::everyFolderOfCoreIsListed() {
  const QStringList folders = QDir(sourceDir() + "/core").entryList(QDir::Dirs | QDir::NoDotAndDotDot);
  QVERIFY(!folders.isEmpty());
  for (const QString& folder : folders) {
    QVERIFY2(allowedIncludes().contains(folder), qPrintable("core/" + folder + " is not in the table of this test"));
  }
}

void TestProject::includesFollowTheLayers() {
  int seen = 0;
  const QStringList faults = faultyIncludes(QDir(sourceDir()), seen);
  QVERIFY2(seen > 100, "the include lines were not found");
  QVERIFY2(faults.isEmpty(), qPrintable(faults.join(QLatin1Char('\n'))));
}

void TestProject::plantedIncludesAreFound() {
  const QTemporaryDir folder;
  const QDir root(folder.path());
  const auto plant = [&](const QString& file, const QByteArray& text) {
    QVERIFY(root.mkpath(file.section(QLatin1Char('/'), 0, -2)));
    QFile planted(root.filePath(file));
    QVERIFY(planted.open(QIODevice::WriteOnly));
    planted.write(text);
  };
  plant("core/verify/a.cpp",
        "#include \"verify/a.hpp\"\n#include \"schedule/forest.hpp\"\n#include \"schedule/link_loads.hpp\"\n");
  plant("core/verify/deep/b.hpp", "#pragma once\n\n  #  include <flow/feasibility.hpp>\n");
  plant("core/forestcoll/c.cpp", "#include \"flow/feasibility.hpp\"\n");
  int seen = 0;
  const QStringList faults = faultyIncludes(root, seen);
  QCOMPARE(seen, 5);
  QCOMPARE(faults.size(), 2);
  QVERIFY2(faults[0].startsWith("core/verify/a.cpp:3: includes schedule/link_loads.hpp"), qPrintable(faults[0]));
  QVERIFY2(faults[1].startsWith("core/verify/deep/b.hpp:3: includes flow/feasibility.hpp"), qPrintable(faults[1]));
}

/// What a header of types includes, the verifier includes as well.
void TestProject::verifierSharesTypesAlone() {
  for (const QString& header : typesOfTheVerifier()) {
    const QByteArray text = contents(sourceDir() + "/core/" + header);
    QVERIFY2(!text.isEmpty(), qPrintable(header));
    for (const Include& include : includesOf(QString::fromUtf8(text))) {
      const bool isOurs = allowedIncludes().contains(layerOf(include.target));
      QVERIFY2(!isOurs || mayVerifierInclude("core/verify/any.cpp", include.target),
               qPrintable(QStringLiteral("%1:%2: the verifier uses it; it may not include %3")
                              .arg(header)
                              .arg(include.line)
                              .arg(include.target)));
    }
  }
}

void TestProject::verifierCalls_data() {
  QTest::addColumn<QString>("function");
  QTest::addColumn<bool>("allowed");
  QTest::newRow("own") << "coppice::verify::checkPlan(coppice::sketch::Plan const&)" << true;
  QTest::newRow("base") << "coppice::Rational::operator+(coppice::Rational const&) const" << true;
  QTest::newRow("limits of runtimes") << "coppice::program::limits(coppice::program::Runtime)" << true;
  QTest::newRow("member of a type") << "coppice::schedule::PathPool::operator[](int) const" << true;
  QTest::newRow("flow of its own") << "coppice::flow::lemon::MaxFlow::run(int, int)" << true;
  QTest::newRow("flow of generators") << "coppice::flow::maxFlow(coppice::flow::Network const&, int, int)" << false;
  QTest::newRow("function beside a type") << "coppice::schedule::heights(coppice::schedule::Forest const&)" << false;
  QTest::newRow("member that computes") << "coppice::schedule::Forest::algbw() const" << false;
}

void TestProject::verifierCalls() {
  QFETCH(QString, function);
  QFETCH(bool, allowed);
  QCOMPARE(mayVerifierCall(function), allowed);
}

/// The libraries themselves: what they leave undefined they take from elsewhere.
void TestProject::verifierCallsNothingElse() {
  const auto symbolsOf = [](const QString& kind) {
    QSet<QString> names;
    QProcess nm;
    nm.start(COPPICE_NM, QStringList{"-C", kind} + QStringLiteral(COPPICE_VERIFIER).split(QLatin1Char('|')));
    if (nm.waitForFinished(-1) && nm.exitCode() == 0) {
      static const QRegularExpression kSymbol(QStringLiteral("^[0-9a-f]* +[A-Za-z] (coppice::.*)$"));
      for (const QString& line : QString::fromUtf8(nm.readAllStandardOutput()).split(QLatin1Char('\n'))) {
        if (const auto match = kSymbol.match(line); match.hasMatch()) {
          names << match.captured(1);
        }
      }
    }
    return names;
  };
  const QSet<QString> taken = symbolsOf("--undefined-only") - symbolsOf("--defined-only");
  QVERIFY2(taken.contains("coppice::schedule::PathPool::operator[](int) const"), "the symbols were not found");
  QStringList faults;
  for (const QString& function : taken) {
    if (!mayVerifierCall(function)) {
      faults << function;
    }
  }
  QVERIFY2(faults.isEmpty(), qPrintable(faults.join(QLatin1Char('\n'))));
}

void TestProject::appObjections_data() {
  QTest::addColumn<QString>("file");
  QTest::addColumn<QString>("target");
  QTest::addColumn<bool>("allowed");
  const auto row = [](const char* title, const char* file, const char* target, bool isAllowed) {
    QTest::newRow(title) << QStringLiteral("app/") + QLatin1String(file) << QString::fromLatin1(target) << isAllowed;
  };
  row("core", "workflow/a.cpp", "forestcoll/forestcoll.hpp", true);
  row("flow of the verifier", "workflow/a.cpp", "flow/lemon/max_flow.hpp", true);
  row("own folder", "workflow/a.cpp", "workflow/options.hpp", true);
  row("remote", "workflow/a.cpp", "remote/ssh.hpp", true);
  row("standard header", "workflow/a.cpp", "vector", true);
  row("system header", "workflow/a.cpp", "sys/stat.h", true);
  row("Qt", "workflow/a.cpp", "QString", false);
  row("Qt module", "workflow/a.cpp", "QtCore/qstring.h", false);
  row("window", "workflow/a.cpp", "designer/run/call.hpp", false);
  row("command line", "workflow/a.cpp", "input.hpp", false);
  row("option parser", "workflow/a.cpp", "CLI/CLI.hpp", false);
  row("executor", "workflow/a.cpp", "bench/table.hpp", false);
  row("workflow below itself", "remote/a.cpp", "workflow/options.hpp", false);
  row("program and its library", "cli/a.cpp", "remote/scripts.hpp", true);
  row("command line and designer", "cli/a.cpp", "designer/document/model.hpp", false);
  row("command line and Qt", "cli/a.cpp", "QString", false);
  row("designer and Qt", "designer/run/a.cpp", "QString", true);
  row("lower part", "designer/canvas/tools/a.cpp", "designer/document/model.hpp", true);
  row("part and workspace", "designer/schedules/a.cpp", "designer/workspace/workspace.hpp", true);
  row("schedules and trees", "designer/schedules/a.cpp", "designer/trees/tree_model.hpp", false);
  row("trees and schedules", "designer/trees/a.cpp", "designer/schedules/schedule_book.hpp", true);
  row("workspace and part", "designer/workspace/a.cpp", "designer/schedules/schedule_book.hpp", false);
  row("feature and workspace", "designer/features/find/a.cpp", "designer/workspace/workspace.hpp", true);
  row("feature and itself", "designer/features/find/a.cpp", "designer/features/find/find_bar.hpp", true);
  row("feature and feature", "designer/features/find/a.cpp", "designer/features/edit/edit_feature.hpp", false);
  row("feature and window", "designer/features/find/a.cpp", "designer/window/main_window.hpp", false);
  row("window and feature", "designer/window/a.cpp", "designer/features/find/find_bar.hpp", true);
  row("part and window", "designer/schedules/a.cpp", "designer/window/main_window.hpp", false);
  row("upper part", "designer/document/a.cpp", "designer/canvas/canvas_view.hpp", false);
}

void TestProject::appObjections() {
  QFETCH(QString, file);
  QFETCH(QString, target);
  QFETCH(bool, allowed);
  QCOMPARE(appObjection(file, target).isEmpty(), allowed);
}

void TestProject::graphvizStaysInTheHelper() {
  for (const QString& file : filesBelow({"app", "tests"}, {"*.hpp", "*.cpp", "*.h"})) {
    if (file.startsWith(QLatin1String("app/dot-helper/"))) {
      continue;
    }
    for (const Include& include : includesOf(QString::fromUtf8(contents(sourceDir() + "/" + file)))) {
      QVERIFY2(!include.target.startsWith(QLatin1String("graphviz/")), qPrintable(file + " includes Graphviz"));
    }
  }
}

void TestProject::everySourceNamesItsLicence() {
  const QStringList patterns = {"*.hpp", "*.cpp", "*.h", "*.in", "*.cmake", "CMakeLists.txt", "*.sh"};
  QStringList files = filesBelow({"core", "app", "tests", "examples", "resources"}, patterns);
  files << "CMakeLists.txt"
        << ".ci/run";
  QVERIFY(files.size() > 50);
  QStringList faults;
  for (const QString& file : files) {
    if (file.startsWith(QLatin1String("tests/data/"))) {
      continue;
    }
    const QString expected = file.startsWith(QLatin1String("app/designer/")) ? "GPL-3.0-or-later" : "Apache-2.0";
    // The first line, or the second below "#!".
    const QList<QByteArray> lines = contents(sourceDir() + "/" + file).split('\n').mid(0, 2);
    const bool named = std::any_of(lines.begin(), lines.end(), [&](const QByteArray& line) {
      return line.trimmed().endsWith(("SPDX-License-Identifier: " + expected).toUtf8());
    });
    if (!named) {
      faults << QStringLiteral("%1 does not begin with its SPDX line (%2)").arg(file, expected);
    }
  }
  QVERIFY2(faults.isEmpty(), qPrintable(faults.join(QLatin1Char('\n'))));
}

void TestProject::noMachinePaths() {
  // Paths of one person's machine; spelt in pieces so that this file passes too.
  static const QRegularExpression kPath(QStringLiteral("(^|[\"'\\s=(:])/(wo") + QStringLiteral("rk|ho") +
                                        QStringLiteral("me|root|Us") + QStringLiteral("ers)/\\w"));
  const QStringList patterns = {"*.hpp", "*.cpp", "*.cmake", "*.txt", "*.sh", "*.json", "*.md", "*.in", "run"};
  QStringList files = filesBelow({"core", "app", "tests", "examples", "resources", ".ci"}, patterns);
  files << "CMakeLists.txt"
        << "CMakePresets.json"
        << "README.md";
  QStringList faults;
  for (const QString& file : files) {
    int line = 0;
    for (const QByteArray& row : contents(sourceDir() + "/" + file).split('\n')) {
      ++line;
      if (kPath.match(QString::fromUtf8(row)).hasMatch()) {
        faults << QStringLiteral("%1:%2 names a path of one machine").arg(file).arg(line);
      }
    }
  }
  QVERIFY2(faults.isEmpty(), qPrintable(faults.join(QLatin1Char('\n'))));
}

/// The worst words: resources/doc/wording.md says what to write instead.
static const QRegularExpression& oddWord() {
  static const QRegularExpression kOdd(
      QStringLiteral(
          "\\b(mend(s|ed|ing)?|anew|shall|strangers?|whoever|whomever|hither|thither|believed)\\b"
          "|\\b(over there|is to be had|so many|for ever|way round|no good|to and fro|half gone)\\b"
          "|\\b(brought home|tell us about|the other side says)\\b"
          "|\\b(somebody|anybody|anymore|any more|at hand|passed over|of no use|gives? way|one and the same)\\b"
          "|\\b(it|this|that|which) is no (table|list|fabric|graph|schedule|program|number|link|GPU)\\b"),
      QRegularExpression::CaseInsensitiveOption);
  return kOdd;
}

void TestProject::oddWords_data() {
  QTest::addColumn<QString>("text");
  QTest::addColumn<bool>("odd");
  QTest::newRow("mend") << "\"mend the text\"" << true;
  QTest::newRow("capital") << "/// Anew from the file." << true;
  QTest::newRow("two words") << "runs over there" << true;
  QTest::newRow("somebody") << "until somebody zooms" << true;
  QTest::newRow("is no") << "the fix of a text that is no number" << true;
  QTest::newRow("is not") << "the fix of a text that is not a number; there is no link" << false;
  QTest::newRow("longer word") << "recommended, amended, marshalling" << false;
  QTest::newRow("identifier") << "mendFor(text)" << false;
  QTest::newRow("plain") << "Correct the text and generate the file again." << false;
}

void TestProject::oddWords() {
  QFETCH(QString, text);
  QFETCH(bool, odd);
  QCOMPARE(oddWord().match(text).hasMatch(), odd);
}

/// Sources, help, manual and scripts keep to plain words.
void TestProject::textsUseTheWordsOfTheGlossary() {
  const QStringList patterns = {"*.hpp", "*.cpp", "*.cu",    "*.md",  "*.sh",  "*.py",
                                "*.in",  "*.txt", "*.cmake", "*.xml", "*.qrc", "run"};
  QStringList files = filesBelow({"core", "app", "tests", "examples", "resources", ".ci"}, patterns);
  files << "CMakeLists.txt"
        << "README.md";
  QVERIFY(files.size() > 300);
  QStringList faults;
  for (const QString& file : files) {
    // The lists of these words, and inputs from elsewhere.
    if (file == QLatin1String("tests/project/tst_project.cpp") || file == QLatin1String("resources/doc/wording.md") ||
        file.startsWith(QLatin1String("tests/data/")) || file.startsWith(QLatin1String("resources/fonts/"))) {
      continue;
    }
    int line = 0;
    for (const QByteArray& row : contents(sourceDir() + "/" + file).split('\n')) {
      ++line;
      const auto match = oddWord().match(QString::fromUtf8(row));
      if (match.hasMatch()) {
        faults << QStringLiteral("%1:%2: \"%3\"; resources/doc/wording.md has a plain word for it")
                      .arg(file)
                      .arg(line)
                      .arg(match.captured(0));
      }
    }
  }
  QVERIFY2(faults.isEmpty(), qPrintable(faults.join(QLatin1Char('\n'))));
}

/// resources/doc/architecture.md: every path in it exists, and every folder of core/ and app/ is in it.
void TestProject::bareUnits_data() {
  QTest::addColumn<QString>("line");
  QTest::addColumn<bool>("isBare");
  QTest::newRow("exact bandwidth") << "  Rational algbw;  ///< GB/s" << true;
  QTest::newRow("optional") << "  std::optional<Rational> bound = {};  ///< GB/s, exact" << true;
  QTest::newRow("vector") << "  std::vector<double> rates;  ///< GB/s by arc" << true;
  QTest::newRow("time") << "  double time = 0;  ///< us until the end" << true;
  QTest::newRow("words") << "  Rational alpha;  ///< microseconds a step" << true;
  QTest::newRow("a type") << "  Bandwidth algbw;  ///< of all GPUs" << false;
  QTest::newRow("a ratio") << "  Rational loss;  ///< of the optimum" << false;
  QTest::newRow("unit in the name") << "  double time_us = 0;  ///< mean" << false;
  QTest::newRow("a member of a class") << "  double m_most = 0;  ///< us" << false;
}

void TestProject::bareUnits() {
  QFETCH(QString, line);
  QTEST(isBareUnit(line), "isBare");
}

/// Bandwidths, times and throughputs are types (base/units.hpp, duration.hpp, throughput.hpp) where they cross a header
/// that other folders include.
void TestProject::headersTypeTheirUnits() {
  // Floating point that is drawn, or that one engine keeps to itself.
  static const QSet<QString> kOwn = {QStringLiteral("app/designer/canvas/canvas_scene.hpp"),
                                     QStringLiteral("app/designer/document/arrangement_parts.hpp"),
                                     QStringLiteral("core/simulate/link_sharing.hpp"),
                                     QStringLiteral("core/simulate/steady_state.hpp")};
  QStringList found;
  for (const QString& path : filesBelow({QStringLiteral("core"), QStringLiteral("app")}, {QStringLiteral("*.hpp")})) {
    int number = 0;
    for (const QString& line : QString::fromUtf8(contents(sourceDir() + "/" + path)).split(QLatin1Char('\n'))) {
      ++number;
      if (isBareUnit(line) && !kOwn.contains(path)) {
        found << QStringLiteral("%1:%2: %3").arg(path).arg(number).arg(line.trimmed());
      }
    }
  }
  QVERIFY2(found.isEmpty(), qPrintable(found.join(QLatin1Char('\n'))));
}

void TestProject::architectureNamesFoldersAndFiles() {
  const QString text = QString::fromUtf8(contents(sourceDir() + "/resources/doc/architecture.md"));
  static const QRegularExpression kPath(QStringLiteral("`((?:core|app|tests|resources)/[^`]*)`"));
  QStringList named;
  for (auto found = kPath.globalMatch(text); found.hasNext();) {
    named << found.next().captured(1);
    QVERIFY2(QFileInfo::exists(sourceDir() + "/" + named.last()), qPrintable(named.last() + " does not exist"));
  }
  for (const char* top : {"core", "app"}) {
    for (const QString& folder : QDir(sourceDir() + "/" + top).entryList(QDir::Dirs | QDir::NoDotAndDotDot)) {
      const QString path = QString::fromLatin1(top) + "/" + folder;
      QVERIFY2(named.contains(path), qPrintable(path + " is not in resources/doc/architecture.md"));
    }
  }
}

QTEST_GUILESS_MAIN(TestProject)
#include "tst_project.moc"
