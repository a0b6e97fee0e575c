// SPDX-License-Identifier: Apache-2.0
#include <QtTest>

#include "program/run_guide.hpp"
#include "program/used_sizes.hpp"

using namespace coppice;
using namespace coppice::program;

namespace {

constexpr std::int64_t kOpen = std::int64_t{1} << 40;
constexpr std::int64_t kKiB = 1024;
constexpr std::int64_t kGiB = kKiB * kKiB * kKiB;

SizeFacts facts(Collective collective, int ranks, std::int64_t chunks, std::int64_t min = 0, std::int64_t max = kOpen) {
  return {collective, {}, ranks, chunks, min, max};
}

Program programOf(Collective collective, int ranks, int chunks) {
  Program program;
  program.collective = collective;
  program.chunksPerLoop = chunks;
  program.ranks.resize(static_cast<std::size_t>(ranks));
  program.maxBytes = kOpen;
  return program;
}

}  // namespace

class TestUsedSizes : public QObject {
  Q_OBJECT

private slots:
  void sizes_data();
  void sizes();
  void usedAt_data();
  void usedAt();
  void everySizeOfTheSweep_data();
  void everySizeOfTheSweep();
  void texts_data();
  void texts();
  void guides_data();
  void guides();
  void guideOfAnEmptyWindow();
};

void TestUsedSizes::sizes_data() {
  QTest::addColumn<SizeFacts>("facts");
  QTest::addColumn<Runtime>("runtime");
  QTest::addColumn<std::int64_t>("multiple");
  QTest::addColumn<bool>("inBytes");
  QTest::addColumn<bool>("powers");
  QTest::addColumn<std::int64_t>("first");  // 0 = no sweep
  const auto row = [](const char* name, const SizeFacts& of, Runtime runtime, std::int64_t multiple, bool inBytes,
                      bool powers, std::int64_t first) {
    QTest::newRow(name) << of << runtime << multiple << inBytes << powers << first;
  };
  const Runtime msccl = Runtime::msccl;
  const Runtime azure = Runtime::mscclExecutorNccl;
  const Runtime rccl = Runtime::rccl;
  row("allgather, 16 x 13, bytes", facts(Collective::allgather, 16, 208), msccl, 208, true, false, 3328);
  row("allgather, 16 x 13, elements", facts(Collective::allgather, 16, 208), azure, 208, false, false, 3328);
  row("allgather, 16 x 8, bytes", facts(Collective::allgather, 16, 128), msccl, 128, true, true, 256);
  row("allgather, 16 x 8, elements", facts(Collective::allgather, 16, 128), rccl, 128, false, true, 512);
  row("allreduce, 16 x 8", facts(Collective::allreduce, 16, 128), msccl, 128, false, true, 512);
  row("reduce_scatter, 16 x 8", facts(Collective::reduceScatter, 16, 128), msccl, 128, false, true, 512);
  row("broadcast, bytes", facts(Collective::broadcast, 16, 64), msccl, 64, true, true, 64);
  row("broadcast, elements", facts(Collective::broadcast, 16, 64), azure, 64, false, true, 256);
  row("reduce, 3 chunks", facts(Collective::reduce, 16, 3), msccl, 3, false, false, 12);
  // nccl-tests gives each of 12 ranks a multiple of 4 floats.
  row("allgather, 12 x 4", facts(Collective::allgather, 12, 48), azure, 48, false, true, 256);
  row("allgather, 12 x 8", facts(Collective::allgather, 12, 96), azure, 96, false, false, 384);
  row("allgather, 12 x 8, bytes", facts(Collective::allgather, 12, 96), msccl, 96, true, true, 256);
  row("allreduce, 12 x 1", facts(Collective::allreduce, 12, 12), azure, 12, false, false, 48);
  row("window above", facts(Collective::allreduce, 16, 128, kKiB * kKiB), azure, 128, false, true, kKiB * kKiB);
  row("window without a power of two", facts(Collective::allreduce, 16, 128, 1030, 2000), azure, 128, false, false,
      1536);
  row("window between powers of two", facts(Collective::allreduce, 16, 128, 32769, 40959), azure, 128, false, false,
      33280);
  row("window without a multiple", facts(Collective::allreduce, 16, 128, 1030, 1500), azure, 128, false, false, 0);
  row("window of a part", facts(Collective::gather, 16, 3, 97, 160), azure, 48, false, false, 2304);
  row("window of one size", facts(Collective::allreduce, 16, 128, 1024, 1024), azure, 128, false, true, 1024);
  row("MSCCL leaves the last size out", facts(Collective::allreduce, 16, 128, 1024, 1024), msccl, 128, false, false, 0);
  row("no end", facts(Collective::allreduce, 16, 128, 0, 0), rccl, 128, false, true, 512);
}

void TestUsedSizes::sizes() {
  QFETCH(SizeFacts, facts);
  QFETCH(Runtime, runtime);
  const UsedSizes used = usedSizes(facts, runtime);
  QTEST(used.multipleOf, "multiple");
  QTEST(used.inBytes, "inBytes");
  QTEST(used.powersOfTwo, "powers");
  QTEST(used.sweep ? used.sweep->first : std::int64_t{0}, "first");
  const bool isShared = facts.collective == Collective::allgather || facts.collective == Collective::reduceScatter;
  QCOMPARE(used.olderMultiplePerRank.has_value(), runtime == Runtime::rccl && isShared);
}

void TestUsedSizes::usedAt_data() {
  QTest::addColumn<SizeFacts>("facts");
  QTest::addColumn<Runtime>("runtime");
  QTest::addColumn<std::int64_t>("bytes");
  QTest::addColumn<bool>("used");
  const auto row = [](const char* name, const SizeFacts& of, Runtime runtime, std::int64_t bytes, bool used) {
    QTest::newRow(name) << of << runtime << bytes << used;
  };
  const SizeFacts odd = facts(Collective::allgather, 16, 208);
  row("1 MiB of 208", odd, Runtime::msccl, kKiB * kKiB, false);
  row("208 KiB of 208", odd, Runtime::msccl, 208 * kKiB, true);
  row("too small for each rank", facts(Collective::allgather, 16, 16), Runtime::mscclExecutorNccl, 128, false);
  row("16 bytes each", facts(Collective::allgather, 16, 16), Runtime::mscclExecutorNccl, 256, true);
  row("nothing", facts(Collective::allreduce, 2, 1), Runtime::mscclExecutorNccl, 0, false);
  // 3 GiB are 3 x 2^28 floats; 12 GiB are 3 x 2^30, which an int holds as -2^30.
  const SizeFacts three = facts(Collective::allreduce, 2, 3);
  row("3 GiB of 3", three, Runtime::msccl, 3 * kGiB, true);
  row("12 GiB of 3 leave an int", three, Runtime::msccl, 12 * kGiB, false);
  row("12 GiB of 3 in 64 bits", three, Runtime::rccl, 12 * kGiB, true);
}

void TestUsedSizes::usedAt() {
  QFETCH(SizeFacts, facts);
  QFETCH(Runtime, runtime);
  QFETCH(std::int64_t, bytes);
  QTEST(isUsedAt(facts, runtime, bytes), "used");
}

void TestUsedSizes::everySizeOfTheSweep_data() {
  QTest::addColumn<Collective>("collective");
  QTest::newRow("allgather") << Collective::allgather;
  QTest::newRow("reduce_scatter") << Collective::reduceScatter;
  QTest::newRow("allreduce") << Collective::allreduce;
  QTest::newRow("broadcast") << Collective::broadcast;
  QTest::newRow("reduce") << Collective::reduce;
}

/// Against the calls as nccl-tests makes them, counted here once more.
void TestUsedSizes::everySizeOfTheSweep() {
  QFETCH(Collective, collective);
  const bool isShared = collective == Collective::allgather || collective == Collective::reduceScatter;
  for (const int ranks : {2, 3, 12, 16, 32}) {
    for (const int k : {1, 2, 3, 8, 13}) {
      for (const Runtime runtime : {Runtime::msccl, Runtime::mscclExecutorNccl, Runtime::rccl}) {
        const SizeFacts of = facts(collective, ranks, std::int64_t{ranks} * k);
        const UsedSizes used = usedSizes(of, runtime);
        QVERIFY(used.sweep.has_value());
        std::int64_t sizes = 0;
        for (std::int64_t bytes = used.sweep->first; bytes <= used.sweep->last; bytes *= 2) {
          const std::int64_t each = bytes / 4 / ranks / 4 * 4;
          const std::int64_t elements = isShared ? each * ranks : bytes / 4;
          std::int64_t counted = used.inBytes ? elements * 4 : elements;
          if (runtime == Runtime::msccl) {
            counted = static_cast<std::int32_t>(counted);
          }
          QVERIFY(elements > 0);
          QCOMPARE(counted % of.chunks, std::int64_t{0});
          ++sizes;
        }
        QVERIFY(sizes > 15);
        if (used.powersOfTwo) {
          QVERIFY((used.sweep->first & (used.sweep->first - 1)) == 0);
        }
      }
    }
  }
}

void TestUsedSizes::texts_data() {
  QTest::addColumn<SizeFacts>("facts");
  QTest::addColumn<Runtime>("runtime");
  QTest::addColumn<QString>("text");
  QTest::newRow("no") << facts(Collective::allgather, 16, 208) << Runtime::msccl
                      << "multiples of 208 bytes; not at powers of two";
  QTest::newRow("yes") << facts(Collective::allreduce, 16, 128) << Runtime::msccl
                       << "multiples of 128 elements; so at powers of two, from 512 bytes";
  QTest::newRow("window") << facts(Collective::allreduce, 16, 128, kKiB, kKiB * kKiB) << Runtime::rccl
                          << "multiples of 128 elements; so at powers of two, from 1 KiB to 1 MiB";
  QTest::newRow("none") << facts(Collective::allreduce, 16, 128, 9, 9) << Runtime::msccl
                        << "multiples of 128 elements, but none of them lies in the size window";
}

void TestUsedSizes::texts() {
  QFETCH(SizeFacts, facts);
  QFETCH(Runtime, runtime);
  QFETCH(QString, text);
  QCOMPARE(QString::fromStdString(describe(usedSizes(facts, runtime))), text);
}

void TestUsedSizes::guides_data() {
  QTest::addColumn<Collective>("collective");
  QTest::addColumn<Runtime>("runtime");
  QTest::addColumn<int>("chunks");
  QTest::addColumn<QStringList>("parts");
  QTest::newRow("msccl allgather") << Collective::allgather << Runtime::msccl << 128
                                   << QStringList{"MSCCL_XML_FILES=/data/a.xml",
                                                  "-np 16",
                                                  "all_gather_perf -b 256 -e 1G -f 2",
                                                  "NCCL 2.12.12",
                                                  "Connected 1 MSCCL",
                                                  "in-place columns"};
  QTest::newRow("msccl allreduce") << Collective::allreduce << Runtime::msccl << 128
                                   << QStringList{"NCCL_ALGO=MSCCL,RING,TREE", "all_reduce_perf"};
  QTest::newRow("sizes that are not powers")
      << Collective::allreduce << Runtime::msccl << 208 << QStringList{"-b 832 -e 832M -f 2"};
  QTest::newRow("executor") << Collective::reduceScatter << Runtime::mscclExecutorNccl << 128
                            << QStringList{"MSCCL_ALGO_DIR=/data/a.msccl", "cp /data/a.xml /data/a.msccl/",
                                           "NCCL 2.23.4", "LD_PRELOAD", "reduce_scatter_perf"};
  QTest::newRow("rccl") << Collective::allgather << Runtime::rccl << 128
                        << QStringList{"MSCCL_ALGO_DIR=/data/a.msccl", "RCCL_MSCCL_FORCE_ENABLE=1", "ROCm 6.2",
                                       "RCCL_MSCCLPP_ENABLE=0", "../share/rccl/msccl-algorithms"};
  QTest::newRow("broadcast") << Collective::broadcast << Runtime::rccl << 128 << QStringList{"-r 3"};
}

void TestUsedSizes::guides() {
  QFETCH(Collective, collective);
  QFETCH(Runtime, runtime);
  QFETCH(int, chunks);
  QFETCH(QStringList, parts);
  Program program = programOf(collective, 16, chunks);
  program.root = 3;
  const QString text = QString::fromStdString(toText(runGuide(program, runtime, "/data/a.xml"))).simplified();
  for (const QString& part : parts) {
    QVERIFY2(text.contains(part), qPrintable(part + " is not in\n" + text));
  }
  if (collective == Collective::allgather) {
    QVERIFY2(!text.contains("NCCL_ALGO"), qPrintable(text));
    QVERIFY2(!text.contains(" -r "), qPrintable(text));
  }
}

void TestUsedSizes::guideOfAnEmptyWindow() {
  Program program = programOf(Collective::allreduce, 2, 2);
  program.maxBytes = 0;
  const RunGuide guide = runGuide(program, Runtime::msccl, "a file.xml");
  QCOMPARE(guide.command, std::string());
  QVERIFY(QString::fromStdString(toText(guide)).contains("MSCCL_XML_FILES='a file.xml'"));
}

QTEST_GUILESS_MAIN(TestUsedSizes)
#include "tst_used_sizes.moc"
