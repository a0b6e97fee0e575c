// SPDX-License-Identifier: Apache-2.0
#include <QTest>

#include "io/link_csv.hpp"

using namespace coppice;

class TestLinkCsv : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void tables_data();
  void tables();
  void faults_data();
  void faults();
  void roundTrip();
  void lookalikes_data();
  void lookalikes();
};

void TestLinkCsv::tables_data() {
  QTest::addColumn<QString>("text");
  QTest::addColumn<QString>("expected");
  QTest::newRow("bare") << "gpu0,sw,25\n"
                        << "gpu0>sw 25 x1 both";
  QTest::newRow("header") << "tail,head,bandwidth,count,direction\na,b,400Gb/s,4,one"
                          << "a>b 400Gb/s x4 one";
  QTest::newRow("columns moved") << "bw;to;from\n12.5;b;a\r\n"
                                 << "a>b 12.5 x1 both";
  QTest::newRow("tabs") << "Source\tTarget\tGbps\na\tb\t25/2"
                        << "a>b 25/2 x1 both";
  QTest::newRow("quotes") << "\"a,\"\"b\"\"\",\"c\nd\",1"
                          << "a,\"b\">c\nd 1 x1 both";
  QTest::newRow("comments and blank lines") << "# fabric, \"or so\n\na,b,1\n\n#x\nb,c,2\n"
                                            << "a>b 1 x1 both; b>c 2 x1 both";
  QTest::newRow("byte order mark") << QStringLiteral("\uFEFFa,b,1") << "a>b 1 x1 both";
}

void TestLinkCsv::tables() {
  QFETCH(QString, text);
  QFETCH(QString, expected);
  const auto read = io::readLinkCsv(text.toStdString(), "t.csv");
  QVERIFY2(read, read ? "" : read.error().message.c_str());
  QStringList found;
  for (const auto& link : read->description.links) {
    found << QStringLiteral("%1>%2 %3 x%4 %5")
                 .arg(QString::fromStdString(link.src), QString::fromStdString(link.dst),
                      QString::fromStdString(link.bandwidth))
                 .arg(link.count)
                 .arg(link.duplex ? QStringLiteral("both") : QStringLiteral("one"));
  }
  QCOMPARE(found.join(QStringLiteral("; ")), expected);
  QCOMPARE(read->findings.size(), std::size_t(1));
}

void TestLinkCsv::faults_data() {
  QTest::addColumn<QByteArray>("text");
  QTest::addColumn<int>("line");
  QTest::newRow("empty") << QByteArray() << 1;
  QTest::newRow("header alone") << QByteArray("tail,head,bandwidth\n") << 1;
  QTest::newRow("no bandwidth") << QByteArray("a,b,1\na,c\n") << 2;
  QTest::newRow("unknown unit") << QByteArray("a,b,1\n\nb,c,4 parsec\n") << 3;
  QTest::newRow("no name") << QByteArray(",b,1\n") << 1;
  QTest::newRow("count") << QByteArray("a,b,1,none") << 1;
  QTest::newRow("count 0") << QByteArray("a,b,1,0") << 1;
  QTest::newRow("direction") << QByteArray("a,b,1,1,sideways") << 1;
  QTest::newRow("open quote") << QByteArray("a,b,1\n\"a,b,1\n") << 2;
  QTest::newRow("text after a quote") << QByteArray("\"a\"x,b,1\n") << 1;
  QTest::newRow("not UTF-8") << QByteArray("a,b,1\n\xff,b,1") << 2;
  QTest::newRow("endless row") << QByteArray(100000, ',') << 1;
}

void TestLinkCsv::faults() {
  QFETCH(QByteArray, text);
  QFETCH(int, line);
  const auto read = io::readLinkCsv(text.toStdString(), "t.csv");
  QVERIFY(!read);
  QCOMPARE(read.error().code, ErrorCode::badInput);
  QCOMPARE(read.error().where.line, line);
  QCOMPARE(read.error().where.file, std::string("t.csv"));
}

void TestLinkCsv::roundTrip() {
  fabric::Description description;
  description.links = {{"a, \"x\"", " b ", "12x25 GB/s", false, 3, "1.5", {}}, {"#c", "d", "25/2", true, 1, {}, {}}};
  const std::string text = io::writeLinkCsv(description);
  const auto read = io::readLinkCsv(text, "");
  QVERIFY2(read, text.c_str());
  QVERIFY(read->description.links == description.links);
  QCOMPARE(io::writeLinkCsv(read->description), text);
}

void TestLinkCsv::lookalikes_data() {
  QTest::addColumn<QString>("text");
  QTest::addColumn<bool>("isTable");
  QTest::newRow("header") << "from,to\n" << true;
  QTest::newRow("row") << "a,b,25\n" << true;
  QTest::newRow("matrix") << "0,1,2\n1,0,2\n" << false;
  QTest::newRow("json") << "{\"nodes\": [], \"links\": []}" << false;
  QTest::newRow("prose") << "what, is this" << false;
  QTest::newRow("nothing") << "" << false;
}

void TestLinkCsv::lookalikes() {
  QFETCH(QString, text);
  QFETCH(bool, isTable);
  QCOMPARE(io::looksLikeLinkCsv(text.toStdString()), isTable);
}

QTEST_GUILESS_MAIN(TestLinkCsv)
#include "tst_link_csv.moc"
