// SPDX-License-Identifier: Apache-2.0
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QRegularExpression>
#include <QSet>
#include <QTemporaryDir>
#include <QTest>

#include "coppice/test_paths.hpp"
#include "support/cli_runner.hpp"

using namespace coppice::test;

/// The manual (README.md and resources/doc) is true: its commands run, what it shows is printed, its options exist.
namespace {

QString sourceDir() {
  return QStringLiteral(COPPICE_EXAMPLES) + "/..";
}

QString textOf(const QString& file) {
  QFile source(sourceDir() + "/" + file);
  return source.open(QIODevice::ReadOnly) ? QString::fromUtf8(source.readAll()) : QString();
}

/// The lines inside ``` fences.
QStringList codeLines(const QString& markdown) {
  QStringList lines;
  bool isCode = false;
  for (const QString& line : markdown.split('\n')) {
    if (line.startsWith("```")) {
      isCode = !isCode;
    } else if (isCode) {
      lines << line;
    }
  }
  return lines;
}

Outcome runShell(const QString& script, const QString& folder) {
  QProcess process;
  process.setWorkingDirectory(folder);
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  environment.insert("PATH", QFileInfo(QStringLiteral(COPPICE_CLI)).path() + ":" + environment.value("PATH"));
  process.setProcessEnvironment(environment);
  process.start("/bin/sh", {"-c", script});
  process.closeWriteChannel();
  return finish(process);
}

}  // namespace

class TestCliManual : public QObject {
  Q_OBJECT

private slots:
  void commandsRun_data();
  void commandsRun();
  void quickstartPrintsWhatTheManualShows();
  void fabricOfTheManualIsValid();
  void examplesOfTheManual();
  void optionsExist();
  void linksLeadToFiles();
};

void TestCliManual::commandsRun_data() {
  QTest::addColumn<QString>("file");
  QTest::newRow("README") << "README.md";
  QTest::newRow("command line") << "resources/doc/command-line.md";
}

/// The commands of coppice-cli in a page, one after the other in one folder.
void TestCliManual::commandsRun() {
  QFETCH(QString, file);
  static const QRegularExpression kComment(QStringLiteral("\\s+#.*$"));
  QTemporaryDir folder;
  int commands = 0;
  for (QString line : codeLines(textOf(file))) {
    line.remove(kComment);
    if (line.startsWith("./")) {
      line.remove(0, 2);
    }
    // DOT needs the Graphviz helper, which is an optional part.
    if (line.startsWith("coppice-cli ") && (COPPICE_HAS_DOT || !line.endsWith(".dot"))) {
      ++commands;
      const Outcome outcome = runShell(line, folder.path());
      QVERIFY2(outcome.code == 0, qPrintable(line + "\n" + told(outcome)));
    }
  }
  QVERIFY(commands >= 4);
}

/// The commands of examples/quickstart.sh print what quickstart.md shows, apart from times and places.
void TestCliManual::quickstartPrintsWhatTheManualShows() {
  static const QRegularExpression kRun(QStringLiteral("^run (.*)$"), QRegularExpression::MultilineOption);
  QString script =
      "set -e; fabric=examples/2x-dgx-a100.fabric.json out=build/quickstart; "
      "run() { printf '\\n$ coppice-cli %s\\n' \"$*\"; coppice-cli \"$@\"; }\n";
  int commands = 0;
  for (auto found = kRun.globalMatch(textOf("examples/quickstart.sh")); found.hasNext(); ++commands) {
    script += "run " + found.next().captured(1) + "\n";
  }
  QVERIFY(commands >= 6);
  QTemporaryDir folder;
  QVERIFY(QDir(folder.path()).mkpath("build/quickstart"));
  QVERIFY(QFile::link(QFileInfo(QStringLiteral(COPPICE_EXAMPLES)).absoluteFilePath(), folder.path() + "/examples"));
  const Outcome ran = runShell(script, folder.path());
  VERIFY_TOLD(ran.code == 0, ran);

  const auto withoutTimes = [&](QString text) {
    static const QRegularExpression kTime(QStringLiteral("^  time  .*$"), QRegularExpression::MultilineOption);
    return text.replace(folder.path(), "/path/to/coppice").replace(kTime, "  time").split('\n');
  };
  const QStringList manual = withoutTimes(codeLines(textOf("resources/doc/quickstart.md")).join('\n'));
  qsizetype at = 0;
  for (const QString& line : withoutTimes(QString::fromUtf8(ran.out))) {
    if (line.isEmpty()) {
      continue;
    }
    const qsizetype next = manual.indexOf(line, at);
    QVERIFY2(next >= 0, qPrintable("not in quickstart.md, or not in this order: " + line));
    at = next + 1;
  }

  // What the script says in the end.
  const Outcome verified = runShell("coppice-cli verify build/quickstart/2x-dgx-a100.xml --json", folder.path());
  VERIFY_TOLD(verified.code == 0, verified);
  const QJsonObject used = QJsonDocument::fromJson(verified.out).object()["used_at"].toObject();
  QVERIFY(used["powers_of_two"].toBool());
  QVERIFY(textOf("examples/quickstart.sh").contains("(-b 1K -e 1G -f 2) uses the program at every size"));
  QVERIFY(used["sweep"].toObject()["first_bytes"].toDouble() <= 1024);
  QVERIFY(used["sweep"].toObject()["last_bytes"].toDouble() >= 1024.0 * 1024 * 1024);
}

void TestCliManual::fabricOfTheManualIsValid() {
  static const QRegularExpression kJson(QStringLiteral("```json\n(.*?)```"),
                                        QRegularExpression::DotMatchesEverythingOption);
  const auto match = kJson.match(textOf("resources/doc/fabric-files.md"));
  QVERIFY(match.hasMatch());
  QTemporaryDir folder;
  QFile file(folder.filePath("pair.fabric.json"));
  QVERIFY(file.open(QIODevice::WriteOnly));
  file.write(match.captured(1).toUtf8());
  file.close();
  const Outcome outcome = runShell("coppice-cli check pair.fabric.json", folder.path());
  VERIFY_TOLD(outcome.code == 0 && outcome.out.contains("valid fabric"), outcome);
}

/// The table of examples: GPUs, best allgather and k.
void TestCliManual::examplesOfTheManual() {
  static const QRegularExpression kRow(
      QStringLiteral("^\\| `([^`]+)` \\| (\\d+) \\| ([0-9/]+)(?: = [0-9.]+)? \\| (\\d+) \\|$"),
      QRegularExpression::MultilineOption);
  QSet<QString> seen;
  for (auto rows = kRow.globalMatch(textOf("resources/doc/fabric-files.md")); rows.hasNext();) {
    const auto row = rows.next();
    const QString name = row.captured(1);
    const Outcome outcome =
        runShell("coppice-cli optimum " + name + ".fabric.json --json", QStringLiteral(COPPICE_EXAMPLES));
    VERIFY_TOLD(outcome.code == 0, outcome);
    const QJsonObject json = QJsonDocument::fromJson(outcome.out).object();
    QCOMPARE(QString::number(json["gpus"].toInt()), row.captured(2));
    QCOMPARE(json["algbw"].toString(), row.captured(3));
    QCOMPARE(QString::number(json["k"].toInt()), row.captured(4));
    seen << name + ".fabric.json";
  }
  const QStringList files = QDir(QStringLiteral(COPPICE_EXAMPLES)).entryList({"*.fabric.json"}, QDir::Files);
  QCOMPARE(seen, QSet<QString>(files.begin(), files.end()));
}

/// Every long option that the manual names is one of a program of Coppice, where that program is built.
void TestCliManual::optionsExist() {
  const QString bin = QFileInfo(QStringLiteral(COPPICE_CLI)).path();
  const auto helpOf = [](const QString& command) {
    const Outcome outcome = runShell(command + " --help", QDir::tempPath());
    return QString::fromUtf8(outcome.out);
  };
  QString help = helpOf("coppice-cli");
  for (const char* sub : {"alltoall",   "baseline",      "bom",         "frontier",
                          "best",       "bfb",           "compare",     "schedule convert",
                          "check",      "convert",       "drill",       "expand",
                          "export",     "find-topology", "generate",    "import",
                          "import-run", "moe",           "n-1",         "optimum",
                          "patch",      "preset",        "preset list", "prices",
                          "rank-order", "run",           "simulate",    "synthesize",
                          "train",      "verify",        "what-if"}) {
    help += helpOf(QStringLiteral("coppice-cli ") + sub);
  }
  const bool hasExecutor = QFileInfo::exists(bin + "/coppice-exec");
  const bool hasDesigner = QFileInfo::exists(bin + "/coppice");
  if (hasExecutor) {
    for (const char* sub : {"", " run", " probe", " profile", " infer", " self-test"}) {
      help += helpOf(QStringLiteral("coppice-exec") + sub);
    }
  }
  if (hasDesigner) {
    help += helpOf("coppice");
  }
  static const QRegularExpression kOption(QStringLiteral("(?<![\\w-])(--[a-z][a-z0-9-]+)"));
  QSet<QString> known;
  for (auto found = kOption.globalMatch(help); found.hasNext();) {
    known << found.next().captured(1);
  }
  QVERIFY(known.size() > 40);
  // Options of CMake, srun, rocm-smi, nvidia-smi, the scripts and the test tools.
  known += {"--all",  "--preset", "--build",   "--install", "--prefix",   "--component", "--mpi",         "--mpich",
            "--seed", "--count",  "--version", "--help",    "--showtopo", "--query-gpu", "--distribution"};
  QStringList unknown;
  for (const QString& page : QDir(sourceDir() + "/resources/doc").entryList({"*.md"}, QDir::Files)) {
    if ((page == "running.md" && !hasExecutor) || (page == "designer.md" && !hasDesigner)) {
      continue;
    }
    const QString text = textOf("resources/doc/" + page);
    for (auto found = kOption.globalMatch(text); found.hasNext();) {
      const QString option = found.next().captured(1);
      if (!known.contains(option)) {
        unknown << page + ": " + option;
      }
    }
  }
  QVERIFY2(unknown.isEmpty(), qPrintable(unknown.join('\n')));
}

/// Relative links of the README and the manual lead to files, with # to headings.
void TestCliManual::linksLeadToFiles() {
  static const QRegularExpression kLink(QStringLiteral("\\]\\(([^):# ]*)(?:#([^)]*))?\\)"));
  QStringList pages = {"README.md"};
  for (const QString& page : QDir(sourceDir() + "/resources/doc").entryList({"*.md"}, QDir::Files)) {
    pages << "resources/doc/" + page;
  }
  QVERIFY(pages.size() > 8);
  QStringList broken;
  for (const QString& page : pages) {
    const QString text = textOf(page);
    for (auto found = kLink.globalMatch(text); found.hasNext();) {
      const auto match = found.next();
      const QString folder = QFileInfo(page).path();
      const QString target = match.captured(1).isEmpty() ? page : QDir::cleanPath(folder + "/" + match.captured(1));
      const QString anchor = match.captured(2);
      bool isThere = QFileInfo::exists(sourceDir() + "/" + target);
      if (isThere && !anchor.isEmpty()) {
        const QStringList lines = textOf(target).split('\n');
        isThere = std::any_of(lines.begin(), lines.end(), [&](QString line) {
          static const QRegularExpression kOther(QStringLiteral("[^a-z0-9]+"));
          static const QRegularExpression kEdges(QStringLiteral("^-|-$"));
          return line.startsWith("#") && line.toLower().replace(kOther, "-").remove(kEdges) == anchor;
        });
      }
      if (!isThere) {
        broken << page + ": " + match.captured(0);
      }
    }
  }
  QVERIFY2(broken.isEmpty(), qPrintable(broken.join('\n')));
}

QTEST_GUILESS_MAIN(TestCliManual)
#include "tst_cli_manual.moc"
