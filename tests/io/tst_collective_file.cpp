// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <sstream>
#include <vector>

#include "fabric/fabric.hpp"
#include "io/collective_file.hpp"
#include "io/schedule_json.hpp"
#include "presets/presets.hpp"
#include "schedule/named_table.hpp"

/// Tables of shards as people write them.
using namespace coppice;
using schedule::CustomShard;

namespace {

/// GPUs g0 to g3.
const fabric::Fabric& ring() {
  static const fabric::Fabric kFabric = [] {
    const auto description = presets::make("ring", {{"gpus", "4"}});
    return *fabric::Fabric::build(*description);
  }();
  return kFabric;
}

std::vector<CustomShard> shardsOf(const schedule::CollectiveTable& table) {
  std::vector<CustomShard> shards;
  for (std::int64_t shard = 0; shard < table.shardCount(); ++shard) {
    const auto sources = table.sources(shard);
    const auto destinations = table.destinations(shard);
    shards.push_back({table.share(shard),
                      {sources.begin(), sources.end()},
                      {destinations.begin(), destinations.end()},
                      table.combines(shard)});
  }
  return shards;
}

}  // namespace

class TestCollectiveFile : public QObject {
  Q_OBJECT

private slots:
  void tables_data();
  void tables();
  void equalShares_data();
  void equalShares();
  void chunks_data();
  void chunks();
  void faults_data();
  void faults();
  void differences();
  void goals();
  void written();
};

void TestCollectiveFile::tables_data() {
  QTest::addColumn<QString>("text");
  const QString id = QString::fromStdString(ring().nodes()[ring().gpus()[1]].id);
  QTest::newRow("csv") << "share,sources,destinations,combines\n1/4,0,1 2,no\n3/4,0 1 2 3,3,yes\n";
  QTest::newRow("names, ranges and all") << "share,sources,destinations,combines\n1/4,0," + id +
                                                " 2,\n3/4,all,3,true\n";
  QTest::newRow("columns moved, no last end of line")
      << "combines;destinations;sources;share\r\nno;1-2;0;0.25\r\n1;3;0-3;0.75";
  QTest::newRow("tabs, comments, quotes") << "# halo\nshare\tsources\tdestinations\tcombines\n\n\"1/4\"\t0\t2 1\t0\n"
                                             "#\n3/4\tall\t3\tyes\n";
  QTest::newRow("byte order mark") << QStringLiteral(
      "\uFEFFshare,sources,destinations,combines\n1/4,0,1 2,no\n"
      "3/4,all,3,yes\n");
  QTest::newRow("json") << "{\"format\": \"coppice-collective\", \"version\": 1, \"shards\": [{\"share\": \"1/4\", "
                           "\"sources\": [0], \"destinations\": [\"" +
                               id +
                               "\", 2]}, {\"share\": 0.75, \"sources\": \"all\", \"destinations\": [3], "
                               "\"combines\": true}]}";
}

void TestCollectiveFile::tables() {
  QFETCH(QString, text);
  const auto table = io::readCollectiveTable(text.toStdString(), "t", ring());
  QVERIFY2(table.hasValue(), table ? "" : describe(table.error()).c_str());
  const std::vector<CustomShard> expected{{Rational(1, 4), {0}, {1, 2}, false},
                                          {Rational(3, 4), {0, 1, 2, 3}, {3}, true}};
  QVERIFY(shardsOf(*table) == expected);
  QCOMPARE(table->rankCount(), 4);
  QVERIFY(table->collective() == Collective::custom);
}

void TestCollectiveFile::equalShares_data() {
  QTest::addColumn<QByteArray>("text");
  QTest::newRow("csv") << QByteArray("sources,destinations\n0,1\n1,2\n2,3 0\n");
  QTest::newRow("json") << QByteArray(
      "{\"format\": \"coppice-collective\", \"version\": 1, \"shards\": ["
      "{\"sources\": [0], \"destinations\": [1]}, {\"sources\": [1], \"destinations\": [2]}, "
      "{\"sources\": [2], \"destinations\": [3, 0]}]}");
}

void TestCollectiveFile::equalShares() {
  QFETCH(QByteArray, text);
  const auto table = io::readCollectiveTable(text.toStdString(), "t", ring());
  QVERIFY2(table.hasValue(), table ? "" : describe(table.error()).c_str());
  const std::vector<CustomShard> expected{
      {Rational(1, 3), {0}, {1}, false}, {Rational(1, 3), {1}, {2}, false}, {Rational(1, 3), {2}, {0, 3}, false}};
  QVERIFY(shardsOf(*table) == expected);
}

void TestCollectiveFile::chunks_data() {
  QTest::addColumn<QByteArray>("text");
  QTest::newRow("csv") << QByteArray("chunk,from,to,reduce\n0,0 2,1,no\n1,all,3,yes\n");
  QTest::newRow("csv in any order") << QByteArray("to;chunk;from;reduce\n3;1;0-3;1\n1;0;2 0;\n");
  QTest::newRow("json") << QByteArray(
      "{\"format\": \"coppice-collective\", \"version\": 1, \"shards\": ["
      "{\"chunk\": 1, \"from\": \"all\", \"to\": [3], \"reduce\": true}, "
      "{\"chunk\": 0, \"from\": [0, 2], \"to\": [1]}]}");
  QTest::newRow("json rows alone") << QByteArray(
      "[{\"chunk\": 0, \"from\": [0, 2], \"to\": [1], \"reduce\": false},\n"
      " {\"chunk\": 1, \"from\": [0, 1, 2, 3], \"to\": [3], \"reduce\": true}]");
}

void TestCollectiveFile::chunks() {
  QFETCH(QByteArray, text);
  const auto table = io::readCollectiveTable(text.toStdString(), "t", ring());
  QVERIFY2(table.hasValue(), table ? "" : describe(table.error()).c_str());
  const std::vector<CustomShard> expected{{Rational(1, 2), {0, 2}, {1}, false},
                                          {Rational(1, 2), {0, 1, 2, 3}, {3}, true}};
  QVERIFY(shardsOf(*table) == expected);
}

void TestCollectiveFile::faults_data() {
  QTest::addColumn<QByteArray>("text");
  QTest::addColumn<int>("line");
  QTest::addColumn<int>("column");
  QTest::addColumn<QString>("says");
  const QByteArray head = "share,sources,destinations\n";
  const auto csv = [&](const char* name, const QByteArray& rows, int line, int column, const char* says) {
    QTest::newRow(name) << head + rows << line << column << says;
  };
  QTest::newRow("empty") << QByteArray() << 1 << 1 << "header";
  QTest::newRow("comments alone") << QByteArray("# a\n# b\n") << 3 << 1 << "header";
  QTest::newRow("unknown column") << QByteArray("share,sources,sinks\n") << 1 << 15 << "\"sinks\" is not a column";
  QTest::newRow("column twice") << QByteArray("share,sources,share\n") << 1 << 15 << "twice";
  QTest::newRow("column missing") << QByteArray("share,sources\n") << 1 << 1 << "destinations";
  QTest::newRow("sources missing") << QByteArray("destinations\n1\n") << 1 << 1 << "sources";
  csv("no row", "", 0, 0, "no shard");
  csv("too few fields", "1,0\n", 2, 1, "2 fields");
  csv("too many fields", "1,0,1,2\n", 2, 1, "4 fields");
  csv("no share", ",0,1\n", 2, 1, "not a fraction");
  csv("share that is not a number", "1,0,1\n half,0,1\n", 3, 2, "\"half\"");
  csv("share beyond 64 bits", "1/99999999999999999999,0,1\n", 2, 1, "not a fraction");
  csv("negative share", "-1/2,0,1\n", 2, 1, "negative");
  csv("all shares zero", "0,0,1\n", 0, 0, "zero");
  csv("no source", "1,,1\n", 2, 1, "no source");
  csv("no destination", "1,0,\n", 2, 1, "no destination");
  csv("rank outside", "1,0,1 4\n", 2, 7, "\"4\" is not within");
  csv("range outside", "1,0-4,1\n", 2, 3, "\"0-4\"");
  csv("range backwards", "1,2-1,1\n", 2, 3, "\"2-1\"");
  csv("negative rank", "1,-1,1\n", 2, 3, "\"-1\"");
  csv("huge rank", "1,99999999999,1\n", 2, 3, "neither a rank");
  csv("unknown GPU", "1,0, x9\n", 2, 6, "\"x9\"");
  csv("rank twice", "1,0,2 1-3\n", 2, 1, "twice");
  QTest::newRow("flag") << QByteArray("share,sources,destinations,combines\n1,0,1,maybe\n") << 2 << 7 << "\"maybe\"";
  const auto chunks = [&](const char* name, const QByteArray& rows, int line, int column, const char* says) {
    QTest::newRow(name) << "chunk,from,to,reduce\n" + rows << line << column << says;
  };
  chunks("chunk twice", "0,0,1,\n0,1,2,\n", 3, 1, "chunk 0 appears twice");
  chunks("chunk missing", "0,0,1,\n2,1,2,\n", 3, 1, "chunk 1 is missing before chunk 2");
  chunks("chunk by name", "a,0,1,\n", 2, 1, "\"a\" is not the number");
  chunks("negative chunk", "-1,0,1,\n", 2, 1, "\"-1\" is not the number");
  chunks("chunk from nowhere", "0,,1,\n", 2, 1, "no source");
  chunks("chunk to nowhere", "0,1,,\n", 2, 1, "no destination");
  chunks("chunk from an unknown rank", "0,9,1,\n", 2, 3, "\"9\" is not within");
  chunks("chunk that may be reduced", "0,1,2,maybe\n", 2, 7, "\"maybe\"");
  QTest::newRow("columns of both kinds") << QByteArray("chunk,sources,to\n") << 1 << 7 << "of this kind of row";
  QTest::newRow("chunk column missing") << QByteArray("from,to\n0,1\n") << 1 << 1 << "\"chunk\" is missing";
  QTest::newRow("not UTF-8") << QByteArray("share,\xff") << 1 << 7 << "UTF-8";
  const auto json = [&](const char* name, const QByteArray& rows, int line, int column, const char* says) {
    QTest::newRow(name) << "{\"format\": \"coppice-collective\",\n\"version\": 1,\n\"shards\": " + rows + "}" << line
                        << column << says;
  };
  QTest::newRow("another format") << QByteArray("{\"format\": \"coppice-schedule\"}") << 1 << 30 << "not a table";
  QTest::newRow("format missing") << QByteArray("{}") << 1 << 2 << "\"format\"";
  QTest::newRow("newer version") << QByteArray("{\"format\": \"coppice-collective\",\n \"version\": 2}") << 2 << 15
                                 << "version";
  json("shards are not an array", "3", 3, 13, "not an array");
  json("no shard", "[]", 0, 0, "no shard");
  json("shard is not an object", "[\n7]", 4, 3, "not an object");
  json("share missing in one of two",
       "[\n{\"sources\": [0], \"destinations\": [1]}, {\"share\": 1, \"sources\": [0], \"destinations\": [1]}]", 0, 0,
       "1 shard of 2");
  json("unknown key", "[\n{\"size\": 3}]", 4, 12, "\"size\"");
  json("share is true", "[\n{\"share\": true, \"sources\": [0], \"destinations\": [1]}]", 4, 15, "neither a number");
  json("rank with a fraction", "[\n{\"share\": 1, \"sources\": [0.5], \"destinations\": [1]}]", 4, 30, "0.5");
  json("unknown id", "[\n{\"share\": 1, \"sources\": [\"x\"], \"destinations\": [1]}]", 4, 29, "\"x\"");
  json("some word", "[\n{\"share\": 1, \"sources\": \"none\", \"destinations\": [1]}]", 4, 31, "not ranks");
  json("rank outside", "[\n{\"share\": 1, \"sources\": [0], \"destinations\": [1, 9]}]", 4, 2, "Rank 9");
  json("flag", "[\n{\"share\": 1, \"sources\": [0], \"destinations\": [1], \"combines\": 1}]", 4, 65, "combines");
  json("keys of both kinds", "[\n{\"chunk\": 0, \"sources\": [0]}]", 4, 26, "another kind of row");
  json("rows of both kinds", "[{\"sources\": [0], \"destinations\": [1]},\n{\"chunk\": 1}]", 4, 13,
       "another kind of row");
  json("chunk missing in a row", "[\n{\"from\": [0], \"to\": [1]}]", 4, 2, "\"chunk\"");
  json("chunk as a word", "[\n{\"chunk\": \"x\", \"from\": [0], \"to\": [1]}]", 4, 14, "\"x\" is not the number");
  json("chunk twice in json",
       "[\n{\"chunk\": 0, \"from\": [0], \"to\": [1]}, {\"chunk\": 0, \"from\": [0], \"to\": [1]}]", 4, 51,
       "appears twice");
  json("cut off", "[\n{\"share\": ", 4, 0, "");
}

void TestCollectiveFile::faults() {
  QFETCH(QByteArray, text);
  QFETCH(int, line);
  QFETCH(int, column);
  QFETCH(QString, says);
  const auto table = io::readCollectiveTable(text.toStdString(), "t.csv", ring());
  QVERIFY(!table);
  const std::string told = describe(table.error());
  QVERIFY2(table.error().code == ErrorCode::badInput, told.c_str());
  QVERIFY2(QString::fromStdString(table.error().message).contains(says), told.c_str());
  QCOMPARE(QString::fromStdString(table.error().where.file), QString("t.csv"));
  if (line > 0) {
    QVERIFY2(table.error().where.line == line, told.c_str());
  }
  if (column > 0) {
    QVERIFY2(table.error().where.column == column, told.c_str());
  }
}

void TestCollectiveFile::differences() {
  const auto read = [](const char* rows) {
    return *io::readCollectiveTable(std::string("share,sources,destinations,combines\n") + rows, "t", ring());
  };
  // By another name the same thing.
  const auto scatter = *schedule::CollectiveTable::make(Collective::scatter, 4, 2);
  QCOMPARE(differenceFrom(read("1/4,2,0,\n1/4,2,1,\n1/4,2,2,\n1/4,2,3,\n"), scatter), std::string());
  const auto told = [&](const char* rows) { return QString::fromStdString(differenceFrom(read(rows), scatter)); };
  QVERIFY(told("1,2,0,\n").contains("4 shards, 1"));
  QVERIFY(told("1/4,2,0,\n1/4,2,1,\n1/2,2,2,\n1/4,2,3,\n").contains("shard 2: share 1/4, 1/2"));
  QVERIFY(told("1/4,2,0,\n1/4,1,1,\n1/4,2,2,\n1/4,2,3,\n").contains("shard 1: sources 2, 1"));
  QVERIFY(told("1/4,2,0,\n1/4,2,1,\n1/4,2,2,\n1/4,2,all,\n").contains("shard 3: destinations 3, 0 1 2 3"));
  QVERIFY(told("1/4,2,0,yes\n1/4,2,1,\n1/4,2,2,\n1/4,2,3,\n").contains("shard 0: it does not combine"));
}

/// A program has ranks alone; a .schedule.json has its own table.
void TestCollectiveFile::goals() {
  const char* const ranks = "share,sources,destinations,combines\n1/4,0,1-2,no\n3/4,all,3,yes\n";
  const auto table = io::readGoal(ranks, "t.csv", 4, nullptr);
  QVERIFY2(table.hasValue(), table ? "" : describe(table.error()).c_str());
  QVERIFY(*table == *io::readCollectiveTable(ranks, "t.csv", ring()));

  const std::string named = "sources,destinations\n0," + ring().nodes()[ring().gpus()[1]].id + "\n";
  QVERIFY(io::readGoal(named, "t.csv", 4, &ring()).hasValue());
  const auto refused = io::readGoal(named, "t.csv", 4, nullptr);
  QVERIFY(!refused);
  QCOMPARE(refused.error().where.line, 2);
  QVERIFY2(refused.error().message.find("is not a rank") != std::string::npos &&
               refused.error().fix.find("not known without a fabric") != std::string::npos,
           describe(refused.error()).c_str());
  QVERIFY(!io::readGoal(ranks, "t.csv", 3, nullptr));  // rank 3

  schedule::StepSchedule schedule;
  schedule.goal = *table;
  schedule.fabricDigest = ring().digest();
  schedule.algbw = Bandwidth(1);
  std::ostringstream file;
  QVERIFY(io::writeScheduleJson(file, schedule, ring()).hasValue());
  const auto own = io::readGoal(file.str(), "t.schedule.json", 4, nullptr);
  QVERIFY2(own && *own == *table, own ? "" : describe(own.error()).c_str());
}

/// What is written is read again; named collectives keep what they demand, and can be named again.
void TestCollectiveFile::written() {
  const std::vector<CustomShard> rows{
      {Rational(1, 6), {0}, {1, 2}, false}, {Rational(0), {1, 3}, {0}, true}, {Rational(5, 6), {0, 1, 2}, {3}, true}};
  std::vector<schedule::CollectiveTable> tables{*schedule::CollectiveTable::custom(4, rows)};
  const auto add = [&](Collective collective, std::optional<int> root, const std::vector<std::int64_t>& amounts) {
    tables.push_back(*schedule::CollectiveTable::make(collective, 4, root, amounts));
  };
  add(Collective::allreduce, {}, {});
  add(Collective::scatter, 2, {});
  add(Collective::allgather, {}, {1, 2, 3, 0});
  add(Collective::gather, 1, {4, 0, 4, 1});
  add(Collective::alltoall, {}, {0, 1, 2, 3, 4, 0, 5, 6, 7, 8, 0, 9, 1, 1, 1, 0});
  for (const auto& table : tables) {
    std::ostringstream out;
    QVERIFY(io::writeCollectiveTable(out, table).hasValue());
    const auto again = io::readGoal(out.str(), "t.csv", 4, nullptr);
    QVERIFY2(again.hasValue(), again ? "" : describe(again.error()).c_str());
    QCOMPARE(differenceFrom(table, *again), std::string());
    if (table.collective() == Collective::custom) {
      QVERIFY(*again == table);
      continue;
    }
    const auto named = schedule::named(*again, table.collective(), table.root());
    QVERIFY2(named.hasValue(), named ? "" : describe(named.error()).c_str());
    QVERIFY(named->collective() == table.collective());
    QCOMPARE(differenceFrom(table, *named), std::string());
    QCOMPARE(named->amounts().empty(), table.amounts().empty());
  }
  const auto other = schedule::named(tables[2], Collective::gather, 2);
  QVERIFY(!other);
  QVERIFY2(other.error().message.find("the table is not that of gather: shard 0: sources 2, 0 are expected") !=
               std::string::npos,
           other.error().message.c_str());
  QVERIFY(!schedule::named(tables[0], Collective::allgather, {}));
  QVERIFY(!schedule::named(tables[2], Collective::scatter, {}));  // no root
}

QTEST_APPLESS_MAIN(TestCollectiveFile)
#include "tst_collective_file.moc"
