// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <random>
#include <sstream>

#include "coppice/test_paths.hpp"
#include "program/msccl_xml.hpp"
#include "support/sample_programs.hpp"

using namespace coppice;
using namespace coppice::program;

namespace {

const QString kData = QStringLiteral(COPPICE_TEST_DATA "/msccl/");

std::string readFile(const QString& path) {
  QFile file(path);
  if (!file.open(QIODevice::ReadOnly)) {
    qFatal("cannot open %s", qPrintable(path));
  }
  return file.readAll().toStdString();
}

QString allTexts(const std::vector<Finding>& findings) {
  QString texts;
  for (const Finding& finding : findings) {
    texts += QString::fromStdString(describe(finding)) + "\n";
  }
  return texts;
}

Runtime runtimeNamed(const QString& name) {
  for (const Runtime runtime : {Runtime::msccl, Runtime::mscclExecutorNccl, Runtime::rccl}) {
    if (name == QString::fromLatin1(toString(runtime).data(), static_cast<qsizetype>(toString(runtime).size()))) {
      return runtime;
    }
  }
  qFatal("no runtime %s", qPrintable(name));
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const auto at = text.find(what);
  return at == std::string::npos ? text : text.replace(at, what.size(), by);
}

}  // namespace

class TestMscclXml : public QObject {
  Q_OBJECT

private slots:
  void minimalFile();
  void spellings();
  void negativeDependencies();
  void namesAreCleaned_data();
  void namesAreCleaned();
  void goodFiles_data();
  void goodFiles();
  void badFiles_data();
  void badFiles();
  void allFindingsAtOnce();
  void absentAttributes();
  void firstAttributeCounts();
  void roundTrip_data();
  void roundTrip();
  void foreignCollective();
  void notMscclAtAll_data();
  void notMscclAtAll();
  void sizes();
  void elementTable();
  void hostileTextsAreLinear_data();
  void hostileTextsAreLinear();
  void randomCuts();
};

/// The writer's text, byte by byte.
void TestMscclXml::minimalFile() {
  Program program = samples::ringAllgather(2, 1, true);
  program.name = "ag2";
  program.maxBytes = 1073741824;
  QCOMPARE(QString::fromStdString(writeMscclXml(program, Runtime::msccl)),
           QString::fromStdString(readFile(kData + "good/minimal_allgather.xml")));
  std::ostringstream stream;
  writeMscclXml(stream, program, Runtime::msccl);
  QCOMPARE(stream.str(), writeMscclXml(program, Runtime::msccl));
}

void TestMscclXml::spellings() {
  const Program program = samples::ringReduceScatter(3, true);
  QVERIFY(writeMscclXml(program, Runtime::msccl).find(" coll=\"reduce_scatter\"") != std::string::npos);
  QVERIFY(writeMscclXml(program, Runtime::mscclExecutorNccl).find(" coll=\"reducescatter\"") != std::string::npos);
  QVERIFY(writeMscclXml(program, Runtime::rccl).find(" coll=\"reducescatter\"") != std::string::npos);
}

void TestMscclXml::namesAreCleaned_data() {
  QTest::addColumn<QByteArray>("name");
  QTest::addColumn<QByteArray>("written");
  QTest::newRow("plain") << QByteArray("2x DGX A100 (k=1)") << QByteArray("2x DGX A100 (k=1)");
  QTest::newRow("markup") << QByteArray("a\"b<c>d&e'f") << QByteArray("a_b_c_d_e_f");
  QTest::newRow("control") << QByteArray("a\tb\nc\x7f") << QByteArray("a_b_c_");
  QTest::newRow("long") << QByteArray(100, 'x') << QByteArray(63, 'x');
  QTest::newRow("built-in") << QByteArray("2D") << QByteArray("2D_");
}

void TestMscclXml::namesAreCleaned() {
  QFETCH(QByteArray, name);
  QFETCH(QByteArray, written);
  Program program = samples::ringAllgather(2, 1, true);
  program.name = name.toStdString();
  const auto file = readMscclXml(writeMscclXml(program, Runtime::msccl), Runtime::msccl);
  QVERIFY(file);
  QVERIFY2(file->findings.empty(), qPrintable(allTexts(file->findings)));
  QCOMPARE(QByteArray::fromStdString(file->program.name), written);
}

void TestMscclXml::goodFiles_data() {
  QTest::addColumn<QString>("path");
  const QDir folder(kData + "good");
  const QStringList names = folder.entryList({"*.xml"}, QDir::Files, QDir::Name);
  QVERIFY(names.size() >= 8);
  for (const QString& name : names) {
    QTest::newRow(qPrintable(name)) << folder.filePath(name);
  }
}

void TestMscclXml::goodFiles() {
  QFETCH(QString, path);
  const auto file = readMscclXml(readFile(path), Runtime::msccl, path.toStdString());
  QVERIFY(file);
  for (const Finding& finding : file->findings) {
    QVERIFY2(finding.severity == Severity::note, qPrintable(allTexts(file->findings)));
  }
  QVERIFY(file->program.ranks.size() >= 2);
  for (const RankProgram& rank : file->program.ranks) {
    QVERIFY(!rank.threadBlocks.empty());
    QVERIFY(!rank.threadBlocks.front().steps.empty());
  }
}

void TestMscclXml::badFiles_data() {
  QTest::addColumn<QString>("path");
  QTest::addColumn<QString>("runtime");
  QTest::addColumn<int>("line");
  QTest::addColumn<QString>("message");
  const QString table = QString::fromStdString(readFile(kData + "bad/expected.txt"));
  int rows = 0;
  for (const QString& row : table.split('\n', Qt::SkipEmptyParts)) {
    const QStringList cells = row.split(" | ");
    if (row.startsWith('#') || cells.size() != 4 || cells[3].contains("hasdep=1")) {
      continue;  // the last kind reads well; the program verifier refuses it
    }
    QTest::newRow(qPrintable(cells[0])) << kData + "bad/" + cells[0] + ".xml" << cells[1] << cells[2].toInt()
                                        << cells[3];
    ++rows;
  }
  QVERIFY(rows >= 50);
}

/// The finding is there, at its line and as what it is; the rest is read nevertheless.
void TestMscclXml::badFiles() {
  QFETCH(QString, path);
  QFETCH(QString, runtime);
  QFETCH(int, line);
  QFETCH(QString, message);
  const auto file = readMscclXml(readFile(path), runtimeNamed(runtime), "file.xml");
  QVERIFY2(file, file ? "" : qPrintable(QString::fromStdString(describe(file.error()))));
  bool found = false;
  for (const Finding& finding : file->findings) {
    const bool matches = QString::fromStdString(describe(finding)).contains(message);
    found = found || (matches && (line == 0 || finding.where.line == line) && finding.where.column > 0 &&
                      finding.where.file == "file.xml");
  }
  QVERIFY2(found,
           qPrintable(message + " at line " + QString::number(line) + " is not among\n" + allTexts(file->findings)));
  const bool onlyWarning = path.contains("hexadecimal");
  QCOMPARE(hasErrors(file->findings), !onlyWarning);
  QVERIFY(!file->program.ranks.empty());
}

void TestMscclXml::allFindingsAtOnce() {
  std::string text = readFile(kData + "good/minimal_allgather.xml");
  text = replaced(text, "proto=\"Simple\"", "proto=\"simple\"");
  text = replaced(text, "cnt=\"1\"", "cnt=\"99\"");
  text = replaced(text, "chan=\"0\"", "chan=\"3\"");
  text = replaced(text, "  <gpu id=\"1\"", "\t<gpu id='1'");
  const auto file = readMscclXml(text, Runtime::msccl);
  QVERIFY(file);
  const QString texts = allTexts(file->findings);
  for (const char* part :
       {"line 1:18: proto=", "line 3:34: rank 0, threadblock 0: chan=3",
        "line 4:72: rank 0, threadblock 0, step 0: cnt=99", "line 8:1: a tab", "line 8:10: a value in single quotes"}) {
    QVERIFY2(texts.contains(part), qPrintable(QString(part) + " is not in\n" + texts));
  }
  QCOMPARE(file->program.ranks.size(), std::size_t{2});
  QCOMPARE(file->program.ranks[1].threadBlocks.size(), std::size_t{1});
}

void TestMscclXml::absentAttributes() {
  std::string text = readFile(kData + "good/minimal_allgather.xml");
  text = replaced(text, " outofplace=\"0\" minBytes=\"0\" maxBytes=\"1073741824\"", "");
  const auto file = readMscclXml(text, Runtime::msccl);
  QVERIFY(file && file->findings.empty());
  QCOMPARE(file->program.outOfPlace, false);
  QCOMPARE(file->program.minBytes, std::int64_t{0});
  QCOMPARE(file->program.maxBytes, std::int64_t{1} << 27);
  const auto executor = readMscclXml(text, Runtime::mscclExecutorNccl);
  QVERIFY(executor);
  QCOMPARE(std::count_if(executor->findings.begin(), executor->findings.end(),
                         [](const Finding& finding) { return finding.severity == Severity::error; }),
           std::ptrdiff_t{3});
}

/// The runtimes take every negative depid as none.
void TestMscclXml::negativeDependencies() {
  const std::string text = replaced(readFile(kData + "good/minimal_allgather.xml"), "depid=\"-1\"", "depid=\"-2\"");
  QVERIFY(text.find("depid=\"-2\"") != std::string::npos);
  for (const Runtime runtime : {Runtime::msccl, Runtime::mscclExecutorNccl, Runtime::rccl}) {
    const auto file = readMscclXml(text, runtime);
    QVERIFY(file);
    QVERIFY2(file->findings.empty(), qPrintable(allTexts(file->findings)));
    QCOMPARE(file->program.ranks[0].threadBlocks[0].steps[0].dependsOnTb, -1);
  }
}

void TestMscclXml::firstAttributeCounts() {
  const std::string text = replaced(readFile(kData + "good/minimal_allgather.xml"), "cnt=\"1\"", "cnt=\"2\" cnt=\"1\"");
  const auto file = readMscclXml(text, Runtime::msccl);
  QVERIFY(file);
  QCOMPARE(file->program.ranks[0].threadBlocks[0].steps[0].count, 2);
  QVERIFY(allTexts(file->findings).contains("the runtime reads the first"));
}

void TestMscclXml::roundTrip_data() {
  QTest::addColumn<int>("index");
  const auto programs = samples::allPrograms();
  for (std::size_t index = 0; index < programs.size(); ++index) {
    QTest::newRow(programs[index].first.c_str()) << static_cast<int>(index);
  }
}

void TestMscclXml::roundTrip() {
  QFETCH(int, index);
  const Program program = samples::allPrograms()[index].second;
  const bool isForeign = program.collectiveText == "gather" || program.collectiveText == "scatter";
  for (const Runtime runtime : {isForeign ? Runtime::mscclExecutorNccl : Runtime::msccl, Runtime::mscclExecutorNccl}) {
    const std::string text = writeMscclXml(program, runtime);
    const auto file = readMscclXml(text, runtime);
    QVERIFY(file);
    QVERIFY2(file->findings.empty(), qPrintable(allTexts(file->findings)));
    QVERIFY(file->program == program);
    QCOMPARE(writeMscclXml(file->program, runtime), text);
  }
}

/// MSCCL knows no gather; who knows it is said.
void TestMscclXml::foreignCollective() {
  const std::string text = writeMscclXml(samples::directScatter(3, 1, 2, true), Runtime::mscclExecutorNccl);
  const auto file = readMscclXml(text, Runtime::msccl);
  QVERIFY(file);
  QCOMPARE(file->findings.size(), std::size_t{1});
  QVERIFY(allTexts(file->findings).contains("refused by msccl; msccl-executor-nccl and rccl know it"));
}

void TestMscclXml::notMscclAtAll_data() {
  QTest::addColumn<QByteArray>("text");
  QTest::newRow("empty") << QByteArray();
  QTest::newRow("blank") << QByteArray(" \n \n");
  QTest::newRow("json") << QByteArray("{\"name\": \"x\"}");
  QTest::newRow("other xml") << QByteArray("<system version=\"1\"><cpu/></system>");
  QTest::newRow("UTF-16") << QByteArray("\xFF\xFE<\0a\0l\0", 8);
  QTest::newRow("UTF-16 without a mark") << QByteArray("<\0a\0l\0g\0", 8);
  QTest::newRow("deep") << QByteArray("<a>").repeated(100000);
  QTest::newRow("binary") << QByteArray(
      "\x7f"
      "ELF\0\0\1\2",
      8);
}

void TestMscclXml::notMscclAtAll() {
  QFETCH(QByteArray, text);
  const auto file = readMscclXml(text.toStdString(), Runtime::msccl, "x.xml");
  QVERIFY(!file);
  QCOMPARE(file.error().code, ErrorCode::badInput);
  QCOMPARE(file.error().where.file, "x.xml");
  QCOMPARE(file.error().message.find("UTF-16") != std::string::npos,
           QByteArray(QTest::currentDataTag()).startsWith("UTF-16"));
}

void TestMscclXml::sizes() {
  Program program = samples::ringAllgather(2, 1, true);
  auto& steps = program.ranks[1].threadBlocks[0].steps;
  steps.resize(257, steps[0]);
  const auto file = readMscclXml(writeMscclXml(program, Runtime::msccl), Runtime::msccl);
  QVERIFY(file);
  QVERIFY2(allTexts(file->findings).contains("257 steps in one threadblock; msccl takes 256"),
           qPrintable(allTexts(file->findings)));
  QVERIFY(file->program == program);
}

/// 1 + gpus + threadblocks + steps: 4095 are taken, 4096 are not.
void TestMscclXml::elementTable() {
  Program program = samples::ringAllgather(2, 1, true);
  auto& blocks = program.ranks[0].threadBlocks;
  const Step copy = samples::step(StepType::copy, {samples::kOut, 0});
  blocks.resize(18, {.steps = std::vector<Step>(254, copy)});
  blocks[17].steps.resize(4095 - 1 - 2 - 18 - 2 - 16 * 254, copy);
  QVERIFY(readMscclXml(writeMscclXml(program, Runtime::msccl), Runtime::msccl)->findings.empty());
  blocks[17].steps.push_back(copy);
  const auto file = readMscclXml(writeMscclXml(program, Runtime::msccl), Runtime::msccl);
  QVERIFY2(allTexts(file->findings).contains("rank 0 reads 4096 elements"), qPrintable(allTexts(file->findings)));
}

void TestMscclXml::hostileTextsAreLinear_data() {
  QTest::addColumn<QByteArray>("unit");
  QTest::newRow("instructions") << QByteArray("<?x>");
  QTest::newRow("declarations") << QByteArray("<!x");
  QTest::newRow("comments") << QByteArray("<!--");
  QTest::newRow("quotes") << QByteArray("<a b='");
  QTest::newRow("attributes") << QByteArray(" a=\"1\"");
  QTest::newRow("keys") << QByteArray(" k");
  QTest::newRow("blanks") << QByteArray("  ");
  QTest::newRow("equals") << QByteArray("==");
  QTest::newRow("tags") << QByteArray("<step/>");
  QTest::newRow("closes") << QByteArray("</gpu>");
  QTest::newRow("gpus") << QByteArray("<gpu id=\"0\"/>");
  QTest::newRow("slashes") << QByteArray("/ / /");
  QTest::newRow("newlines") << QByteArray("\n\t");
}

/// A quadratic reader would take minutes for these.
void TestMscclXml::hostileTextsAreLinear() {
  QFETCH(QByteArray, unit);
  const QByteArray many = unit.repeated(1000000 / static_cast<int>(unit.size()));
  for (const char* head : {"", "<algo ", "<algo>", "<algo><gpu>", "<algo><gpu><tb>", "<algo><gpu><tb><step "}) {
    const auto file = readMscclXml((head + many).toStdString(), Runtime::msccl);
    QVERIFY(!file || file->findings.size() <= 250);
  }
}

/// Whatever is cut out of or doubled in a good file: no crash, and what is read can be written and read again.
void TestMscclXml::randomCuts() {
  constexpr unsigned kSeed = 20240607;
  std::mt19937 random(kSeed);
  const std::string good = readFile(kData + "good/forestcoll_allgather.xml");
  for (int round = 0; round < 3000; ++round) {
    std::string text = good;
    const std::size_t at = random() % text.size();
    const std::size_t length = random() % 40;
    if (round % 2 == 0) {
      text.erase(at, length);
    } else {
      text.insert(random() % text.size(), text.substr(at, length));
    }
    const auto file = readMscclXml(text, Runtime::msccl);
    if (file) {
      const std::string written = writeMscclXml(file->program, Runtime::msccl);
      const auto again = readMscclXml(written, Runtime::msccl);
      QVERIFY2(again && writeMscclXml(again->program, Runtime::msccl) == written,
               qPrintable(QString("seed %1, round %2").arg(kSeed).arg(round)));
    }
  }
}

QTEST_GUILESS_MAIN(TestMscclXml)
#include "tst_msccl_xml.moc"
