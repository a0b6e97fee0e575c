// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <QtTest>
#include <algorithm>
#include <string>
#include <vector>

#include "executor/mpi/mpi_run.hpp"
#include "mpi/launch_command.hpp"
#include "mpi/launcher.hpp"
#include "mpi/lost_rank.hpp"
#include "mpi/stale_segments.hpp"
#include "mpi/start_watch.hpp"
#include "support/waiting.hpp"

using namespace coppice;
using executor::test::dataFile;
using executor::test::MpiRun;
using program::RunExit;

/// What starts the ranks of a run and stays in front of them; without ranks.
class LauncherTest : public QObject {
  Q_OBJECT

private slots:
  void command();
  void shares_data();
  void shares();
  void hostProgram();
  void lostRank_data();
  void lostRank();
  void refused();
  void startWatch();
  void neverStarts_data();
  void neverStarts();
  void startsSlowly();
  void staleSegments();
};

void LauncherTest::command() {
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

void LauncherTest::shares_data() {
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

void LauncherTest::shares() {
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

void LauncherTest::hostProgram() {
  using Words = std::vector<std::string>;
  QCOMPARE(executor::hostProgram("/usr/bin/x", "/users/a/runs", "/users/a"), Words{"/usr/bin/x"});
  QCOMPARE(executor::hostProgram("/users/a/x", "/tmp", "/users/a"), Words{"/users/a/x"});
  QCOMPARE(executor::hostProgram("/users/ab/x", "/users/ab/y", "/users/a"), Words{"/users/ab/x"});
  QCOMPARE(executor::hostProgram("/x", "/y", "/"), Words{"/x"});
  const Words words = executor::hostProgram("/users/a/bin/x", "/users/a/runs/it's", "/users/a");
  QCOMPARE(words.front(), std::string("/bin/sh"));
  QCOMPARE(Words(words.end() - 2, words.end()), (Words{"runs/it's", "bin/x"}));
}

void LauncherTest::lostRank_data() {
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

void LauncherTest::lostRank() {
  QFETCH(QString, text);
  QFETCH(QString, expected);
  QCOMPARE(QString::fromStdString(executor::findLostRank(text.toStdString())), expected);
}

/// Nothing is started for what cannot be run.
void LauncherTest::refused() {
  MpiRun run({dataFile("ring4_deadlock.xml"), "-b", "1K", "-e", "1K"});
  QCOMPARE(run.finish(), static_cast<int>(RunExit::planRejected));
  MpiRun hosts({dataFile("ring4_allgather.xml"), "--host", "-x,evil"});
  QCOMPARE(hosts.finish(), static_cast<int>(RunExit::badUsage));
  if (::geteuid() == 0 && !QStandardPaths::findExecutable("mpirun").isEmpty()) {
    QProcess asRoot;
    QProcessEnvironment variables = executor::test::mpiEnvironment();
    variables.remove("OMPI_ALLOW_RUN_AS_ROOT");
    asRoot.setProcessEnvironment(variables);
    asRoot.start(COPPICE_EXEC, {"run", dataFile("ring4_allgather.xml"), "--backend", "mpi"});
    QVERIFY(asRoot.waitForFinished(coppice::waiting::kPatience));
    QCOMPARE(asRoot.exitCode(), static_cast<int>(RunExit::machineLacks));
    QVERIFY(asRoot.readAllStandardError().contains("refuses to run as root"));
  }
}

/// Times and states are made up: no process is looked at.
void LauncherTest::startWatch() {
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
  QProcessEnvironment variables = executor::test::mpiEnvironment();
  variables.insert("PATH", folder.path() + ":" + variables.value("PATH"));
  return variables;
}

void LauncherTest::neverStarts_data() {
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
void LauncherTest::neverStarts() {
  QFETCH(QByteArray, script);
  QFETCH(QString, expected);
  QTemporaryDir folder;
  writeMpirun(folder, script);
  MpiRun run({dataFile("ring4_allgather.xml"), "--launch", "mpirun", "--start-limit", "1"}, environmentWith(folder));
  QCOMPARE(run.finish(), static_cast<int>(RunExit::machineLacks));
  const auto* error = run.last<program::ErrorRecord>();
  QVERIFY(error != nullptr);
  QVERIFY2(QString::fromStdString(error->error.message).contains(expected), error->error.message.c_str());
  QVERIFY(!error->error.fix.empty());
  QVERIFY(run.last<program::EndRecord>()->code == RunExit::machineLacks);
}

/// A start that still works is waited for, and that is said.
void LauncherTest::startsSlowly() {
  QTemporaryDir folder;
  writeMpirun(folder, "test \"$1\" = --version && echo 'mpirun (Open MPI) 4.1.4' && exit 0\nwhile :; do :; done\n");
  MpiRun run({dataFile("ring4_allgather.xml"), "--launch", "mpirun", "--start-limit", "0.5"}, environmentWith(folder));
  QVERIFY(run.waitUntil([](const program::Record& record) {
    const auto* log = std::get_if<program::LogRecord>(&record);
    return log != nullptr && log->text.find("has not started the ranks within 0.5 s") != std::string::npos;
  }));
  QCOMPARE(run.process().state(), QProcess::Running);
  ::kill(static_cast<pid_t>(run.process().processId()), SIGTERM);
  QCOMPARE(run.finish(), static_cast<int>(RunExit::cancelled));
}

/// In a folder of its own: what nobody has open or mapped goes, by its name and owner.
void LauncherTest::staleSegments() {
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

QTEST_GUILESS_MAIN(LauncherTest)
#include "tst_launcher.moc"
