// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <csignal>

#include "coppice/test_paths.hpp"
#include "executor/support.hpp"
#include "program/run_protocol.hpp"
#include "support/sample_programs.hpp"
#include "support/waiting.hpp"

using namespace coppice;
using coppice::waiting::kPatience;
using program::RunExit;

namespace {

QString data(const char* name) {
  return QString(COPPICE_TEST_DATA) + "/executor/" + name;
}

struct Ended {
  int code = -1;
  QByteArray out;
  QByteArray err;
  std::vector<program::Record> records;

  template <typename Record>
  [[nodiscard]] std::vector<Record> all() const {
    std::vector<Record> found;
    for (const program::Record& record : records) {
      if (const auto* one = std::get_if<Record>(&record)) {
        found.push_back(*one);
      }
    }
    return found;
  }
};

Ended finish(QProcess& process) {
  Ended ended;
  if (!process.waitForFinished(kPatience)) {
    process.kill();
    process.waitForFinished(coppice::waiting::kPatience);
    return ended;
  }
  ended.code = process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -2;
  ended.out = process.readAllStandardOutput();
  ended.err = process.readAllStandardError();
  for (const QByteArray& line : ended.out.split('\n')) {
    if (auto record = program::readRecord(line.toStdString()); record && !line.isEmpty()) {
      ended.records.push_back(*std::move(record));
    }
  }
  return ended;
}

Ended run(const QStringList& words) {
  QProcess process;
  process.start(COPPICE_EXEC, words);
  return finish(process);
}

/// Waits for a line of standard output.
bool waitFor(QProcess& process, const QByteArray& word, QByteArray& seen) {
  QElapsedTimer clock;
  clock.start();
  while (!seen.contains(word) && clock.elapsed() < kPatience) {
    process.waitForReadyRead(100);
    seen += process.readAllStandardOutput();
  }
  return seen.contains(word);
}

}  // namespace

/// coppice-exec as others start it.
class ExecutorProgramTest : public QObject {
  Q_OBJECT

private slots:
  void table();
  void records();
  void rootedShares();
  void customCollective();
  void exitCodes_data();
  void exitCodes();
  void malformed_data();
  void malformed();
  void selfTest();
  void cancelledByCommand();
  void endsWithItsStarter();
  void endsBySignal();
  void endsAtTimeLimit();
  void traceFile();
  void fullDisk();
  void strangeNames();
  void poorSurroundings_data();
  void poorSurroundings();
};

/// The columns of nccl-tests, and both halves of a row.
void ExecutorProgramTest::table() {
  const Ended ended = run({data("ring-allgather.xml"), "-b", "1K", "-e", "4K", "-n", "2", "-w", "1", "--bound", "100"});
  QCOMPARE(ended.code, 0);
  QVERIFY(ended.out.contains("size         count      type   redop    root"));
  QVERIFY(ended.out.contains("time   algbw   busbw #wrong  %bound"));
  QVERIFY(ended.out.contains("# Out of bounds values : 0 OK"));
  QVERIFY(ended.out.contains("# Avg bus bandwidth    :"));
  int rows = 0;
  for (const QByteArray& line : ended.out.split('\n')) {
    if (!line.isEmpty() && !line.startsWith('#')) {
      const QList<QByteArray> fields = line.simplified().split(' ');
      QCOMPARE(fields.size(), 15);
      QCOMPARE(fields[0].toInt(), 1024 << rows);
      QCOMPARE(fields[1].toInt(), (1024 << rows) / 16);
      QCOMPARE(fields[2], QByteArray("float"));
      QCOMPARE(fields[3], QByteArray("none"));
      QCOMPARE(fields[5], QByteArray("N/A"));
      QVERIFY(fields[10].toDouble() > 0);
      QCOMPARE(fields[13], QByteArray("0"));
      ++rows;
    }
  }
  QCOMPARE(rows, 3);
}

void ExecutorProgramTest::records() {
  const Ended ended = run({"run", data("ring-allreduce.xml"), "-b", "4K", "-e", "16K", "-f", "4", "-n", "3", "--type",
                           "half,int8", "--op", "max,avg", "--json", "--trace"});
  QCOMPARE(ended.code, 0);
  QCOMPARE(static_cast<qsizetype>(ended.records.size()), ended.out.count('\n'));
  QVERIFY(std::holds_alternative<program::HelloRecord>(ended.records.front()));
  QVERIFY(std::holds_alternative<program::EndRecord>(ended.records.back()));
  const auto results = ended.all<program::ResultRecord>();
  QCOMPARE(results.size(), std::size_t{8});  // two sizes, types and operations
  for (const auto& result : results) {
    QCOMPARE(result.wrong.value_or(-1), 0);
    QVERIFY(result.inPlace);
    QVERIFY(qAbs(result.busbw_GBps - result.algbw_GBps * 1.5) < 1e-9);
  }
  QCOMPARE(ended.all<program::PlanRecord>().at(0).ranks, 4);
  QVERIFY(ended.all<program::TraceRecord>().size() >= 8);
  QVERIFY(ended.all<program::SummaryRecord>().at(0).memory_GBps.value_or(0) > 0);
}

/// What the root holds is the size, one share the count; the share of one rank does not travel.
void ExecutorProgramTest::rootedShares() {
  for (const char* file : {"gather.xml", "scatter.xml"}) {
    const Ended ended = run({data(file), "-b", "4000", "-e", "4000", "-n", "2", "--json"});
    QCOMPARE(ended.code, 0);
    const bool gathers = std::string(file) == "gather.xml";
    QCOMPARE(ended.all<program::PlanRecord>().at(0).collective, std::string(gathers ? "gather" : "scatter"));
    QCOMPARE(ended.all<program::PlanRecord>().at(0).root, gathers ? 0 : 1);
    const auto results = ended.all<program::ResultRecord>();
    QCOMPARE(results.size(), std::size_t{gathers ? 1U : 2U});
    for (const auto& result : results) {
      QCOMPARE(result.size, 4000);
      QCOMPARE(result.count, 250);
      QCOMPARE(result.root, gathers ? 0 : 1);
      QCOMPARE(result.wrong.value_or(-1), 0);
      QVERIFY(qAbs(result.busbw_GBps - result.algbw_GBps * 0.75) < 1e-9);
    }
  }
}

/// What coll="custom" computes is in a table beside it.
void ExecutorProgramTest::customCollective() {
  const Ended ended = run({data("custom.xml"), "--goal", data("custom.csv"), "-b", "4000", "-e", "64000", "-f", "4",
                           "-n", "2", "--type", "float,int8", "--op", "sum,max", "--json"});
  QVERIFY2(ended.code == 0, ended.out + ended.err);
  QCOMPARE(ended.all<program::PlanRecord>().at(0).collective, std::string("custom"));
  const auto results = ended.all<program::ResultRecord>();
  QCOMPARE(results.size(), std::size_t{12});  // three sizes, two types and operations
  for (const auto& result : results) {
    QCOMPARE(result.wrong.value_or(-1), 0);
    QVERIFY(result.redop == "sum" || result.redop == "max");
    QVERIFY(qAbs(result.busbw_GBps - result.algbw_GBps) < 1e-9);
  }
  // The wrong table is found by the check of the program, and by the data where that is left out.
  QTemporaryDir folder;
  const QString table = folder.filePath("wrong.csv");
  QFile file(data("custom.csv"));
  QVERIFY(file.open(QIODevice::ReadOnly));
  QByteArray text = file.readAll();
  QVERIFY(text.contains("\n1/2,0,"));
  QFile other(table);
  QVERIFY(other.open(QIODevice::WriteOnly));
  other.write(text.replace("\n1/2,0,", "\n1/2,2,"));
  other.close();
  const QStringList words{data("custom.xml"), "--goal", table, "-b", "4K", "-e", "4K", "-n", "1"};
  const Ended refused = run(words);
  QCOMPARE(refused.code, 2);
  QVERIFY2(refused.err.contains("must hold a copy of"), refused.err);
  QCOMPARE(run(words + QStringList{"--unchecked"}).code, 4);
}

void ExecutorProgramTest::exitCodes_data() {
  QTest::addColumn<QStringList>("words");
  QTest::addColumn<int>("code");
  QTest::addColumn<QByteArray>("text");
  const QString good = data("ring-allgather.xml");
  QTest::newRow("no words") << QStringList{} << 1 << QByteArray("subcommand");
  QTest::newRow("unknown option") << QStringList{good, "--frobnicate"} << 1 << QByteArray("frobnicate");
  QTest::newRow("no file") << QStringList{"/nonexistent.xml"} << 1 << QByteArray("nonexistent");
  QTest::newRow("a folder") << QStringList{"/tmp"} << 1 << QByteArray("/tmp");
  QTest::newRow("size") << QStringList{good, "-b", "12Q"} << 1 << QByteArray("12Q");
  QTest::newRow("empty size") << QStringList{good, "-b", ""} << 1 << QByteArray("the value is empty");
  QTest::newRow("huge size") << QStringList{good, "-b", "1", "-e", "99999999T"} << 1 << QByteArray("size");
  QTest::newRow("sizes backwards") << QStringList{good, "-b", "2K", "-e", "1K"} << 1 << QByteArray("-e");
  QTest::newRow("type") << QStringList{good, "--type", "float8"} << 1 << QByteArray("float8");
  QTest::newRow("op") << QStringList{good, "--op", "xor"} << 1 << QByteArray("xor");
  QTest::newRow("factor") << QStringList{good, "-f", "1"} << 1 << QByteArray("-f");
  QTest::newRow("factor is not a number") << QStringList{good, "-f", "nan"} << 1 << QByteArray("-f");
  QTest::newRow("backend") << QStringList{good, "--backend", "abacus"} << 1 << QByteArray("abacus");
  QTest::newRow("ranks") << QStringList{good, "--ranks", "7"} << 1 << QByteArray("4 ranks");
  QTest::newRow("runtime") << QStringList{good, "--runtime", "none"} << 1 << QByteArray("runtime");
  QTest::newRow("deadlock") << QStringList{data("deadlock.xml")} << 2 << QByteArray("deadlock");
  QTest::newRow("race") << QStringList{data("race.xml")} << 2 << QByteArray("race");
  QTest::newRow("wrong") << QStringList{data("wrong.xml")} << 2 << QByteArray("twice");
  QTest::newRow("gather, deadlock") << QStringList{data("gather-deadlock.xml")} << 2 << QByteArray("deadlock");
  QTest::newRow("gather, race") << QStringList{data("gather-race.xml")} << 2
                                << QByteArray("reads s[1], where nothing was written");
  QTest::newRow("scatter, wrong") << QStringList{data("scatter-wrong.xml")} << 2
                                  << QByteArray("must hold chunk 1 of rank 0, but holds chunk 2 of rank 0");
  QTest::newRow("gather, wrong data") << QStringList{data("gather-wrong.xml"), "--unchecked", "-b", "4K", "-e", "4K"}
                                      << 4 << QByteArray("");
  QTest::newRow("scatter, wrong data") << QStringList{data("scatter-wrong.xml"), "--unchecked", "-b", "4K", "-e", "4K"}
                                       << 4 << QByteArray("");
  QTest::newRow("scatter, another root") << QStringList{data("scatter.xml"), "--root", "2"} << 2
                                         << QByteArray("of rank 0 must hold chunk 0 of rank 2");
  const QString custom = data("custom.xml");
  QTest::newRow("custom, no table") << QStringList{custom} << 2 << QByteArray("--goal TABLE");
  QTest::newRow("custom, no such table") << QStringList{custom, "--goal", "/nonexistent.csv"} << 1
                                         << QByteArray("nonexistent.csv");
  QTest::newRow("custom, another program") << QStringList{custom, "--goal", custom} << 2 << QByteArray("custom.xml:1");
  QTest::newRow("custom, avg") << QStringList{custom, "--goal", data("custom.csv"), "--op", "avg"} << 1
                               << QByteArray("avg is not defined");
  QTest::newRow("a table of what has a name")
      << QStringList{good, "--goal", data("custom.csv")} << 1 << QByteArray("says itself what it computes");
  QTest::newRow("memory") << QStringList{good, "-b", "64T", "-e", "64T"} << 3 << QByteArray("memory");
  QTest::newRow("wrong data") << QStringList{data("wrong.xml"), "--unchecked", "-b", "4K", "-e", "4K"} << 4
                              << QByteArray("");
  QTest::newRow("stuck") << QStringList{data("deadlock.xml"), "--unchecked"} << 5
                         << QByteArray("rank 1, threadblock 0");
}

void ExecutorProgramTest::exitCodes() {
  QFETCH(QStringList, words);
  QFETCH(int, code);
  QFETCH(QByteArray, text);
  const Ended plain = run(words);
  QCOMPARE(plain.code, code);
  QVERIFY2(plain.err.contains(text), plain.err.constData());
  QVERIFY(plain.err.count('\n') <= 1);
  const Ended ended = run(words + QStringList{"--json"});
  QCOMPARE(ended.code, code);
  QVERIFY(!ended.records.empty());
  QVERIFY(std::holds_alternative<program::HelloRecord>(ended.records.front()));
  const auto* end = std::get_if<program::EndRecord>(&ended.records.back());
  QVERIFY(end != nullptr);
  QCOMPARE(static_cast<int>(end->code), code);
  QVERIFY(code == 4 || ended.all<program::ErrorRecord>().size() == 1);
}

void ExecutorProgramTest::malformed_data() {
  QTest::addColumn<QByteArray>("text");
  QFile file(data("ring-allgather.xml"));
  QVERIFY(file.open(QIODevice::ReadOnly));
  const QByteArray good = file.readAll();
  QTest::newRow("nothing") << QByteArray();
  QTest::newRow("zero bytes") << QByteArray(1000, '\0');
  QTest::newRow("text") << QByteArray("hello");
  QTest::newRow("empty json") << QByteArray("{}");
  QTest::newRow("deep json") << QByteArray("{") + QByteArray(100000, '[');
  QTest::newRow("cut") << good.left(good.size() / 2);
  QTest::newRow("no ranks") << QByteArray(
      "<algo name=\"x\" proto=\"Simple\" nchannels=\"1\" nchunksperloop=\"1\" "
      "ngpus=\"0\" coll=\"allgather\" inplace=\"1\"></algo>");
  QTest::newRow("prolog") << "<?xml version=\"1.0\"?>" + good;
  QTest::newRow("offset") << QByteArray(good).replace("dstoff=\"0\"", "dstoff=\"99\"");
  QTest::newRow("huge offset") << QByteArray(good).replace("srcoff=\"0\"", "srcoff=\"2147483648\"");
  QTest::newRow("count") << QByteArray(good).replace("cnt=\"1\"", "cnt=\"60000\"");
  QTest::newRow("peer") << QByteArray(good).replace("send=\"1\"", "send=\"77\"");
  QTest::newRow("own peer") << QByteArray(good).replace("send=\"1\"", "send=\"0\"");
  QTest::newRow("chunks") << QByteArray(good).replace("nchunksperloop=\"8\"", "nchunksperloop=\"2000000000\"");
  QTest::newRow("scratch") << QByteArray(good).replace("s_chunks=\"0\"", "s_chunks=\"2000000000\"");
  QTest::newRow("dependency") << QByteArray(good).replace("depid=\"-1\"", "depid=\"5\"");
  QTest::newRow("step type") << QByteArray(good).replace("type=\"rcs\"", "type=\"ra\"");
  QTest::newRow("collective") << QByteArray(good).replace("coll=\"allgather\"", "coll=\"custom\"");
}

/// Refused with one line and code 2 (or 3 where it is too large), never a crash.
void ExecutorProgramTest::malformed() {
  QFETCH(QByteArray, text);
  QTemporaryDir folder;
  const QString path = folder.filePath("bad.xml");
  QFile file(path);
  QVERIFY(file.open(QIODevice::WriteOnly));
  file.write(text);
  file.close();
  const Ended ended = run({path, "-b", "1K", "-e", "1K", "--json"});
  QVERIFY2(ended.code == 2 || ended.code == 3, ended.out.constData());
  QVERIFY(ended.all<program::ErrorRecord>().size() == 1);
  QVERIFY(!ended.all<program::ErrorRecord>().at(0).error.message.empty());
  QVERIFY(ended.err.isEmpty());
}

void ExecutorProgramTest::selfTest() {
  const Ended ended = run({"self-test", "--json"});
  QCOMPARE(ended.code, 0);
  const auto env = ended.all<program::EnvRecord>().at(0);
  QVERIFY(env.cores >= 1);
  QCOMPARE(env.backends.size(), std::size_t{4});
  QVERIFY(env.backends[0].name == "threads" && env.backends[0].available);
  QCOMPARE(env.facts.at("self-test of threads"), std::string("ok"));
  for (const program::BackendNote& note : env.backends) {
    QVERIFY(!note.reason.empty());
  }
}

void ExecutorProgramTest::cancelledByCommand() {
  QProcess process;
  process.start(COPPICE_EXEC,
                {data("ring-allreduce.xml"), "-b", "1M", "-e", "1M", "-n", "100000000", "--json", "--lifeline"});
  QByteArray seen;
  QVERIFY(waitFor(process, "\"stage\":\"time\"", seen));
  process.write("{\"t\":\"nonsense\"}\nnonsense\n{\"t\":\"ping\"}\n");
  QVERIFY(waitFor(process, "\"pong\"", seen));
  process.write("{\"t\":\"cancel\"}\n");
  const Ended ended = finish(process);
  QCOMPARE(ended.code, 7);
  QCOMPARE(static_cast<int>(ended.all<program::EndRecord>().at(0).code), 7);
}

void ExecutorProgramTest::endsWithItsStarter() {
  QProcess process;
  process.start(COPPICE_EXEC,
                {data("ring-allreduce.xml"), "-b", "1M", "-e", "1M", "-n", "100000000", "--json", "--lifeline"});
  QByteArray seen;
  QVERIFY(waitFor(process, "\"stage\":\"time\"", seen));
  process.closeWriteChannel();
  const Ended ended = finish(process);
  QCOMPARE(ended.code, 7);
  QVERIFY(ended.all<program::EndRecord>().at(0).reason.find("starting program") != std::string::npos);
}

void ExecutorProgramTest::endsBySignal() {
  QProcess process;
  process.start(COPPICE_EXEC, {data("ring-allreduce.xml"), "-b", "1M", "-e", "1M", "-n", "100000000", "--json"});
  QByteArray seen;
  QVERIFY(waitFor(process, "\"stage\":\"time\"", seen));
  QCOMPARE(::kill(static_cast<pid_t>(process.processId()), SIGINT), 0);
  const Ended ended = finish(process);
  QCOMPARE(ended.code, 7);
  QVERIFY(ended.all<program::EndRecord>().at(0).reason.find("SIGINT") != std::string::npos);
}

void ExecutorProgramTest::endsAtTimeLimit() {
  const Ended ended =
      run({data("ring-allreduce.xml"), "-b", "1M", "-e", "1M", "-n", "100000000", "--json", "--timeout", "0.5"});
  QCOMPARE(ended.code, 5);
  QVERIFY(ended.all<program::ErrorRecord>().at(0).error.message.find("time limit") != std::string::npos);
}

void ExecutorProgramTest::traceFile() {
  QTemporaryDir folder;
  const QString path = folder.filePath("trace.jsonl");
  QCOMPARE(run({data("ring-allgather.xml"), "-b", "64K", "-e", "64K", "-n", "1", "--trace", path}).code, 0);
  QFile file(path);
  QVERIFY(file.open(QIODevice::ReadOnly));
  const auto record = program::readRecord(file.readAll().toStdString());
  QVERIFY(record);
  QCOMPARE(std::get<program::TraceRecord>(*record).events.size(), std::size_t{32});
  QCOMPARE(run({data("ring-allgather.xml"), "--trace", "/nonexistent/x"}).code, 1);
}

/// What cannot be told ends the run instead of being lost.
void ExecutorProgramTest::fullDisk() {
  if (!QFile::exists("/dev/full")) {
    QSKIP("needs /dev/full");
  }
  QProcess process;
  process.setStandardOutputFile("/dev/full");
  process.start(COPPICE_EXEC, {data("ring-allreduce.xml"), "-b", "1M", "-e", "1M", "-n", "1000000", "--json"});
  const Ended ended = finish(process);
  QCOMPARE(ended.code, 7);
  QCOMPARE(ended.err, QByteArray("coppice-exec: standard output cannot be written: No space left on device\n"));
  const Ended trace = run({data("ring-allreduce.xml"), "-b", "1K", "-e", "1K", "-n", "1", "--trace", "/dev/full"});
  QCOMPARE(trace.code, 7);
  QCOMPARE(trace.err, QByteArray("coppice-exec: \"/dev/full\" cannot be written: No space left on device\n"));
  process.setStandardOutputFile("/dev/full");
  process.start(COPPICE_EXEC, {"self-test"});
  const Ended test = finish(process);
  QCOMPARE(test.code, 7);
  QCOMPARE(test.err.count('\n'), 1);
}

/// Names in files are untrusted; they do not control the terminal.
void ExecutorProgramTest::strangeNames() {
  QTemporaryDir folder;
  QFile file(data("gather.xml"));
  QVERIFY(file.open(QIODevice::ReadOnly));
  const QString name = folder.filePath(QString::fromUtf8("\x1b]0;title\x07.xml"));
  QFile copy(name);
  QVERIFY(copy.open(QIODevice::WriteOnly));
  copy.write(file.readAll().replace("gather_tree", "a\x1b[31mb"));
  copy.close();
  const Ended good = run({name, "-b", "1K", "-e", "1K", "-n", "1"});
  QCOMPARE(good.code, 0);
  QVERIFY(good.out.contains("a?[31mb"));
  QVERIFY(!good.out.contains('\x1b'));
  QVERIFY(!good.out.contains("the size window is empty"));
  const Ended bad = run({name + "\x1b[2J"});
  QCOMPARE(bad.code, 1);
  QVERIFY(!bad.err.contains('\x1b'));
}

/// What the shell does for `coppice-exec FILE 0<&- 1>&-`, and for limits on what a user may have.
void ExecutorProgramTest::poorSurroundings_data() {
  QTest::addColumn<QString>("before");
  QTest::addColumn<int>("code");
  QTest::addColumn<QByteArray>("text");
  QTest::newRow("no standard input") << "exec <&-" << 0 << QByteArray();
  QTest::newRow("no standard output") << "exec >&-" << 7 << QByteArray("standard output cannot be written");
#ifndef COPPICE_SANITIZED  // a sanitizer itself writes a file before the program begins
  QTest::newRow("files may not grow") << "ulimit -f 0; set -- \"$@\" --trace /tmp/coppice-trace-$$; exec >/dev/null"
                                      << 7 << QByteArray("File too large");
#endif
  QTest::newRow("unknown locale") << "export LC_ALL=xx_YY.UTF-8" << 0 << QByteArray();
  QTest::newRow("no home, no path") << "unset HOME PATH TMPDIR" << 0 << QByteArray();
}

void ExecutorProgramTest::poorSurroundings() {
  QFETCH(QString, before);
  QFETCH(int, code);
  QFETCH(QByteArray, text);
  QProcess process;
  process.start("/bin/sh", {"-c", before + "; \"$@\"; code=$?; /bin/rm -f /tmp/coppice-trace-$$; exit $code", "sh",
                            COPPICE_EXEC, data("ring-allgather.xml"), "-b", "1K", "-e", "1K", "-n", "1"});
  const Ended ended = finish(process);
  QCOMPARE(ended.code, code);
  QCOMPARE(ended.err.count('\n'), text.isEmpty() ? 0 : 1);
  QVERIFY2(ended.err.contains(text), ended.err.constData());
}

QTEST_GUILESS_MAIN(ExecutorProgramTest)
#include "tst_executor_program.moc"
