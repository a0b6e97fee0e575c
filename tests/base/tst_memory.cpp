// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QTemporaryDir>
#include <QtTest>
#include <limits>
#include <map>
#include <new>
#include <vector>

#include "base/memory.hpp"

using namespace coppice;
using Files = std::map<QString, QByteArray>;

Q_DECLARE_METATYPE(Files)

class TestMemory : public QObject {
  Q_OBJECT

private slots:
  void initTestCase() { qRegisterMetaType<Files>(); }

  void readsWhatIsThere_data() {
    QTest::addColumn<Files>("files");
    QTest::addColumn<qint64>("expected");
    const QByteArray meminfo = "MemTotal: 9000 kB\nMemFree: 10 kB\nMemAvailable:    2000 kB\n";
    const auto row = [](const char* name, const Files& files, qint64 expected) {
      QTest::newRow(name) << files << expected;
    };
    const QString v2 = "sys/fs/cgroup/";
    const QString v1 = "sys/fs/cgroup/memory/";
    row("nothing", {}, -1);
    row("machine", {{"proc/meminfo", meminfo}}, 2000 * 1024);
    row("garbled", {{"proc/meminfo", "MemAvailable: many kB\nMemAvailableToo: 3 kB\n"}}, -1);
    row("negative", {{"proc/meminfo", "MemAvailable: -5 kB\n"}}, -1);
    row("huge", {{"proc/meminfo", "MemAvailable: 9223372036854775807 kB\n"}}, -1);
    row("group",
        {{"proc/meminfo", meminfo},
         {"proc/self/cgroup", "0::/a/b\n"},
         {v2 + "a/b/memory.max", "500000\n"},
         {v2 + "a/b/memory.current", "300000\n"}},
        200000);
    row("cache is free",
        {{"proc/self/cgroup", "0::/a\n"},
         {v2 + "a/memory.max", "500000\n"},
         {v2 + "a/memory.current", "300000\n"},
         {v2 + "a/memory.stat", "anon 1\ninactive_file 250000\nactive_file 7\n"}},
        450000);
    row("group above",
        {{"proc/self/cgroup", "0::/a/b\n"},
         {v2 + "a/b/memory.max", "max\n"},
         {v2 + "a/b/memory.current", "300000\n"},
         {v2 + "a/memory.max", "400000\n"},
         {v2 + "a/memory.current", "350000\n"}},
        50000);
    row("container",
        {{"proc/self/cgroup", "0::/../../outside\n"},
         {v2 + "memory.max", "70000\n"},
         {v2 + "memory.current", "30000\n"}},
        40000);
    row("over its limit",
        {{"proc/self/cgroup", "0::/\n"}, {v2 + "memory.max", "70000\n"}, {v2 + "memory.current", "90000\n"}}, 0);
    row("version 1",
        {{"proc/meminfo", meminfo},
         {"proc/self/cgroup", "12:cpu,cpuacct:/x\n5:memory:/a\n1:name=systemd:/x\n0::/y\n"},
         {v1 + "a/memory.limit_in_bytes", "800000\n"},
         {v1 + "a/memory.usage_in_bytes", "300000\n"},
         {v1 + "a/memory.stat", "inactive_file 5\ntotal_inactive_file 100000\n"},
         {v1 + "memory.limit_in_bytes", "9223372036854771712\n"},
         {v1 + "memory.usage_in_bytes", "400000\n"}},
        600000);
    row("use unknown", {{"proc/self/cgroup", "0::/\n"}, {v2 + "memory.max", "70000\n"}}, -1);
    row("no group line", {{"proc/meminfo", meminfo}, {"proc/self/cgroup", "nonsense\n0\n"}}, 2000 * 1024);
  }

  void readsWhatIsThere() {
    QFETCH(Files, files);
    QFETCH(qint64, expected);
    const QTemporaryDir root;
    QVERIFY(root.isValid());
    for (const auto& [name, text] : files) {
      const QFileInfo info(root.filePath(name));
      QVERIFY(QDir().mkpath(info.absolutePath()));
      QFile file(info.filePath());
      QVERIFY(file.open(QIODevice::WriteOnly) && file.write(text) == text.size());
    }
    if (memoryWithinLimits()) {
      QSKIP("this process has a limit of its own");
    }
    const auto available = availableMemory(root.path().toStdString());
    QCOMPARE(available ? static_cast<qint64>(*available) : -1, expected);
  }

  void thisMachine() {
    const auto available = availableMemory();
    QVERIFY(available && *available > 0);
  }

  void limitsHold() {
    rlimit before{};
    QCOMPARE(getrlimit(RLIMIT_DATA, &before), 0);
    constexpr std::int64_t kSlack = std::int64_t{1} << 20;  // what is freed meanwhile
    constexpr std::int64_t kLimit = std::int64_t{256} << 20;
    QVERIFY(limitMemory(kLimit));
    const auto left = memoryWithinLimits();
    QVERIFY(left && *left > 0 && *left < kLimit + kSlack);
    QVERIFY(availableMemory() && *availableMemory() < kLimit + kSlack);
    QVERIFY2(limitMemory(std::numeric_limits<std::int64_t>::max()), "never raises the limit");
    QVERIFY(memoryWithinLimits() && *memoryWithinLimits() < kLimit + kSlack);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    QCOMPARE(setrlimit(RLIMIT_DATA, &before), 0);
    QSKIP("sanitizers end the program where memory runs out");
#endif
    bool refused = false;
    try {
      const std::vector<char> tooMuch(std::size_t{300} << 20, 1);
      QVERIFY(tooMuch.back() == 1);
    } catch (const std::bad_alloc&) {
      refused = true;
    }
    QCOMPARE(setrlimit(RLIMIT_DATA, &before), 0);
    QVERIFY(refused);
  }
};

QTEST_GUILESS_MAIN(TestMemory)
#include "tst_memory.moc"
