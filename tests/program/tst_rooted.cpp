// SPDX-License-Identifier: Apache-2.0
#include <QtTest>

#include "program/rooted.hpp"
#include "support/sample_programs.hpp"

using namespace coppice;
using namespace coppice::program;

class TestRooted : public QObject {
  Q_OBJECT

private slots:
  void fileNames_data();
  void fileNames();
  void warnings();
};

void TestRooted::fileNames_data() {
  QTest::addColumn<QString>("name");
  QTest::addColumn<int>("root");
  QTest::addColumn<QString>("wanted");
  QTest::newRow("suffix") << "bcast.xml" << 3 << "bcast-root3.xml";
  QTest::newRow("folder with a dot") << "a.b/bcast" << 12 << "a.b/bcast-root12";
  QTest::newRow("several dots") << "2x.a100.xml" << 0 << "2x.a100-root0.xml";
  QTest::newRow("hidden") << "/tmp/.xml" << 1 << "/tmp/.xml-root1";
  QTest::newRow("has it") << "bcast-root3.xml" << 3 << "bcast-root3.xml";
  QTest::newRow("has another") << "bcast-root3.xml" << 13 << "bcast-root3-root13.xml";
  QTest::newRow("no root") << "allgather.xml" << -1 << "allgather.xml";
}

void TestRooted::fileNames() {
  QFETCH(QString, name);
  QFETCH(int, root);
  QTEST(QString::fromStdString(namedAfterRoot(name.toStdString(), root)), "wanted");
}

void TestRooted::warnings() {
  Program broadcast = samples::chainBroadcast(3, 1, true);
  QCOMPARE(rootedFindings(broadcast, 0, Reach::severalBoxes).size(), std::size_t{2});
  QCOMPARE(rootedFindings(broadcast, 0, Reach::oneBox).size(), std::size_t{1});
  QCOMPARE(rootedFindings(broadcast, -1, Reach::oneBox).size(), std::size_t{0});
  QVERIFY(rootedFindings(broadcast, 2, Reach::oneBox).front().fix.find("name-root2.xml") != std::string::npos);
  QVERIFY(rootedFindings(broadcast, 2, Reach::oneBox, "a/b.xml").front().fix.ends_with("for example b-root2.xml"));
  QVERIFY(rootedFindings(broadcast, 2, Reach::oneBox, "a/b-root2.xml").front().fix.find("name") == std::string::npos);
  broadcast.protocol = Protocol::ll;
  QCOMPARE(rootedFindings(broadcast, 0, Reach::severalBoxes).size(), std::size_t{1});
  QCOMPARE(rootedFindings(samples::directGather(3, 1, 1, true), 1, Reach::severalBoxes).size(), std::size_t{1});
  QVERIFY(rootedFindings(samples::ringAllgather(3, 1, true), -1, Reach::severalBoxes).empty());
}

QTEST_GUILESS_MAIN(TestRooted)
#include "tst_rooted.moc"
