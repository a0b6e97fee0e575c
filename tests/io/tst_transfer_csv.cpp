// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <sstream>
#include <string>

#include "io/schedule_json.hpp"
#include "io/transfer_csv.hpp"
#include "support/large_fabrics.hpp"
#include "support/must.hpp"
#include "verify/step_verifier.hpp"

using namespace coppice;
using schedule::CollectiveTable;
using schedule::StepSchedule;
using test::must;

namespace {

/// Three GPUs on a switch; one with an id that needs quotes.
fabric::Fabric star() {
  test::Sketch sketch("star");
  sketch.relay("sw");
  for (const char* id : {"g0", "g1", "a \"b\", c"}) {
    sketch.link(sketch.gpu(id), "sw", 10);
  }
  return must(fabric::Fabric::build(sketch.take()));
}

CollectiveTable allgather() {
  return must(CollectiveTable::make(Collective::allgather, 3));
}

constexpr const char* kRing =
    "# by hand\n"
    "step,shard,begin,end,from,to,reduces,route\n"
    "0,0,0,1,g0,g1,0,g0,sw,g1\n"
    "0,1,0,1/2,1,2,0\n"
    "0,1,1/2,1,g1,\"a \"\"b\"\", c\",0,\n"
    "\n"
    "0,2,0,1,2,0,0,\"a \"\"b\"\", c\",sw,g0\n"
    "1,2,0,1,0,1,0\n"
    "1,0,0,1,1,2,0\n"
    "1,1,0,1,2,0,0\n";

}  // namespace

class TestTransferCsv : public QObject {
  Q_OBJECT

private slots:
  void reads();
  void columnsInAnyOrder();
  void writesWhatItReads();
  void refuses_data();
  void refuses();
  void jsonWithoutRoutes();
  void jsonRefuses_data();
  void jsonRefuses();
};

void TestTransferCsv::reads() {
  const fabric::Fabric fabric = star();
  const StepSchedule schedule = must(io::readTransferCsv(kRing, "ring.csv", fabric, allgather()));
  QCOMPARE(schedule.transfers.size(), std::size_t{7});
  QVERIFY(schedule.isSynchronous);
  QCOMPARE(schedule.stepCount, 2);
  QCOMPARE(schedule.denominator, std::int64_t{2});
  QCOMPARE(schedule.transfers[0].end, std::int64_t{2});  // read before the half was known
  QCOMPARE(schedule.transfers[1].end, std::int64_t{1});
  for (std::size_t i = 0; i < schedule.transfers.size(); ++i) {
    QVERIFY(schedule.transfers[i].route != schedule::kNoRoute);
  }
  const auto verdict = must(verify::verifySteps(fabric, schedule));
  QVERIFY(verdict.ok);
  // Two steps of a third each over ports of 10 GB/s.
  QCOMPARE(QString::fromStdString(toFraction(schedule.algbw)), QString("15"));
}

void TestTransferCsv::columnsInAnyOrder() {
  const fabric::Fabric fabric = star();
  const StepSchedule schedule =
      must(io::readTransferCsv("to,from,end,begin,shard,ordered_phase,reduces\n1,0,1,0,0,0,0\n", "a.csv", fabric,
                               must(CollectiveTable::make(Collective::broadcast, 3, 0))));
  QVERIFY(!schedule.isSynchronous);
  QVERIFY(schedule.keepsOrder);
  QCOMPARE(schedule.transfers[0].from, 0);
  QCOMPARE(schedule.transfers[0].to, 1);
  const StepSchedule rounds =
      must(io::readTransferCsv("step,shard,begin,end,from,to,reduces,rounds\n0,0,0,1,0,1,0,3\n2,0,0,1,1,2,0,2\n",
                               "a.csv", fabric, must(CollectiveTable::make(Collective::broadcast, 3, 0))));
  QCOMPARE(rounds.rounds, (std::vector<std::int32_t>{3, 1, 2}));
}

void TestTransferCsv::writesWhatItReads() {
  const fabric::Fabric fabric = star();
  StepSchedule schedule = must(io::readTransferCsv(kRing, "ring.csv", fabric, allgather()));
  for (const bool isSynchronous : {true, false}) {
    schedule.isSynchronous = isSynchronous;
    std::ostringstream out;
    QVERIFY(io::writeTransferCsv(out, schedule, fabric));
    const StepSchedule again = must(io::readTransferCsv(out.str(), "again.csv", fabric, allgather()));
    QCOMPARE(again.isSynchronous, isSynchronous);
    QVERIFY(again.transfers.size() == schedule.transfers.size());
    std::ostringstream second;
    QVERIFY(io::writeTransferCsv(second, again, fabric));
    QCOMPARE(QString::fromStdString(second.str()), QString::fromStdString(out.str()));
  }
}

void TestTransferCsv::refuses_data() {
  QTest::addColumn<QString>("text");
  QTest::addColumn<int>("line");
  QTest::addColumn<int>("column");
  QTest::addColumn<QString>("word");
  const QString header = "step,shard,begin,end,from,to,reduces,route\n";
  const auto row = [&](const char* title, const QString& text, int line, int column, const char* word) {
    QTest::newRow(title) << text << line << column << word;
  };
  row("empty", "", 1, 1, "no transfer");
  row("columns alone", header, 1, 1, "no transfer");
  row("unknown column", "step,shard,start\n", 1, 12, "\"start\" is not a column");
  row("column twice", "step,shard,step\n", 1, 12, "appears twice");
  row("column missing", "step,shard,begin,end,from,to\n", 1, 1, "\"reduces\" is missing");
  row("route not last", "route,step,shard,begin,end,from,to,reduces\n", 1, 1, "not the last");
  row("few fields", header + "0,0,0,1,g0\n", 2, 9, "5 fields");
  row("no step", header + "x,0,0,1,g0,g1,0\n", 2, 1, "\"x\" is not a step");
  row("huge step", header + "2000000000,0,0,1,g0,g1,0\n", 2, 1, "is not a step");
  row("shard out of range", header + "0,3,0,1,g0,g1,0\n", 2, 3, "\"3\" is not a shard from 0 to 2");
  row("beyond 64 bits", header + "0,99999999999999999999,0,1,g0,g1,0\n", 2, 3, "is not a shard");
  row("piece outside", header + "0,0,0,3/2,g0,g1,0\n", 2, 7, "\"3/2\" is not a fraction from 0 to 1");
  row("no fraction", header + "0,0,a,1,g0,g1,0\n", 2, 5, "\"a\" is not a fraction");
  row("empty piece", header + "0,0,1/2,1/2,g0,g1,0\n", 2, 9, "is empty");
  row("no such GPU", header + "0,0,0,1,g9,g1,0\n", 2, 9, "no GPU \"g9\"");
  row("a switch", header + "0,0,0,1,sw,g1,0\n", 2, 9, "not a GPU");
  row("reduces", header + "0,0,0,1,g0,g1,2\n", 2, 15, "is not a reduces");
  row("no such node", header + "0,0,0,1,g0,g1,0,g0,sx,g1\n", 2, 20, "not a node");
  row("no such link", header + "0,0,0,1,g0,g1,0,g0,g1\n", 2, 20, "no link");
  row("open quote", header + "0,0,0,1,\"g0,g1,0\n", 2, 9, "not closed");
  row("text after a quote", header + "0,0,0,1,\"g0\"x,g1,0\n", 2, 13, "follows a closing quote");
  row("rounds differ", "step,shard,begin,end,from,to,reduces,rounds\n0,0,0,1,0,1,0,1\n0,1,0,1,1,2,0,2\n", 3, 15,
      "1 rounds in an earlier row");
}

void TestTransferCsv::refuses() {
  QFETCH(QString, text);
  QFETCH(int, line);
  QFETCH(int, column);
  QFETCH(QString, word);
  const auto read = io::readTransferCsv(text.toStdString(), "bad.csv", star(), allgather());
  QVERIFY(!read);
  QCOMPARE(read.error().code, ErrorCode::badInput);
  QCOMPARE(QString::fromStdString(read.error().where.file), QString("bad.csv"));
  QCOMPARE(read.error().where.line, line);
  QCOMPARE(read.error().where.column, column);
  QVERIFY2(QString::fromStdString(read.error().message).contains(word), read.error().message.c_str());
  QVERIFY(!read.error().fix.empty());
}

/// Route -1 is a shortest one; the table of shards is for custom collectives alone.
void TestTransferCsv::jsonWithoutRoutes() {
  const fabric::Fabric fabric = star();
  const StepSchedule schedule = must(io::readTransferCsv(kRing, "ring.csv", fabric, allgather()));
  StepSchedule bare = schedule;
  bare.transfers = {};
  for (std::size_t i = 0; i < schedule.transfers.size(); ++i) {
    schedule::Transfer transfer = schedule.transfers[i];
    transfer.route = schedule::kNoRoute;
    bare.transfers.add(transfer);
  }
  bare.paths = {};
  std::ostringstream out;
  QVERIFY(io::writeScheduleJson(out, bare, fabric));
  const auto loaded = must(io::loadSchedule(out.str()));
  QCOMPARE(loaded.routesAdded, std::int64_t(schedule.transfers.size()));
  QVERIFY(must(verify::verifySteps(fabric, loaded.schedule)).ok);
  // A transfer that no route can have is for the verifier to name.
  QString text = QString::fromStdString(out.str());
  const auto first = text.indexOf("[0, 0, 0, 2, 0, 1, -1, 0]");
  QVERIFY2(first > 0, qPrintable(text));
  text.replace(first, 25, "[0, 0, 0, 2, 0, 9, -1, 0]");
  const auto odd = must(io::loadSchedule(text.toStdString()));
  QVERIFY(!must(verify::verifySteps(fabric, odd.schedule)).ok);
  text = QString::fromStdString(out.str());
  text.replace("\"denominator\"", "\"shards\": [], \"denominator\"");
  const auto refused = io::loadSchedule(text.toStdString(), "bad.schedule.json");
  QVERIFY(!refused && toText(refused.error().where.element) == "shards");
}

void TestTransferCsv::jsonRefuses_data() {
  QTest::addColumn<QString>("row");
  QTest::addColumn<QString>("word");
  QTest::newRow("few numbers") << "[0, 0]"
                               << "2 numbers, 8 are needed";
  QTest::newRow("text") << "[0, \"0\", 0, 1, 0, 1, -1, 0]"
                        << "not a row of whole numbers";
  QTest::newRow("nested") << "[[0], 0, 0, 1, 0, 1, -1, 0]"
                          << "not a row of whole numbers";
  QTest::newRow("no row") << "7"
                          << "not a row of whole numbers";
  QTest::newRow("fraction") << "[0.5, 0, 0, 1, 0, 1, -1, 0]"
                            << "not a row of whole numbers";
  QTest::newRow("beyond 64 bits") << "[0, 18446744073709551615, 0, 1, 0, 1, -1, 0]"
                                  << "not a row of whole numbers";
  QTest::newRow("beyond 32 bits") << "[4294967296, 0, 0, 1, 0, 1, -1, 0]"
                                  << "4294967296 is too large";
  QTest::newRow("reduces") << "[0, 0, 0, 1, 0, 1, -1, 2]"
                           << "reduces is 2";
}

/// Transfers are read as they come, not kept as JSON values; what is wrong with one is said with its place.
void TestTransferCsv::jsonRefuses() {
  QFETCH(QString, row);
  QFETCH(QString, word);
  const fabric::Fabric fabric = star();
  const StepSchedule schedule = must(io::readTransferCsv(kRing, "ring.csv", fabric, allgather()));
  std::ostringstream out;
  QVERIFY(io::writeScheduleJson(out, schedule, fabric));
  QString text = QString::fromStdString(out.str());
  QVERIFY(must(io::loadSchedule(text.toStdString())).schedule == schedule);
  const auto first = text.indexOf("[0, 1, ", text.indexOf("\"transfers\""));
  text.replace(first, text.indexOf(']', first) + 1 - first, row);
  const auto read = io::loadSchedule(text.toStdString(), "bad.schedule.json");
  QVERIFY(!read);
  QCOMPARE(read.error().code, ErrorCode::badInput);
  QVERIFY2(QString::fromStdString(read.error().message).contains(word), read.error().message.c_str());
  QCOMPARE(QString::fromStdString(toText(read.error().where.element)), QString("transfers[1]"));
  QVERIFY(read.error().where.line > 1);
}

QTEST_APPLESS_MAIN(TestTransferCsv)
#include "tst_transfer_csv.moc"
