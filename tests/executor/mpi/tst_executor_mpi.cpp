// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <QtTest>
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "coppice/test_paths.hpp"
#include "mpi/host_state.hpp"
#include "mpi/launcher.hpp"
#include "mpi/spin_limit.hpp"
#include "mpi/stale_segments.hpp"
#include "mpi/start_watch.hpp"
#include "plan/plan.hpp"
#include "program/msccl_xml.hpp"
#include "program/run_protocol.hpp"
#include "support/sample_programs.hpp"

using namespace coppice;
using program::RunExit;

namespace {

// Sanitized processes that share few cores take many times as long.
#ifdef COPPICE_SANITIZED
constexpr bool kIsSanitized = true;
constexpr int kSlowness = 10;
#else
constexpr bool kIsSanitized = false;
constexpr int kSlowness = 1;
#endif

/// An environment in which Open MPI runs as the user who runs the tests.
QProcessEnvironment environment(bool forcesNetwork = false) {
  QProcessEnvironment variables = QProcessEnvironment::systemEnvironment();
  variables.insert("OMPI_ALLOW_RUN_AS_ROOT", "1");
  variables.insert("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
  variables.remove("COPPICE_EXEC_FORCE_NETWORK");
  if (forcesNetwork) {
    variables.insert("COPPICE_EXEC_FORCE_NETWORK", "1");
  }
  return variables;
}

QString dataFile(const char* name) {
  return QStringLiteral(COPPICE_TEST_DATA "/executor/mpi/") + name;
}

/// Names in /dev/shm that are ours.
QStringList sharedMemory() {
  return QDir("/dev/shm").entryList({"coppice-exec-*"}, QDir::Files | QDir::System);
}

/// One run of coppice-exec with records.
class ExecRun {
public:
  explicit ExecRun(const QStringList& arguments, bool forcesNetwork = false)
      : ExecRun(arguments, environment(forcesNetwork)) {}
  ExecRun(const QStringList& arguments, const QProcessEnvironment& variables) {
    m_process.setProcessEnvironment(variables);
    m_process.start(COPPICE_EXEC, QStringList{"run"} + arguments + QStringList{"--backend", "mpi", "--json"});
  }
  ~ExecRun() {
    if (m_process.state() != QProcess::NotRunning) {
      m_process.kill();
      m_process.waitForFinished();
    }
  }

  QProcess& process() { return m_process; }
  /// Reads records until one is as wanted, or the time is over.
  bool waitUntil(const std::function<bool(const program::Record&)>& isWanted, int milliseconds = kSlowness * 20000) {
    QElapsedTimer timer;
    timer.start();
    std::size_t seen = 0;
    while (true) {
      read();
      for (; seen < m_records.size(); ++seen) {
        if (isWanted(m_records[seen])) {
          return true;
        }
      }
      if (m_process.state() == QProcess::NotRunning || timer.elapsed() > milliseconds) {
        return false;
      }
      m_process.waitForReadyRead(50);
    }
  }
  int finish(int milliseconds = kSlowness * 30000) {
    if (!m_process.waitForFinished(milliseconds)) {
      return -1;
    }
    read();
    return m_process.exitStatus() == QProcess::NormalExit ? m_process.exitCode() : -2;
  }
  template <typename Record>
  const Record* last() const {
    const Record* found = nullptr;
    for (const program::Record& record : m_records) {
      if (const auto* one = std::get_if<Record>(&record)) {
        found = one;
      }
    }
    return found;
  }
  [[nodiscard]] const std::vector<program::Record>& records() const { return m_records; }

  /// Processes below the launcher that run a rank; index = rank, 0 = not found.
  std::vector<pid_t> ranks(int count) const {
    std::vector<pid_t> found(static_cast<std::size_t>(count), 0);
    const QByteArray launcher = QByteArray::number(m_process.processId());
    for (const QString& name : QDir("/proc").entryList(QDir::Dirs)) {
      QFile variables("/proc/" + name + "/environ");
      QFile words("/proc/" + name + "/cmdline");
      if (!name[0].isDigit() || !variables.open(QIODevice::ReadOnly) || !words.open(QIODevice::ReadOnly)) {
        continue;
      }
      const QByteArray all = variables.readAll();
      if (!words.readAll().startsWith(QByteArray(COPPICE_EXEC)) || !all.contains("COPPICE_TEST_RUN=" + m_mark)) {
        continue;
      }
      const qsizetype at = all.indexOf("OMPI_COMM_WORLD_RANK=");
      if (at >= 0) {
        const int rank = all.mid(at + 21, all.indexOf('\0', at) - at - 21).toInt();
        if (rank < count) {
          found[rank] = name.toInt();
        }
      }
    }
    return found;
  }
  void mark(const QByteArray& mark) { m_mark = mark; }

private:
  void read() {
    m_text += m_process.readAllStandardOutput();
    for (qsizetype end = m_text.indexOf('\n'); end >= 0; end = m_text.indexOf('\n')) {
      if (auto record = program::readRecord(m_text.left(end).toStdString())) {
        m_records.push_back(std::move(*record));
      }
      m_text.remove(0, end + 1);
    }
  }

  QProcess m_process;
  QByteArray m_text;
  QByteArray m_mark;
  std::vector<program::Record> m_records;
};

}  // namespace

class ExecutorMpiTest : public QObject {
  Q_OBJECT

private slots:
  void initTestCase();
  void cleanup();

  void command();
  void shares_data();
  void shares();
  void hostProgram();
  void lostRank_data();
  void lostRank();
  void customCollective();
  void schedules_data();
  void schedules();
  void iterations_data();
  void iterations();
  void records();
  void oddNumbers_data();
  void oddNumbers();
  void oneClock();
  void deadlock_data();
  void deadlock();
  void killed_data();
  void killed();
  void stopped_data();
  void stopped();
  void interrupted_data();
  void interrupted();
  void refused();
  void spinLimit();
  void startWatch();
  void neverStarts_data();
  void neverStarts();
  void startsSlowly();
  void patience();
  void staleSegments();
  void segmentsOfAKilledRun();

private:
  void drive(const QStringList& launch, const QStringList& driver, const QProcessEnvironment& variables, int min);
  /// A run that continues until something is done to it.
  std::unique_ptr<ExecRun> endless(bool forcesNetwork, const QStringList& more = {});

  bool m_hasMpirun = false;
  int m_runs = 0;
};

#define NEEDS_MPIRUN()                                           \
  if (!m_hasMpirun) {                                            \
    QSKIP("skipped: needs mpirun (Debian package openmpi-bin)"); \
  }

void ExecutorMpiTest::initTestCase() {
  m_hasMpirun = !QStandardPaths::findExecutable("mpirun").isEmpty();
  QCOMPARE(sharedMemory(), QStringList());
}

void ExecutorMpiTest::cleanup() {
  QCOMPARE(sharedMemory(), QStringList());
}

std::unique_ptr<ExecRun> ExecutorMpiTest::endless(bool forcesNetwork, const QStringList& more) {
  const QByteArray mark = QByteArray::number(QCoreApplication::applicationPid()) + "." + QByteArray::number(++m_runs);
  qputenv("COPPICE_TEST_RUN", mark);
  auto run = std::make_unique<ExecRun>(
      QStringList{dataFile("ring4_allgather.xml"), "-b", "1M", "-e", "1M", "-n", "1000000", "-w", "0"} + more,
      forcesNetwork);
  run->mark(mark);
  qunsetenv("COPPICE_TEST_RUN");
  const bool isTiming = run->waitUntil([](const program::Record& record) {
    const auto* progress = std::get_if<program::ProgressRecord>(&record);
    return progress != nullptr && progress->stage == "time";  // the last stage of a size
  });
  QTest::qWait(200);  // into the run
  if (!isTiming) {
    qWarning() << "the run does not start:" << run->process().readAllStandardError();
  }
  return run;
}

void ExecutorMpiTest::command() {
  executor::LaunchRequest request;
  request.words = {"run", "a b.xml", "--backend=mpi", "--launch", "mpirun", "--host", "n1,n2", "--lifeline", "--json"};
  request.ranks = 4;
  request.hosts = "n1,n2";
  const std::vector<std::string> program = {"/x/exe"};
  const auto hosts = executor::launchCommand(request, "mpirun", true, program, 2);
  const auto holds = [](const std::vector<std::string>& command, const std::vector<std::string>& words) {
    return std::search(command.begin(), command.end(), words.begin(), words.end()) != command.end();
  };
  QVERIFY(holds(hosts, {"mpirun", "-n", "4", "--bind-to", "none", "--stdin", "none"}));
  QVERIFY(holds(hosts, {"--map-by", "slot"}));
  QVERIFY(holds(hosts, {"--mca", "plm_rsh_agent", "ssh -o BatchMode=yes -o ConnectTimeout=10"}));
  QVERIFY(
      holds(hosts, {"--host", "n1:2,n2:2", "/x/exe", "run", "a b.xml", "--json", "--backend", "mpi", "--launched"}));
  request.hosts = "n1:3,n2";
  QVERIFY(holds(executor::launchCommand(request, "mpirun", true, program, 2), {"--host", "n1:3,n2:1"}));
  QVERIFY(holds(executor::launchCommand(request, "srun", false, program, 2), {"--nodelist=n1,n2", "--nodes=2"}));
  request.hosts.clear();
  request.words = {"run", "a.xml"};
  auto command = executor::launchCommand(request, "mpirun", true, program, 2);
  QVERIFY(std::find(command.begin(), command.end(), "--oversubscribe") != command.end());
  QVERIFY(std::find(command.begin(), command.end(), "--allow-run-as-root") == command.end());
  command = executor::launchCommand(request, "mpirun", true, program, 4);
  QVERIFY(std::find(command.begin(), command.end(), "--oversubscribe") == command.end());
  request.partition = "gpu";
  command = executor::launchCommand(request, "srun", false, program, 4);
  QVERIFY(std::find(command.begin(), command.end(), "--partition=gpu") != command.end());
  QVERIFY(std::find(command.begin(), command.end(), "--kill-on-bad-exit=1") != command.end());
}

void ExecutorMpiTest::shares_data() {
  QTest::addColumn<QString>("hosts");
  QTest::addColumn<QString>("expected");  // of 8 ranks; empty = refused
  QTest::newRow("even") << "a,b"
                        << "a:4,b:4";
  QTest::newRow("a rest") << "a,b,c"
                          << "a:3,b:3,c:2";
  QTest::newRow("given") << "a:6,b:2"
                         << "a:6,b:2";
  QTest::newRow("one is open") << "a:6,b"
                               << "a:6,b:2";
  QTest::newRow("more room than ranks") << "a:8,b:8"
                                        << "a:8,b:8";
  QTest::newRow("too little room") << "a:4,b:3"
                                   << "";
  QTest::newRow("nothing is left for one") << "a:8,b"
                                           << "";
  QTest::newRow("more hosts than ranks") << "a,b,c,d,e,f,g,h,i"
                                         << "";
  QTest::newRow("no number") << "a:x,b"
                             << "";
  QTest::newRow("zero") << "a:0,b"
                        << "";
  QTest::newRow("an option") << "-a,b"
                             << "";
  QTest::newRow("an empty name") << "a,,b"
                                 << "";
  QTest::newRow("a shell") << "a;b"
                           << "";
}

void ExecutorMpiTest::shares() {
  QFETCH(QString, hosts);
  QFETCH(QString, expected);
  const auto shares = executor::shareRanks(hosts.toStdString(), 8);
  QString text;
  if (shares) {
    for (const executor::HostShare& share : *shares) {
      text += (text.isEmpty() ? "" : ",") + QString::fromStdString(share.host) + ":" + QString::number(share.ranks);
    }
  }
  QCOMPARE(text, expected);
}

void ExecutorMpiTest::hostProgram() {
  using Words = std::vector<std::string>;
  QCOMPARE(executor::hostProgram("/usr/bin/x", "/users/a/runs", "/users/a"), Words{"/usr/bin/x"});
  QCOMPARE(executor::hostProgram("/users/a/x", "/tmp", "/users/a"), Words{"/users/a/x"});
  QCOMPARE(executor::hostProgram("/users/ab/x", "/users/ab/y", "/users/a"), Words{"/users/ab/x"});
  QCOMPARE(executor::hostProgram("/x", "/y", "/"), Words{"/x"});
  const Words words = executor::hostProgram("/users/a/bin/x", "/users/a/runs/it's", "/users/a");
  QCOMPARE(words.front(), std::string("/bin/sh"));
  QCOMPARE(Words(words.end() - 2, words.end()), (Words{"runs/it's", "bin/x"}));
}

void ExecutorMpiTest::lostRank_data() {
  QTest::addColumn<QString>("text");
  QTest::addColumn<QString>("expected");
  QTest::newRow("nothing") << "all went well"
                           << "";
  QTest::newRow("Open MPI, wrapped")
      << "-----\nmpirun noticed that process rank 2 with PID 4711 on node vm exited on\nsignal 9 (Killed).\n----"
      << "rank 2 (process 4711 on vm) was ended by signal 9 (Killed)";
  QTest::newRow("Open MPI without its number")
      << "mpirun noticed that process rank 0 with PID 0 on node n7 exited on signal 11 (Segmentation fault)."
      << "rank 0 (on n7) was ended by signal 11 (Segmentation fault)";
  QTest::newRow("srun") << "srun: error: node3: task 2: Killed\n"
                        << "rank 2 (on node3) was ended: Killed";
  QTest::newRow("srun, others after it")
      << "srun: error: nodeB: task 2: Killed\nsrun: launch/slurm: _step_signal: Terminating StepId=12.0\n"
      << "rank 2 (on nodeB) was ended: Killed";
  QTest::newRow("srun, an exit code") << "srun: error: node3: task 2: Exited with exit code 5\n"
                                      << "";
  QTest::newRow("MPICH") << "=   PID 77 RUNNING AT n1\n=   KILLED BY SIGNAL: 9 (Killed)\n"
                         << "a rank (process 77 on n1) was ended by signal 9 (Killed)";
  QTest::newRow("Open MPI, a host")
      << "ORTE has lost communication with a remote daemon.\n\n  HNP daemon   : [[47552,0],0] on node nodeA\n"
         "  Remote daemon: [[47552,0],1] on node nodeB\n\nThis is usually due to"
      << "nodeB does not answer: mpirun has lost its daemon there";
  QTest::newRow("half a sentence") << "process rank 2 with PID"
                                   << "";
  QTest::newRow("a long word") << QString("process rank 1 with PID 1 on node ") + QString(100000, 'x') << "";
}

void ExecutorMpiTest::lostRank() {
  QFETCH(QString, text);
  QFETCH(QString, expected);
  QCOMPARE(QString::fromStdString(executor::findLostRank(text.toStdString())), expected);
}

/// Every process reads the table.
void ExecutorMpiTest::customCollective() {
  const QString folder = QString(COPPICE_TEST_DATA) + "/executor/";
  for (const bool forcesNetwork : {false, true}) {
    const QStringList sizes{"-b", "4000", "-e", "64000", "-f", "16", "-n", "2"};
    ExecRun run(QStringList{folder + "custom.xml", "--goal", folder + "custom.csv"} + sizes, forcesNetwork);
    QCOMPARE(run.finish(), 0);
    int results = 0;
    for (const program::Record& record : run.records()) {
      if (const auto* result = std::get_if<program::ResultRecord>(&record)) {
        QCOMPARE(result->wrong.value_or(-1), 0);
        ++results;
      }
    }
    QCOMPARE(results, 2);
  }
}

void ExecutorMpiTest::schedules_data() {
  QTest::addColumn<int>("processes");
  QTest::addColumn<bool>("forcesNetwork");
  QTest::addColumn<QString>("set");
  QTest::addColumn<int>("min");
  // 16 sanitized processes at once would be too much.
  const int max = kIsSanitized ? 8 : 16;
  QTest::addRow("presets up to %d GPUs, shared memory", max) << max << false << "presets" << (kIsSanitized ? 30 : 80);
  QTest::newRow("8 processes, network only") << 8 << true << "forward" << 20;
  QTest::newRow("8 processes, shared memory") << 8 << false << "forward" << 20;
}

void ExecutorMpiTest::schedules() {
  NEEDS_MPIRUN();
  QFETCH(int, processes);
  QFETCH(bool, forcesNetwork);
  QFETCH(QString, set);
  QFETCH(int, min);
  drive({"-n", QString::number(processes)}, {set}, environment(forcesNetwork), min);
}

/// Runs mpi_driver with arguments of its own; `min` schedules are right and none is wrong.
void ExecutorMpiTest::drive(const QStringList& launch, const QStringList& driver, const QProcessEnvironment& variables,
                            int min) {
  QProcess process;
  process.setProcessEnvironment(variables);
  const QStringList arguments = launch + QStringList{"--oversubscribe", "--bind-to", "none"};
  process.start("mpirun", arguments + QStringList{COPPICE_MPI_DRIVER, COPPICE_EXEC_MPI} + driver);
  QVERIFY2(process.waitForFinished(kSlowness * 200000), "the processes do not end");
  int right = 0;
  bool hasEnded = false;
  const QByteArray output = process.readAllStandardOutput();
  for (const QByteArray& line : output.split('\n')) {
    right += line.startsWith("ok ") ? 1 : 0;
    hasEnded = hasEnded || line == "end";
    QVERIFY2(!line.startsWith("wrong "), line.constData());
  }
  const QByteArray errors = process.readAllStandardError();
  QVERIFY2(hasEnded, (output.right(500) + errors).constData());
  QVERIFY2(right >= min, QByteArray::number(right).constData());
  QCOMPARE(process.exitCode(), 0);
}

void ExecutorMpiTest::iterations_data() {
  QTest::addColumn<int>("processes");
  QTest::addColumn<int>("workers");
  QTest::addColumn<bool>("forcesNetwork");
  QTest::addColumn<int>("jitter");  // microseconds
  QTest::addColumn<int>("min");
  QTest::newRow("2 processes") << 2 << 1 << false << 0 << 5;
  QTest::newRow("2 processes, random sleeps") << 2 << 1 << false << 300 << 5;
  QTest::newRow("4 processes") << 4 << 1 << false << 0 << 15;
  QTest::newRow("4 processes, random sleeps") << 4 << 1 << false << 300 << 15;
  QTest::newRow("4 processes of 3 workers, random sleeps") << 4 << 3 << false << 300 << 15;
  QTest::newRow("4 processes, network, random sleeps") << 4 << 1 << true << 300 << 15;
  QTest::newRow("8 processes, random sleeps") << 8 << 1 << false << 100 << 20;
}

/// Iterations that go on with each other's data leave what iterations separated by barriers leave, however late any
/// process is.
void ExecutorMpiTest::iterations() {
  NEEDS_MPIRUN();
  QFETCH(int, processes);
  QFETCH(int, workers);
  QFETCH(bool, forcesNetwork);
  QFETCH(int, jitter);
  QFETCH(int, min);
  QProcessEnvironment variables = environment(forcesNetwork);
  variables.insert("COPPICE_EXEC_JITTER", QString::number(jitter));
  const QString count = QString::number(processes);
  drive({"-n", count}, {"iterations", count, QString::number(workers)}, variables, min);
}

/// Through the launcher: one hello, one end, as the protocol has it.
void ExecutorMpiTest::records() {
  NEEDS_MPIRUN();
  ExecRun run(
      {dataFile("ring4_allgather.xml"), "-b", "1000", "-e", "100000", "-f", "10", "-n", "2", "-w", "1", "--trace"});
  QCOMPARE(run.finish(), 0);
  const auto& records = run.records();
  QVERIFY(std::holds_alternative<program::HelloRecord>(records.front()));
  QVERIFY(std::holds_alternative<program::EndRecord>(records.back()));
  int hellos = 0;
  int ends = 0;
  int results = 0;
  std::set<int> traced;
  for (const program::Record& record : records) {
    hellos += std::holds_alternative<program::HelloRecord>(record) ? 1 : 0;
    ends += std::holds_alternative<program::EndRecord>(record) ? 1 : 0;
    if (const auto* result = std::get_if<program::ResultRecord>(&record)) {
      ++results;
      QCOMPARE(result->wrong.value_or(-1), 0);
    }
    if (const auto* trace = std::get_if<program::TraceRecord>(&record)) {
      for (const program::TraceEvent& event : trace->events) {
        traced.insert(event.rank);
      }
    }
  }
  QCOMPARE(hellos, 1);
  QCOMPARE(ends, 1);
  QCOMPARE(results, 3);
  QCOMPARE(traced, (std::set<int>{0, 1, 2, 3}));
}

void ExecutorMpiTest::oddNumbers_data() {
  QTest::addColumn<int>("ranks");
  QTest::addColumn<int>("workers");
  QTest::newRow("3 ranks") << 3 << 1;
  QTest::newRow("3 ranks, 2 workers each") << 3 << 2;
  QTest::newRow("5 ranks") << 5 << 1;
}

/// Memory is measured too, by processes that do not divide it evenly.
void ExecutorMpiTest::oddNumbers() {
  NEEDS_MPIRUN();
  QFETCH(int, ranks);
  QFETCH(int, workers);
  QTemporaryDir folder;
  QFile file(folder.filePath("ring.xml"));
  QVERIFY(file.open(QIODevice::WriteOnly));
  const std::string xml = program::writeMscclXml(samples::ringAllreduce(ranks, true), program::Runtime::msccl);
  file.write(xml.data(), static_cast<qint64>(xml.size()));
  file.close();
  for (const bool forcesNetwork : {false, true}) {
    ExecRun run({file.fileName(), "-b", "1M", "-e", "1M", "-n", "3", "-w", "1", "--workers", QString::number(workers)},
                forcesNetwork);
    QCOMPARE(run.finish(kSlowness * 60000), 0);
    QVERIFY(run.last<program::SummaryRecord>() != nullptr);
    QCOMPARE(run.last<program::SummaryRecord>()->wrong, 0);
    QVERIFY(run.last<program::SummaryRecord>()->memory_GBps.value_or(0) > 0);
  }
}

/// Processes of a host trace by one clock: no message is received before its sending began.
void ExecutorMpiTest::oneClock() {
  NEEDS_MPIRUN();
  QFile file(dataFile("ring4_allgather.xml"));
  QVERIFY(file.open(QIODevice::ReadOnly));
  const auto xml = program::readMscclXml(file.readAll().toStdString(), program::Runtime::msccl);
  QVERIFY(xml);
  const auto plans = executor::makePlans(xml->program, {});
  QVERIFY(plans && plans->ok);
  const executor::Plan& plan = plans->inPlace ? *plans->inPlace : *plans->outOfPlace;
  ExecRun run({dataFile("ring4_allgather.xml"), "-b", "64K", "-e", "64K", "-n", "5", "-w", "1", "--trace"});
  QCOMPARE(run.finish(), 0);
  std::map<std::pair<int, int>, std::vector<program::TraceEvent>> events;  // by first step's number and tile
  for (const program::Record& record : run.records()) {
    if (const auto* trace = std::get_if<program::TraceRecord>(&record)) {
      for (const program::TraceEvent& event : trace->events) {
        const executor::PlanRank& rank = plan.ranks[event.rank];
        const int block = rank.firstBlock + event.threadBlock;
        events[{plan.blocks[block].firstStep + event.step, event.tile}].push_back(event);
      }
    }
  }
  int messages = 0;
  for (auto& [place, sent] : events) {
    const int receiver = plan.steps[place.first].peerSend;
    if (receiver < 0) {
      continue;
    }
    auto& received = events[{receiver, place.second}];
    QCOMPARE(received.size(), sent.size());
    const auto byTime = [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; };
    std::sort(sent.begin(), sent.end(), byTime);
    std::sort(received.begin(), received.end(), byTime);
    for (std::size_t i = 0; i < sent.size(); ++i) {
      QVERIFY2(received[i].end_ns >= sent[i].start_ns,
               qPrintable(QString("%1 ns before").arg(sent[i].start_ns - received[i].end_ns)));
      ++messages;
    }
  }
  QVERIFY(messages >= 12);
}

void ExecutorMpiTest::deadlock_data() {
  QTest::addColumn<bool>("forcesNetwork");
  QTest::newRow("shared memory") << false;
  QTest::newRow("network") << true;
}

void ExecutorMpiTest::deadlock() {
  NEEDS_MPIRUN();
  QFETCH(bool, forcesNetwork);
  ExecRun run({dataFile("ring4_deadlock.xml"), "-b", "1K", "-e", "1K", "--unchecked", "--stall", "1000"},
              forcesNetwork);
  QCOMPARE(run.finish(), static_cast<int>(RunExit::hang));
  const auto* stuck = run.last<program::StuckRecord>();
  QVERIFY(stuck != nullptr);
  QVERIFY(stuck->isDeadlock);
  QCOMPARE(stuck->cycle.size(), 4U);
  QVERIFY(run.last<program::EndRecord>()->code == RunExit::hang);
}

void ExecutorMpiTest::killed_data() {
  QTest::addColumn<int>("rank");
  QTest::addColumn<bool>("forcesNetwork");
  QTest::newRow("rank 2") << 2 << false;
  QTest::newRow("rank 0") << 0 << false;
  QTest::newRow("rank 1, network") << 1 << true;
}

void ExecutorMpiTest::killed() {
  NEEDS_MPIRUN();
  QFETCH(int, rank);
  QFETCH(bool, forcesNetwork);
  const auto run = endless(forcesNetwork);
  const std::vector<pid_t> ranks = run->ranks(4);
  QVERIFY(ranks[rank] > 0);
  QCOMPARE(::kill(ranks[rank], SIGKILL), 0);
  QCOMPARE(run->finish(), static_cast<int>(RunExit::rankLost));
  const auto* error = run->last<program::ErrorRecord>();
  QVERIFY(error != nullptr);
  QVERIFY2(error->error.message.starts_with("rank " + std::to_string(rank) + " "), error->error.message.c_str());
  QVERIFY(run->last<program::EndRecord>()->code == RunExit::rankLost);
  for (const pid_t other : ranks) {
    QTRY_VERIFY(::kill(other, 0) != 0);
  }
}

void ExecutorMpiTest::stopped_data() {
  killed_data();
  QTest::newRow("rank 0, network") << 0 << true;
}

void ExecutorMpiTest::stopped() {
  NEEDS_MPIRUN();
  QFETCH(int, rank);
  QFETCH(bool, forcesNetwork);
  const auto run = endless(forcesNetwork, {"--stall", "1"});
  const std::vector<pid_t> ranks = run->ranks(4);
  QVERIFY(ranks[rank] > 0);
  QCOMPARE(::kill(ranks[rank], SIGSTOP), 0);
  QCOMPARE(run->finish(), static_cast<int>(RunExit::hang));
  const auto* error = run->last<program::ErrorRecord>();
  QVERIFY(error != nullptr);
  QVERIFY2(error->error.message.starts_with("rank " + std::to_string(rank) + " "), error->error.message.c_str());
  if (rank == 0 && forcesNetwork) {
    // It is named before the others have waited for its last words.
    const auto* note = run->last<program::LogRecord>();
    QVERIFY(note != nullptr);
    QVERIFY2(note->text.starts_with("rank 0 (on "), note->text.c_str());
  }
  for (const pid_t other : ranks) {
    QTRY_VERIFY(::kill(other, 0) != 0);
  }
}

void ExecutorMpiTest::interrupted_data() {
  QTest::addColumn<QString>("way");
  QTest::newRow("SIGINT") << "interrupt";
  QTest::newRow("cancel") << "cancel";
  QTest::newRow("end of input") << "input";
  QTest::newRow("launcher killed") << "kill";
}

void ExecutorMpiTest::interrupted() {
  NEEDS_MPIRUN();
  QFETCH(QString, way);
  const auto run = endless(false, {"--lifeline"});
  const std::vector<pid_t> ranks = run->ranks(4);
  QVERIFY(std::count(ranks.begin(), ranks.end(), 0) == 0);
  if (way == "interrupt") {
    ::kill(static_cast<pid_t>(run->process().processId()), SIGINT);
  } else if (way == "cancel") {
    run->process().write(program::writeCommand(program::RunCommand::ping).c_str());
    QVERIFY(run->waitUntil(
        [](const program::Record& record) { return std::holds_alternative<program::PongRecord>(record); }));
    run->process().write(program::writeCommand(program::RunCommand::cancel).c_str());
  } else if (way == "input") {
    run->process().closeWriteChannel();
  } else {
    run->process().kill();
  }
  const int code = run->finish();
  if (way != "kill") {
    QCOMPARE(code, static_cast<int>(RunExit::cancelled));
    QVERIFY(run->last<program::EndRecord>()->code == RunExit::cancelled);
  }
  for (const pid_t rank : ranks) {
    QTRY_VERIFY(::kill(rank, 0) != 0);
  }
}

/// Nothing is started for what cannot be run.
void ExecutorMpiTest::refused() {
  ExecRun run({dataFile("ring4_deadlock.xml"), "-b", "1K", "-e", "1K"});
  QCOMPARE(run.finish(), static_cast<int>(RunExit::planRejected));
  ExecRun hosts({dataFile("ring4_allgather.xml"), "--host", "-x,evil"});
  QCOMPARE(hosts.finish(), static_cast<int>(RunExit::badUsage));
  if (::geteuid() == 0 && m_hasMpirun) {
    QProcess asRoot;
    QProcessEnvironment variables = environment();
    variables.remove("OMPI_ALLOW_RUN_AS_ROOT");
    asRoot.setProcessEnvironment(variables);
    asRoot.start(COPPICE_EXEC, {"run", dataFile("ring4_allgather.xml"), "--backend", "mpi"});
    QVERIFY(asRoot.waitForFinished());
    QCOMPARE(asRoot.exitCode(), static_cast<int>(RunExit::machineLacks));
    QVERIFY(asRoot.readAllStandardError().contains("refuses to run as root"));
  }
}

/// Waits are made up. The limit never falls to what it takes to wake a process, and grows again after short waits.
void ExecutorMpiTest::spinLimit() {
  using executor::SpinLimit;
  constexpr SpinLimit::Duration kWakeUp = std::chrono::microseconds(30);
  SpinLimit limit;
  QVERIFY(limit.current() == SpinLimit::kMax);
  for (int wait = 0; wait < 20; ++wait) {
    limit.slept(std::chrono::milliseconds(3));
    QVERIFY(limit.current() > kWakeUp);
  }
  QVERIFY(limit.current() == SpinLimit::kMin);
  for (int wait = 0; wait < 20; ++wait) {
    const SpinLimit::Duration before = limit.current();
    limit.slept(kWakeUp);
    QVERIFY(limit.current() > before || before == SpinLimit::kMax);
  }
  QVERIFY(limit.current() == SpinLimit::kMax);
}

/// Times and states are made up: no process is looked at.
void ExecutorMpiTest::startWatch() {
  using executor::StartWatch;
  using executor::TreeState;
  const StartWatch::Clock::time_point begin;
  const auto at = [&](double seconds) {
    return begin + std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
  };
  const TreeState asleep = {.ticks = 5, .processes = 3};
  const TreeState working = {.ticks = 5, .processes = 3, .isWorking = true};
  {
    StartWatch watch(8, begin);
    for (const double time : {1, 2, 4, 7}) {
      QCOMPARE(watch.look(asleep, at(time)), StartWatch::Verdict::starting);
    }
    QCOMPARE(watch.look(asleep, at(8)), StartWatch::Verdict::hanging);
  }
  {
    StartWatch watch(8, begin);  // works until the limit, then sleeps
    for (const double time : {1, 3, 5, 7}) {
      QCOMPARE(watch.look(working, at(time)), StartWatch::Verdict::starting);
    }
    QCOMPARE(watch.look(working, at(8)), StartWatch::Verdict::slow);
    QCOMPARE(watch.look(working, at(100)), StartWatch::Verdict::starting);
    QCOMPARE(watch.look(asleep, at(103)), StartWatch::Verdict::starting);
    QCOMPARE(watch.look(asleep, at(104)), StartWatch::Verdict::hanging);
  }
  {
    StartWatch watch(8, begin);  // uses processor time between the looks
    TreeState tree = asleep;
    for (int second = 1; second < 40; ++second) {
      tree.ticks += 2;
      QCOMPARE(watch.look(tree, at(second)), second == 8 ? StartWatch::Verdict::slow : StartWatch::Verdict::starting);
    }
  }
  StartWatch unlimited(0, begin);
  QCOMPARE(unlimited.look(asleep, at(100000)), StartWatch::Verdict::starting);
  const TreeState own = executor::treeState(::getpid());
  QVERIFY(own.processes >= 1);
  QVERIFY(own.isWorking);
  QCOMPARE(own.stopped, 0);
  executor::LaunchRequest request;
  QVERIFY(executor::defaultStartSeconds(request, "srun") > 10);
  request.hosts = "n1,n2";
  QVERIFY(executor::defaultStartSeconds(request, "mpirun") > 10);
  if (!qEnvironmentVariableIsSet("SLURM_JOB_ID")) {
    request.hosts.clear();
    QVERIFY(executor::defaultStartSeconds(request, "mpirun") < 10);
  }
}

/// A folder with a program "mpirun", a shell script.
static void writeMpirun(const QTemporaryDir& folder, const QByteArray& script) {
  QFile file(folder.filePath("mpirun"));
  QVERIFY(file.open(QIODevice::WriteOnly));
  file.write("#!/bin/sh\n" + script);
  file.close();
  QVERIFY(file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner));
}

static QProcessEnvironment environmentWith(const QTemporaryDir& folder) {
  QProcessEnvironment variables = environment();
  variables.insert("PATH", folder.path() + ":" + variables.value("PATH"));
  return variables;
}

void ExecutorMpiTest::neverStarts_data() {
  QTest::addColumn<QByteArray>("script");
  QTest::addColumn<QString>("expected");
  const QByteArray version = "test \"$1\" = --version && echo 'mpirun (Open MPI) 4.1.4' && exit 0\n";
  QTest::newRow("sleeps") << version + "exec sleep 1000\n"
                          << "mpirun has not started the ranks within 1 s";
  QTest::newRow("has written why") << version + "echo 'PMIX ERROR: OUT-OF-RESOURCE' >&2\nexec sleep 1000\n"
                                   << "it wrote: PMIX ERROR: OUT-OF-RESOURCE";
  QTest::newRow("a rank began") << version + "echo '{\"t\":\"state\",\"state\":\"preparing\"}'\nsleep 1000 & wait\n"
                                << "mpirun has not started the ranks within 1 s";
  QTest::newRow("is stopped") << version + "kill -STOP $$\nexec sleep 1000\n"
                              << "is stopped by a signal";
  QTest::newRow("no version") << QByteArray("exec sleep 1000\n") << "--version\" has not answered within 8 s";
}

/// What mpirun does under limits of memory or of files, with a script in its place.
void ExecutorMpiTest::neverStarts() {
  QFETCH(QByteArray, script);
  QFETCH(QString, expected);
  QTemporaryDir folder;
  writeMpirun(folder, script);
  ExecRun run({dataFile("ring4_allgather.xml"), "--launch", "mpirun", "--start-limit", "1"}, environmentWith(folder));
  QCOMPARE(run.finish(kSlowness * 60000), static_cast<int>(RunExit::machineLacks));
  const auto* error = run.last<program::ErrorRecord>();
  QVERIFY(error != nullptr);
  QVERIFY2(QString::fromStdString(error->error.message).contains(expected), error->error.message.c_str());
  QVERIFY(!error->error.fix.empty());
  QVERIFY(run.last<program::EndRecord>()->code == RunExit::machineLacks);
}

/// A start that still works is waited for, and that is said.
void ExecutorMpiTest::startsSlowly() {
  QTemporaryDir folder;
  writeMpirun(folder, "test \"$1\" = --version && echo 'mpirun (Open MPI) 4.1.4' && exit 0\nwhile :; do :; done\n");
  ExecRun run({dataFile("ring4_allgather.xml"), "--launch", "mpirun", "--start-limit", "0.5"}, environmentWith(folder));
  QVERIFY(run.waitUntil(
      [](const program::Record& record) {
        const auto* log = std::get_if<program::LogRecord>(&record);
        return log != nullptr && log->text.find("has not started the ranks within 0.5 s") != std::string::npos;
      },
      kSlowness * 60000));
  QCOMPARE(run.process().state(), QProcess::Running);
  ::kill(static_cast<pid_t>(run.process().processId()), SIGTERM);
  QCOMPARE(run.finish(kSlowness * 60000), static_cast<int>(RunExit::cancelled));
}

/// Ranks that do not continue are named before the run gives up for want of progress, each before those that wait for
/// it.
void ExecutorMpiTest::patience() {
  constexpr double kStall = 10;
  QVERIFY(executor::stopPatience(kStall) < executor::silenceOfOthers(kStall));
  QVERIFY(executor::silenceOfFirst(kStall) < kStall);
  for (const double stall : {0.5, 1.0, 5.0, 10.0, 100.0}) {
    QVERIFY(executor::silenceOfOthers(stall) < executor::silenceOfFirst(stall));
    QVERIFY(executor::silenceOfFirst(stall) > 0.85 * stall);
  }
  QCOMPARE(executor::silenceOfFirst(0), 0.0);
}

/// In a folder of its own: what nobody has open or mapped goes, by its name and owner.
void ExecutorMpiTest::staleSegments() {
  QTemporaryDir folder("/dev/shm/coppice-test-XXXXXX");
  if (!folder.isValid()) {
    QSKIP("skipped: needs /dev/shm");
  }
  const auto write = [&](const char* name) {
    QFile file(folder.filePath(name));
    return file.open(QIODevice::WriteOnly) && file.write(QByteArray(4096, 'x')) == 4096;
  };
  for (const char* const name :
       {"vader_segment.n1.0.1.0", "sm_segment.n1.0.1.0", "coppice-exec-0123", "vader_segment.n1.0.2.0",
        "vader_segment.n1.0.3.0", "vader_segment.n1.0.4.0", "of another user"}) {
    QVERIFY(write(name));
  }
  QFile mapped(folder.filePath("vader_segment.n1.0.2.0"));
  QVERIFY(mapped.open(QIODevice::ReadWrite));
  void* const memory = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, mapped.handle(), 0);
  QVERIFY(memory != MAP_FAILED);
  mapped.close();
  QFile open(folder.filePath("vader_segment.n1.0.3.0"));
  QVERIFY(open.open(QIODevice::ReadOnly));
  const bool isRoot = ::geteuid() == 0;
  const std::string foreign = folder.filePath("vader_segment.n1.0.4.0").toStdString();
  QVERIFY(isRoot ? ::chown(foreign.c_str(), 65534, 65534) == 0 : ::unlink(foreign.c_str()) == 0);
  QCOMPARE(executor::removeStaleSegments(folder.path().toStdString()), 3);
  QStringList left = {"of another user", "vader_segment.n1.0.2.0", "vader_segment.n1.0.3.0"};
  if (isRoot) {
    left << "vader_segment.n1.0.4.0";
  }
  QCOMPARE(QDir(folder.path()).entryList(QDir::Files, QDir::Name), left);
  open.close();
  ::munmap(memory, 4096);
  QCOMPARE(executor::removeStaleSegments(folder.path().toStdString()), 2);
  QCOMPARE(executor::removeStaleSegments("/no/such/folder"), 0);
}

/// mpirun is killed, and its ranks with it; the next start removes what they leave in /dev/shm.
void ExecutorMpiTest::segmentsOfAKilledRun() {
  NEEDS_MPIRUN();
  const auto run = endless(false);
  const std::vector<pid_t> ranks = run->ranks(4);
  QVERIFY(ranks.front() > 0);
  QFile status(QString("/proc/%1/status").arg(ranks.front()));
  QVERIFY(status.open(QIODevice::ReadOnly));
  const QByteArray text = status.readAll();
  const qsizetype at = text.indexOf("PPid:") + 5;
  const int launcher = text.mid(at, text.indexOf('\n', at) - at).trimmed().toInt();
  QVERIFY(launcher > 1);
  // Segments of this job: the files that a rank has mapped.
  QFile maps(QString("/proc/%1/maps").arg(ranks.front()));
  QVERIFY(maps.open(QIODevice::ReadOnly));
  QStringList segments;
  for (const QByteArray& line : maps.readAll().split('\n')) {
    const qsizetype path = line.indexOf("/dev/shm/vader_segment.");
    if (path >= 0 && !segments.contains(line.mid(path))) {
      segments << line.mid(path);
    }
  }
  QCOMPARE(::kill(launcher, SIGKILL), 0);
  run->finish();
  for (const pid_t rank : ranks) {
    QTRY_VERIFY_WITH_TIMEOUT(::kill(rank, 0) != 0, 60000);
  }
  // Whichever way that job ended, a file with its kind of name stays behind.
  const QString planted = QString("/dev/shm/vader_segment.coppice-test.%1").arg(QCoreApplication::applicationPid());
  QFile file(planted);
  QVERIFY(file.open(QIODevice::WriteOnly));
  file.close();
  segments << planted;
  ExecRun next({dataFile("ring4_allgather.xml"), "-b", "1K", "-e", "1K", "-n", "1", "-w", "0"});
  QCOMPARE(next.finish(kSlowness * 60000), 0);
  for (const QString& segment : segments) {
    QVERIFY2(!QFile::exists(segment), qPrintable(segment));
  }
}

QTEST_GUILESS_MAIN(ExecutorMpiTest)
#include "tst_executor_mpi.moc"
