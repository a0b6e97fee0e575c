// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QtTest>
#include <clocale>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>

#include "coppice/test_paths.hpp"
#include "fabric/fabric.hpp"
#include "io/fabric_json.hpp"
#include "io/files.hpp"

using namespace coppice;
using namespace coppice::fabric;
using namespace coppice::io;

namespace {

QString toQString(const std::string& text) {
  return QString::fromStdString(text);
}

Description read(const std::string& text) {
  auto description = readFabricJson(text, "test");
  if (!description) {
    qFatal("%s", describe(description.error()).c_str());
  }
  return *description;
}

/// A file with one link of the given members beside src and dst.
std::string withLink(const std::string& members) {
  return R"({"nodes":[{"id":"a","kind":"gpu"},{"id":"b","kind":"gpu"}],"links":[{"src":"a","dst":"b",)" + members +
         "}]}";
}

QString codeName(ErrorCode code) {
  switch (code) {
    case ErrorCode::badInput:
      return "badInput";
    case ErrorCode::invalidFabric:
      return "invalidFabric";
    case ErrorCode::infeasible:
      return "infeasible";
    case ErrorCode::unbalanced:
      return "unbalanced";
    case ErrorCode::overflow:
      return "overflow";
    case ErrorCode::limit:
      return "limit";
    default:
      return "other";
  }
}

QByteArray fileBytes(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray("(cannot read)");
}

}  // namespace

class TestFabricJson : public QObject {
  Q_OBJECT

private slots:
  void minimalForm() {
    const Description description = read(R"({"name":"pair","nodes":[{"id":"a","kind":"gpu"},{"id":"b","kind":"gpu"}],)"
                                         R"("links":[{"src":"a","dst":"b","bandwidth":50}]})");
    QCOMPARE(description.name, std::string("pair"));
    QCOMPARE(description.nodes.size(), std::size_t{2});
    QCOMPARE(description.links.size(), std::size_t{1});
    QCOMPARE(description.links[0].bandwidth, std::string("50"));
    QVERIFY(description.links[0].duplex);
    QCOMPARE(description.links[0].count, 1);
    QVERIFY(!description.links[0].latency);
    QVERIFY(!description.nodes[0].rank);
    QVERIFY(!description.nodes[0].position);
    QVERIFY(validate(description).empty());
    QVERIFY(read(R"({"nodes":[],"links":[]})").name.empty());
  }

  void everyField() {
    const Description description = read(R"({
      "links": [{"latency": "3/2", "count": 4, "duplex": false, "bandwidth": "12x25 GB/s", "dst": "s", "src": "a"}],
      "nodes": [{"id": "a", "kind": "gpu", "box": "outer/inner", "rank": 3, "position": {"x": -1.5, "y": 2e3}},
                {"id": "s", "kind": "switch", "multicast": true, "aggregation": true}],
      "name": "all"})");
    const NodeDescription& a = description.nodes[0];
    QCOMPARE(a.box, std::string("outer/inner"));
    QCOMPARE(a.rank, std::optional<int>(3));
    QVERIFY(a.position == (Position{-1.5, 2000}));
    QVERIFY(!a.multicast && !a.aggregation);
    QVERIFY(description.nodes[1].multicast && description.nodes[1].aggregation);
    const LinkDescription& link = description.links[0];
    QCOMPARE(link.src + ">" + link.dst, std::string("a>s"));
    QCOMPARE(link.bandwidth, std::string("12x25 GB/s"));
    QVERIFY(!link.duplex);
    QCOMPARE(link.count, 4);
    QCOMPARE(link.latency, std::optional<std::string>("3/2"));
  }

  void writtenForm() {
    Description description = read(
        R"({"note":"n","nodes":[{"id":"a","kind":"gpu","x-vendor":[1,{"deep":null}],"position":{"x":1,"y":0.5,"z":3}},)"
        R"({"kind":"switch","id":"s\t","multicast":true}],"name":"w","links":[)"
        R"({"src":"a","dst":"s\t","bandwidth":25.0,"width":4},{"src":"a","dst":"s\t","bandwidth":"25/2","duplex":false,)"
        R"("count":2,"latency":1.5}],"zeta":1})");
    QCOMPARE(toQString(writeFabricJson(description)), QString(R"({
  "name": "w",
  "note": "n",
  "zeta": 1,
  "nodes": [
    {"id": "a", "kind": "gpu", "position": {"x": 1, "y": 0.5, "z": 3}, "x-vendor": [1,{"deep":null}]},
    {"id": "s\t", "kind": "switch", "multicast": true}
  ],
  "links": [
    {"src": "a", "dst": "s\t", "bandwidth": 25.0, "duplex": true, "width": 4},
    {"src": "a", "dst": "s\t", "bandwidth": "25/2", "duplex": false, "count": 2, "latency": 1.5}
  ]
}
)"));
    QCOMPARE(toQString(writeFabricJson({})), QString("{\n  \"nodes\": [],\n  \"links\": []\n}\n"));
  }

  void roundTrip_data() {
    QTest::addColumn<QByteArray>("text");
    const QDir graphs(COPPICE_TEST_DATA "/fabric_good");
    for (const QString& name : graphs.entryList({"*.json"})) {
      QTest::newRow(qPrintable(name)) << fileBytes(graphs.filePath(name));
    }
    QTest::newRow("unknown keys at every level")
        << QByteArray(R"({"$schema":"s","nodes":[{"id":"a","kind":"gpu","n":{},"position":{"x":0,"y":0,"p":[]}}],)"
                      R"("links":[{"src":"a","dst":"a","bandwidth":1,"l":{"a":[[],[1,2],"x"],"b":true}}],"t":[{}]})");
    QTest::newRow("unknown numbers as written")
        << QByteArray(R"({"nodes":[],"links":[],"n":[1.10,-0,1E+2,123456789012345678901234567890,0.1e-5]})");
    // Not a raw string: moc loses its way at a quote after a backslash in one.
    QTest::newRow("escapes") << QByteArray(
        "{\"nodes\":[{\"id\":\"\\u0000\\t\\\"\\\\\\/\\ud83d\\ude00\",\"kind\":\"\\u00e4\"}],\"links\":[],"
        "\"\\n\":\"\\u001f\\u2028\"}");
    QTest::newRow("empty strings") << QByteArray(
        R"({"name":"","nodes":[{"id":"","kind":"","box":""}],"links":[{"src":"","dst":"","bandwidth":"","latency":""}],"":""})");
    QTest::newRow("byte order mark") << QByteArray("\xEF\xBB\xBF{\"nodes\":[],\"links\":[]}");
  }
  void roundTrip() {
    QFETCH(QByteArray, text);
    const Description first = read(text.toStdString());
    const std::string written = writeFabricJson(first);
    const Description second = read(written);
    QVERIFY(first == second);
    QCOMPARE(toQString(writeFabricJson(second)), toQString(written));
    // What another JSON reader finds in the text must all still be there.
    const QJsonObject before = QJsonDocument::fromJson(text.startsWith("\xEF\xBB\xBF") ? text.mid(3) : text).object();
    const QJsonObject after = QJsonDocument::fromJson(QByteArray::fromStdString(written)).object();
    for (const QString& key : before.keys()) {
      if (key != "nodes" && key != "links" && !(key == "name" && before[key].toString().isEmpty())) {
        QCOMPARE(after[key], before[key]);
      }
    }
    for (const QString& list : {QString("nodes"), QString("links")}) {
      const QJsonArray itemsBefore = before[list].toArray();
      const QJsonArray itemsAfter = after[list].toArray();
      QCOMPARE(itemsAfter.size(), itemsBefore.size());
      for (int i = 0; i < itemsBefore.size(); ++i) {
        const QJsonObject item = itemsBefore[i].toObject();
        for (const QString& key : item.keys()) {
          if (key != "box" || !item[key].toString().isEmpty()) {
            QCOMPARE(itemsAfter[i].toObject()[key], item[key]);
          }
        }
      }
    }
  }

  void numbersAreExact_data() {
    QTest::addColumn<QString>("json");
    QTest::addColumn<QString>("exact");
    QTest::addColumn<QString>("written");
    const auto row = [](const char* name, const char* json, const char* exact, const char* written) {
      QTest::newRow(name) << QString(json) << QString(exact) << QString(written);
    };
    row("decimal that no double holds", "12.1", "121/10", "12.1");
    row("small exponent", "1e-3", "1/1000", "1e-3");
    row("beyond 2^53", "9007199254740993", "9007199254740993", "9007199254740993");
    row("many decimals", "0.123456789012345678", "61728394506172839/500000000000000000", "0.123456789012345678");
    row("integer with point", "25.0", "25", "25.0");
    row("text that is a number", "\"25\"", "25", "25");
    row("text with leading zero", "\"025\"", "25", "\"025\"");
    row("text with plus sign", "\"+25\"", "25", "\"+25\"");
    row("text without whole part", "\".5\"", "1/2", "\".5\"");
    row("text with blanks", "\" 25 \"", "25", "\" 25 \"");
    row("fraction", "\"25/3\"", "25/3", "\"25/3\"");
    row("unit", "\"400Gb/s\"", "50", "\"400Gb/s\"");
    row("zero with exponent", "\"0e999\"", "0", "\"0e999\"");
  }
  void numbersAreExact() {
    QFETCH(QString, json);
    QFETCH(QString, written);
    const Description description = read(withLink("\"bandwidth\":" + json.toStdString()));
    const auto bandwidth = Bandwidth::parse(description.links[0].bandwidth);
    QVERIFY(bandwidth.hasValue());
    QTEST(toQString(bandwidth->gigabytesPerSecond().toString()), "exact");
    const std::string text = writeFabricJson(description);
    QVERIFY2(toQString(text).contains("\"bandwidth\": " + written + ","), text.c_str());
    QVERIFY(read(text) == description);
  }

  /// Qt programs set the locale from the environment; one with a decimal comma bends what strtod and nlohmann see.
  void numbersUnderADecimalComma() {
    const char* const locale = [] {
      for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8", "de_DE"}) {
        if (std::setlocale(LC_NUMERIC, name) != nullptr) {
          return name;
        }
      }
      return static_cast<const char*>(nullptr);
    }();
    if (locale == nullptr) {
      QSKIP("no locale with a decimal comma is installed");
    }
    const std::string text = withLink("\"bandwidth\":12.5,\"other\":1.25");
    const Description description = read(text);
    QCOMPARE(description.links[0].bandwidth, std::string("12.5"));
    QCOMPARE(description.links[0].extra, std::string("{\"other\":1.25}"));
    QVERIFY(read(writeFabricJson(description)) == description);
    std::setlocale(LC_NUMERIC, "C");
  }

  void wholeNumbers() {
    QCOMPARE(read(withLink("\"bandwidth\":1,\"count\":8.0")).links[0].count, 8);
    QCOMPARE(read(withLink("\"bandwidth\":1,\"count\":-2147483648")).links[0].count, std::numeric_limits<int>::min());
    QVERIFY(!readFabricJson(withLink("\"bandwidth\":1,\"count\":2147483648")));
    QVERIFY(!readFabricJson(withLink("\"bandwidth\":1,\"count\":1e400")));
  }

  void whatJsonCannotSayIsLeftOut() {
    Description description;
    description.name = "bad\xff byte";
    description.nodes.push_back({"a", "gpu"});
    description.nodes[0].position = Position{std::numeric_limits<double>::quiet_NaN(), 0};
    description.nodes[0].extra = "not JSON";
    description.extra = R"( { "name" : "shadow", "kept" : [ 1 , 2 ] } )";
    const std::string text = writeFabricJson(description);
    const Description again = read(text);
    QCOMPARE(again.name, std::string("bad\xEF\xBF\xBD byte"));
    QVERIFY(!again.nodes[0].position);
    QVERIFY(again.nodes[0].extra.empty());
    QCOMPARE(again.extra, std::string(R"({"kept":[1,2]})"));
    QCOMPARE(writeFabricJson(again), text);
    description.extra = "[1]";
    QVERIFY(read(writeFabricJson(description)).extra.empty());
    description.extra = R"({"a":1,"a":2})";
    QVERIFY(read(writeFabricJson(description)).extra.empty());
  }

  void badFiles_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<QJsonObject>("expected");
    const QDir folder(COPPICE_TEST_DATA "/fabric_bad");
    const QJsonObject table = QJsonDocument::fromJson(fileBytes(folder.filePath("expected.json"))).object();
    QVERIFY(!table.isEmpty());
    QCOMPARE(folder.entryList({"*.fabric.json"}, QDir::Files, QDir::Name), table.keys());
    for (const QString& name : table.keys()) {
      QTest::newRow(qPrintable(name)) << name << table[name].toObject();
    }
  }
  /// Read errors carry "read", findings "validate" with the code of the first; "text" has all lines in full.
  void badFiles() {
    QFETCH(QString, name);
    QFETCH(QJsonObject, expected);
    const QByteArray bytes = fileBytes(QString(COPPICE_TEST_DATA "/fabric_bad/") + name);
    const auto description = readFabricJson(bytes.toStdString(), name.toStdString());
    QStringList lines;
    QString stage = "read";
    QString code;
    if (!description) {
      code = codeName(description.error().code);
      lines << toQString(describe(description.error()));
    } else {
      stage = "validate";
      const std::vector<Finding> findings = validate(*description);
      QVERIFY(!findings.empty());
      code = codeName(findings.front().code);
      for (const Finding& finding : findings) {
        lines << toQString(describe(finding));
        QVERIFY(!finding.fix.empty());
        QVERIFY(!finding.where.element.empty());
      }
      QCOMPARE(Fabric::build(*description).hasValue(), !hasErrors(findings));
      QVERIFY(read(writeFabricJson(*description)) == *description);
    }
    QCOMPARE(code, expected[stage].toString());
    QStringList wanted;
    for (const auto& line : expected["text"].toArray()) {
      wanted << line.toString();
    }
    QCOMPARE(lines.join('\n'), wanted.join('\n'));
  }

  void lineAndColumnCountCharacters() {
    const auto result = readFabricJson("{\r\n \"\xC3\xA4\xE2\x82\xAC\": 1, \"nodes\": 5}", "f");
    QVERIFY(!result);
    QCOMPARE(result.error().where.file, std::string("f"));
    QCOMPARE(result.error().where.line, 2);
    QCOMPARE(result.error().where.column, 20);
    QCOMPARE(toText(result.error().where.element), std::string("nodes"));
  }

  void limits_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QString>("expected");
    QTest::newRow("deep arrays") << "{\"x\":" + QByteArray(1000000, '[')
                                 << "1:69: x: brackets nest deeper than 64; flatten the file";
    QTest::newRow("deep objects") << QByteArray("{\"x\":").repeated(200000)
                                  << "1:321: x: brackets nest deeper than 64; flatten the file";
    QTest::newRow("too many nodes") << "{\"nodes\":[" + QByteArray(R"({"id":"","kind":""},)").repeated(262145)
                                    << "1:5242891: nodes[262143]: more than 262144 nodes; describe a smaller fabric";
    QTest::newRow("long string") << "{\"nodes\":7,\"" + QByteArray(3000000, 'x')
                                 << "1:10: nodes: must be an array, not a number; see resources/doc/fabric-files.md";
    QTest::newRow("long token in a syntax error")
        << "{\"" + QByteArray(3000000, 'x')
        << "1:3000003: not valid JSON: the text ends too early; check the file with a JSON tool";
    QTest::newRow("long unknown key there twice")
        << "{\"" + QByteArray(100000, 'k') + "\":1,\"" + QByteArray(100000, 'k') + "\":1"
        << "1:100007: the key \"" + QString(64, 'k') + "\"... appears twice; keep one of the two";
  }
  void limits() {
    QFETCH(QByteArray, text);
    const auto result = readFabricJson(text.toStdString());
    QVERIFY(!result);
    QTEST(toQString(describe(result.error())).remove("line "), "expected");
  }

  void loadsAndSavesFiles() {
    QTemporaryDir folder;
    const std::filesystem::path path = folder.filePath("a.fabric.json").toStdString();
    const Description description = read(withLink("\"bandwidth\":1"));
    QVERIFY(saveFile(path, writeFabricJson(description)).hasValue());
    const auto text = readFile(path);
    QVERIFY(text.hasValue());
    QVERIFY(read(*text) == description);
    QCOMPARE(QDir(folder.path()).entryList(QDir::Files | QDir::Hidden), QStringList{"a.fabric.json"});

    // A new file gets what the umask allows; afterwards permissions stay, and links are followed.
    struct stat status {};
    QCOMPARE(::stat(path.c_str(), &status), 0);
    const mode_t mask = ::umask(0);
    ::umask(mask);
    QCOMPARE(static_cast<unsigned>(status.st_mode & 0777), 0666U & ~mask);
    QCOMPARE(::chmod(path.c_str(), 0640), 0);
    const std::filesystem::path link = folder.filePath("link.json").toStdString();
    std::filesystem::create_symlink("a.fabric.json", link);
    QVERIFY(saveFile(link, "new").hasValue());
    QVERIFY(std::filesystem::is_symlink(link));
    QCOMPARE(fileBytes(toQString(path.string())), QByteArray("new"));
    QCOMPARE(::stat(path.c_str(), &status), 0);
    QCOMPARE(static_cast<int>(status.st_mode & 0777), 0640);
    QVERIFY(saveFile("/dev/null", "text").hasValue());
  }

  void fileErrors() {
    QTemporaryDir folder;
    const std::filesystem::path inside = folder.path().toStdString();
    const auto absent = readFile(inside / "absent.json");
    QVERIFY(!absent);
    QVERIFY(absent.error().code == ErrorCode::io);
    QCOMPARE(absent.error().where.file, (inside / "absent.json").string());
    QVERIFY(readFile(inside).error().code == ErrorCode::io);
    QVERIFY(readFile("/dev/zero", 100000).error().code == ErrorCode::limit);
    QVERIFY(saveFile(inside, "text").error().code == ErrorCode::io);
    QVERIFY(saveFile(inside / "no" / "such" / "file", "text").error().code == ErrorCode::io);
    const Outcome full = saveFile("/dev/full", "text");
    QVERIFY(full.error().code == ErrorCode::io);
    QCOMPARE(full.error().fix, std::string("free some space there, or choose another folder"));
    QVERIFY(saveFile(inside / "short", "12345").hasValue());
    QVERIFY(readFile(inside / "short", 4).error().code == ErrorCode::limit);
    QCOMPARE(readFile(inside / "short", 5).value(), std::string("12345"));
  }
};

QTEST_GUILESS_MAIN(TestFabricJson)
#include "tst_fabric_json.moc"
