// SPDX-License-Identifier: Apache-2.0
#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QTest>

#include <random>

#include "coppice/test_paths.hpp"
#include "dot/dot.hpp"
#include "io/dot_process.hpp"
#include "io/fabric_formats.hpp"
#include "io/fabric_json.hpp"
#include "support/waiting.hpp"

using namespace coppice;

namespace {

const QString kBad = QStringLiteral(COPPICE_TEST_DATA "/import/bad/");

std::string contents(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll().toStdString() : std::string();
}

QString failure(const Result<io::ImportResult>& result) {
  return result ? QStringLiteral("accepted") : QString::fromStdString(describe(result.error()));
}

QStringList linksOf(const fabric::Description& description) {
  QStringList lines;
  for (const fabric::LinkDescription& link : description.links) {
    QString line = QString::fromStdString(link.src + (link.duplex ? "=" : ">") + link.dst + " " + link.bandwidth);
    lines << (link.count == 1 ? line : line + QStringLiteral("x%1").arg(link.count));
  }
  return lines;
}

QStringList nodesOf(const fabric::Description& description) {
  QStringList lines;
  for (const fabric::NodeDescription& node : description.nodes) {
    lines << QString::fromStdString(node.id + ":" + node.kind + (node.box.empty() ? "" : " in " + node.box));
  }
  return lines;
}

QString texts(const std::vector<Finding>& findings) {
  QString all;
  for (const Finding& finding : findings) {
    all += QString::fromStdString(describe(finding)) + QLatin1Char('\n');
  }
  return all;
}

/// A fabric with everything that a description can hold.
fabric::Description everything() {
  fabric::Description out;
  out.name = "two \"boxes\"\nand <more>";
  out.extra =
      R"({"author":"x","sizes":[1,0.10,12345678901234567890],"label":"text","json:like":"json:[1]","name":"n"})";
  fabric::NodeDescription gpu{"g 0", "gpu", "rack/box/0"};
  gpu.rank = 1;
  gpu.position = fabric::Position{-1.5, 1e-7, R"({"z":3})"};
  gpu.extra = R"({"shape":"box","color":"red","kind":"inner","empty":"","extra:kind":true})";
  fabric::NodeDescription nic{"%nic", "nic", "rack/box"};
  nic.extra = R"({"shape":"star"})";
  fabric::NodeDescription sw{"<b>sw</b>", "switch"};
  sw.multicast = true;
  sw.aggregation = true;
  fabric::NodeDescription other{"g\\1\"", "gpu", "a//b"};
  other.rank = 0;
  fabric::NodeDescription odd{"graph", "router", "\xEF\xBB\xBF"};
  out.nodes = {sw, gpu, odd, nic, other};
  out.links = {{"g\\1\"", "<b>sw</b>", "25/3", false, 4, "1.50", R"({"label":"25/3","dir":"x","weight":0.5})"},
               {"g 0", "%nic", "400Gb/s"},
               {"%nic", "<b>sw</b>", "50", true, 1, {}, R"({"label":"shown"})"},
               {"<b>sw</b>", "g\\1\"", "25/3", false, 4},
               {"g 0", "%nic", "400Gb/s"},
               {"graph", "<b>sw</b>", "1"}};
  return out;
}

}  // namespace

class TestDot : public QObject {
  Q_OBJECT

private slots:
  void reads_data();
  void reads();
  void keepsAttributes();
  void clusterAttributes();
  void roundTrip();
  void randomRoundTrips();
  void writeErrors_data();
  void writeErrors();
  void afterAnErrorTheNextTextIsRead();
  void badInput_data();
  void badInput();
  void helperBothWays();
  void helperUsage();
};

void TestDot::reads_data() {
  QTest::addColumn<QString>("text");
  QTest::addColumn<QStringList>("nodes");
  QTest::addColumn<QStringList>("links");
  QTest::addColumn<QString>("finding");
  const QStringList ab{"a:gpu", "b:gpu"};
  const QString kinds = QStringLiteral("node [kind=gpu];");
  QTest::newRow("directed is one way") << "digraph { " + kinds + " a -> b [bandwidth=25] }" << ab
                                       << QStringList{"a>b 25"} << "";
  QTest::newRow("dir=both") << "digraph { " + kinds + " a -> b [bandwidth=25, dir=both] }" << ab
                            << QStringList{"a=b 25"} << "";
  QTest::newRow("dir=none") << "digraph { " + kinds + " a -> b [bandwidth=25, dir=none] }" << ab
                            << QStringList{"a=b 25"} << "";
  QTest::newRow("dir=back") << "digraph { " + kinds + " a -> b [bandwidth=25, dir=back] }" << ab
                            << QStringList{"b>a 25"} << "";
  QTest::newRow("duplex wins") << "digraph { " + kinds + " a -> b [bandwidth=25, duplex=true] }" << ab
                               << QStringList{"a=b 25"} << "";
  QTest::newRow("undirected is duplex") << "graph { " + kinds + " a -- b [bandwidth=25, count=3] }" << ab
                                        << QStringList{"a=b 25x3"} << "";
  QTest::newRow("undirected, one way") << "graph { " + kinds + " a -- b [bandwidth=25, dir=forward] }" << ab
                                       << QStringList{"a>b 25"} << "";
  QTest::newRow("parallel edges") << "graph { " + kinds + " edge [bandwidth=5]; a -- b; a -- b; b -- a }" << ab
                                  << QStringList{"a=b 5", "a=b 5", "b=a 5"} << "";
  QTest::newRow("strict merges them") << "strict graph { " + kinds + " edge [bandwidth=5]; a -- b; a -- b }" << ab
                                      << QStringList{"a=b 5"} << "";
  QTest::newRow("defaults and sets") << "graph { " + kinds + " edge [bandwidth=5]; a -- {b c} }"
                                     << QStringList{"a:gpu", "b:gpu", "c:gpu"} << QStringList{"a=b 5", "a=c 5"} << "";
  QTest::newRow("bw") << "graph { " + kinds + " a -- b [bw=12.5, capacity=3] }" << ab << QStringList{"a=b 12.5"}
                      << "1 edge was read from \"bw\"";
  QTest::newRow("capacity") << "graph { " + kinds + " a -- b [capacity=\"25/2\"] }" << ab << QStringList{"a=b 25/2"}
                            << "read from \"capacity\"";
  QTest::newRow("label") << "graph { " + kinds + " a -- b [label=\"400Gb/s\"] }" << ab << QStringList{"a=b 400Gb/s"}
                         << "read from \"label\"";
  QTest::newRow("kinds from names") << "graph { edge [bandwidth=1]; GPU0 -- mlx5_0 -- leaf1 -- x }"
                                    << QStringList{"GPU0:gpu", "mlx5_0:nic", "leaf1:switch", "x:gpu"}
                                    << QStringList{"GPU0=mlx5_0 1", "mlx5_0=leaf1 1", "leaf1=x 1"}
                                    << "the kind of 4 nodes was guessed";
  QTest::newRow("kinds from shapes") << "graph { a; b [shape=hexagon]; c [shape=component] }"
                                     << QStringList{"a:gpu", "b:switch", "c:nic"} << QStringList{}
                                     << "the kind of 3 nodes was guessed";
  QTest::newRow("clusters") << "graph { " + kinds +
                                   " subgraph cluster_x { a; subgraph cluster_y { label=why; b } } "
                                   "subgraph other { c } }"
                            << QStringList{"a:gpu in x", "b:gpu in x/why", "c:gpu"} << QStringList{}
                            << "1 subgraph whose name does not begin with cluster";
  QTest::newRow("two clusters") << "graph { " + kinds + " subgraph cluster_x { a } subgraph cluster_y { a } }"
                                << QStringList{"a:gpu in y"} << QStringList{} << "in two clusters: 1 node";
  QTest::newRow("box by attribute") << "graph { " + kinds + " a [box=\"u/v\"] }" << QStringList{"a:gpu in u/v"}
                                    << QStringList{} << "";
  QTest::newRow("comments, joined strings, numerals")
      << "/* c */ graph \"G\" { // x\n# y\n " + kinds + " \"a\" + \"b\" -- -1.5 [\"band\"+\"width\"=2] }"
      << QStringList{"ab:gpu", "-1.5:gpu"} << QStringList{"ab=-1.5 2"} << "";
  QTest::newRow("a comment after something")
      << "graph { " + kinds + " a # it's \"b\n }" << QStringList{"a:gpu"} << QStringList{} << "";
  QTest::newRow("byte order mark") << "\xEF\xBB\xBFgraph { " + kinds + " a }" << QStringList{"a:gpu"} << QStringList{}
                                   << "";
  QTest::newRow("two graphs") << "graph { " + kinds + " a } graph { b }" << QStringList{"a:gpu"} << QStringList{}
                              << "only the first graph";
  QTest::newRow("rubbish after the graph")
      << "graph { " + kinds + " a } }}" << QStringList{"a:gpu"} << QStringList{} << "only the first graph";
}

void TestDot::reads() {
  QFETCH(QString, text);
  QFETCH(QStringList, nodes);
  QFETCH(QStringList, links);
  QFETCH(QString, finding);
  const auto result = dot::readDot(text.toStdString(), "x.dot");
  QVERIFY2(result, qPrintable(failure(result)));
  QCOMPARE(nodesOf(result->description), nodes);
  QCOMPARE(linksOf(result->description), links);
  QVERIFY2(texts(result->findings).contains(finding), qPrintable(texts(result->findings)));
  if (finding.isEmpty()) {
    QCOMPARE(texts(result->findings), QString());
  }
}

void TestDot::keepsAttributes() {
  const auto result = dot::readDot(
      "digraph net { rankdir=LR; a [kind=gpu, rank=3, pos=\"1.5,-2!\", multicast=yes, aggregation=1, color=red];"
      " b [kind=switch, shape=circle, pos=\"strange\"]; a -> b [bandwidth=1, latency=0.50, style=bold] }",
      "x.dot");
  QVERIFY2(result, qPrintable(failure(result)));
  const fabric::Description& got = result->description;
  QCOMPARE(got.name, std::string("net"));
  QCOMPARE(got.extra, std::string(R"({"rankdir":"LR"})"));
  QCOMPARE(got.nodes[0].rank, std::optional(3));
  QVERIFY(got.nodes[0].position == (fabric::Position{1.5, -2, {}}));
  QVERIFY(got.nodes[0].multicast && got.nodes[0].aggregation);
  QCOMPARE(got.nodes[0].extra, std::string(R"({"color":"red"})"));
  QVERIFY(!got.nodes[1].position);
  QCOMPARE(got.nodes[1].extra, std::string(R"({"pos":"strange","shape":"circle"})"));
  QCOMPARE(got.links[0].latency, std::optional<std::string>("0.50"));
  QCOMPARE(got.links[0].extra, std::string(R"({"style":"bold"})"));
  const auto again = dot::readDot(*dot::writeDot(got), "y.dot");
  QVERIFY2(again, qPrintable(failure(again)));
  QVERIFY(again->description == got);
}

void TestDot::clusterAttributes() {
  const auto result = dot::readDot(
      "graph { style=filled; subgraph cluster_x { label=box0; color=blue; a [kind=gpu]; subgraph cluster_y { b "
      "[kind=gpu] } } }",
      "x.dot");
  QVERIFY2(result, qPrintable(failure(result)));
  QCOMPARE(result->description.extra, std::string(R"({"style":"filled","clusters":{"box0":{"color":"blue"}}})"));
  QCOMPARE(nodesOf(result->description), (QStringList{"a:gpu in box0", "b:gpu in box0/y"}));
  const auto again = dot::readDot(*dot::writeDot(result->description), "y.dot");
  QVERIFY2(again, qPrintable(failure(again)));
  QCOMPARE(io::writeFabricJson(again->description), io::writeFabricJson(result->description));
}

void TestDot::roundTrip() {
  const fabric::Description in = everything();
  const auto text = dot::writeDot(in);
  QVERIFY2(text, text ? "" : describe(text.error()).c_str());
  const auto out = dot::readDot(*text, "x.dot");
  QVERIFY2(out, qPrintable(failure(out)));
  // As JSON, so that a difference shows; the order of unknown keys is DOT's.
  const auto sorted = [](const fabric::Description& description) {
    return QJsonDocument::fromJson(QByteArray::fromStdString(io::writeFabricJson(description))).toJson();
  };
  QVERIFY2(sorted(out->description) == sorted(in), (sorted(out->description) + "\n" + sorted(in)).constData());
  QVERIFY(out->description.nodes[1].extra.find(R"("kind":"inner")") != std::string::npos);
  QVERIFY(out->description.extra.find("0.10") != std::string::npos);
  QVERIFY(out->description.extra.find("12345678901234567890") != std::string::npos);
  QCOMPARE(texts(out->findings), QString());
  QCOMPARE(*dot::writeDot(out->description), *text);
}

void TestDot::randomRoundTrips() {
  const std::string letters = "ab\"\\<>/{}; \n\t\r%-=[]#.+:\xC3\xA9|&'$0";
  for (unsigned seed = 1; seed <= 200; ++seed) {
    std::mt19937 random(seed);
    const auto text = [&](std::size_t max) {
      std::string out;
      const std::size_t length = random() % (max + 1);
      for (std::size_t i = 0; i < length; ++i) {
        const char c = letters[random() % letters.size()];
        if (static_cast<unsigned char>(c) >= 0x80) {
          out += "\xC3\xA9";
        } else {
          out += c;
        }
      }
      return out;
    };
    fabric::Description in;
    in.name = text(6);
    const std::size_t nodes = 1 + random() % 8;
    for (std::size_t i = 0; i < nodes; ++i) {
      // Without boxes the writer may leave the order to libcgraph.
      const std::string box = seed % 2 == 0 ? text(4) : std::string();
      fabric::NodeDescription node{std::to_string(i) + text(5), random() % 2 != 0 ? "gpu" : "switch", box};
      node.multicast = random() % 3 == 0;
      if (random() % 2 == 0) {
        node.position = fabric::Position{static_cast<double>(random()) / 7, -static_cast<double>(random() % 9), {}};
      }
      in.nodes.push_back(node);
    }
    const std::size_t links = random() % 10;
    for (std::size_t i = 0; i < links; ++i) {
      in.links.push_back({in.nodes[random() % nodes].id, in.nodes[random() % nodes].id,
                          std::to_string(1 + random() % 9) + (random() % 2 == 0 ? "/7" : ".50"), random() % 2 == 0,
                          static_cast<int>(1 + random() % 3)});
    }
    const auto written = dot::writeDot(in);
    QVERIFY2(written, written ? "" : describe(written.error()).c_str());
    const auto out = dot::readDot(*written, "x.dot");
    QVERIFY2(out, qPrintable(QStringLiteral("seed %1: %2\n").arg(seed).arg(failure(out)) +
                             QString::fromStdString(*written)));
    if (!(out->description == in)) {
      QFAIL(qPrintable(QStringLiteral("seed %1:\n").arg(seed) + QString::fromStdString(io::writeFabricJson(in)) +
                       QString::fromStdString(*written) +
                       QString::fromStdString(io::writeFabricJson(out->description))));
    }
  }
}

void TestDot::writeErrors_data() {
  QTest::addColumn<QString>("id");
  QTest::addColumn<QString>("dst");
  QTest::addColumn<QString>("message");
  QTest::newRow("twice") << "a"
                         << "a"
                         << "node \"a\": two nodes have this id";
  QTest::newRow("empty") << ""
                         << "a"
                         << "a node without id";
  QTest::newRow("dangling") << "b"
                            << "c"
                            << "link 0 \"a\" -> \"c\": one end of the link is not a node";
  QTest::newRow("zero byte") << QString("b").append(QChar(0)) << "a"
                             << "contains a zero byte";
}

void TestDot::writeErrors() {
  QFETCH(QString, id);
  QFETCH(QString, dst);
  QFETCH(QString, message);
  fabric::Description in;
  in.nodes = {{"a", "gpu"}, {id.toStdString(), "gpu"}};
  in.links = {{"a", dst.toStdString(), "1"}};
  const auto text = dot::writeDot(in);
  QVERIFY(!text);
  const QString got = QString::fromStdString(describe(text.error()));
  QVERIFY2(got.contains(message), qPrintable(got));
}

void TestDot::afterAnErrorTheNextTextIsRead() {
  for (int i = 0; i < 3; ++i) {
    const auto broken = dot::readDot("digraph {\n a -> [ \n rest of it", "x.dot");
    QVERIFY(!broken);
    QCOMPARE(broken.error().where.line, 2);  // counted from 1 in every text
    const auto good = dot::readDot("graph { a [kind=gpu] }", "x.dot");
    QVERIFY2(good, qPrintable(failure(good)));
    QCOMPARE(nodesOf(good->description), QStringList{"a:gpu"});
  }
}

void TestDot::badInput_data() {
  QTest::addColumn<QString>("message");
  const auto expected = QJsonDocument::fromJson(QByteArray::fromStdString(contents(kBad + "expected.json"))).object();
  int rows = 0;
  for (auto entry = expected.begin(); entry != expected.end(); ++entry) {
    if (entry.key().endsWith(".dot")) {
      QTest::newRow(qPrintable(entry.key())) << entry.value().toString();
      ++rows;
    }
  }
  QVERIFY(rows > 15);
}

void TestDot::badInput() {
  QFETCH(QString, message);
  const QString name = QTest::currentDataTag();
  const std::string text = contents(kBad + name);
  QVERIFY(!text.empty());
  QCOMPARE(failure(dot::readDot(text, name.toStdString())), message);
  // The helper passes on message and place.
  io::ImportOptions options;
  options.dotHelper.program = COPPICE_DOT_HELPER;
  QCOMPARE(failure(io::importFabric(text, io::FabricFormat::dot, name.toStdString(), options)), message);
}

void TestDot::helperBothWays() {
  io::DotHelperOptions options;
  options.program = COPPICE_DOT_HELPER;
  // JSON has no room for an extra key that is the format's own.
  const fabric::Description in = *io::readFabricJson(io::writeFabricJson(everything()));
  const auto text = io::exportFabric(in, io::FabricFormat::dot, options);
  QVERIFY2(text, text ? "" : describe(text.error()).c_str());
  QVERIFY2(*text == *dot::writeDot(in), (*text + *dot::writeDot(in)).c_str());
  const auto out = io::readDotWithHelper(*text, "x.dot", options);
  QVERIFY2(out, qPrintable(failure(out)));
  const auto direct = dot::readDot(*text, "x.dot");
  QVERIFY(direct);
  QCOMPARE(io::writeFabricJson(out->description), io::writeFabricJson(direct->description));

  const auto noted = io::readDotWithHelper("graph { gpu0 -- gpu1 [bw=1] }", "x.dot", options);
  QVERIFY2(noted, qPrintable(failure(noted)));
  QVERIFY(texts(noted->findings).contains("note: x.dot: the bandwidth of 1 edge was read from \"bw\""));
}

void TestDot::helperUsage() {
  const auto run = [](const QStringList& arguments, const QByteArray& input) {
    QProcess process;
    process.start(COPPICE_DOT_HELPER, arguments);
    process.write(input);
    process.closeWriteChannel();
    process.waitForFinished(coppice::waiting::kPatience);
    return std::tuple(process.exitCode(), process.readAllStandardOutput(), process.readAllStandardError());
  };
  QCOMPARE(std::get<0>(run({}, {})), 2);
  QCOMPARE(std::get<0>(run({"both"}, {})), 2);
  const auto [helped, usage, nothing] = run({"--help"}, {});
  QCOMPARE(helped, 0);
  QVERIFY(usage.startsWith("Usage: coppice-dot read"));
  const auto [failed, output, message] = run({"write"}, "{\"nodes\": []}");
  QCOMPARE(failed, 2);
  QCOMPARE(output, QByteArray());
  QVERIFY2(message.startsWith("error: ") && message.count('\n') == 1, message.constData());
}

QTEST_GUILESS_MAIN(TestDot)
#include "tst_dot.moc"
