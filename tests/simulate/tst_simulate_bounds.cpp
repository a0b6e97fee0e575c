// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <variant>

#include "alltoall/alltoall.hpp"
#include "baselines/baselines.hpp"
#include "forestcoll/forestcoll.hpp"
#include "forestcoll/random_fabrics.hpp"
#include "presets/presets.hpp"
#include "simulate/sweep.hpp"
#include "support/preset_fabrics.hpp"
#include "workflow/make_schedule.hpp"
#include "workflow/method.hpp"

/// No simulated run is faster than the exact bound of its collective: every method on fabrics without any symmetry.
using namespace coppice;
using test::built;
using test::presetFabric;

namespace {

constexpr double kRounding = 1e-9;
const simulate::Model kBandwidthOnly{.linkLatency = Microseconds(0), .messageOverhead = Microseconds(0)};

/// What nothing may exceed, in GB/s.
double limitOf(const fabric::Fabric& fabric, const workflow::Demand& demand) {
  if (demand.collective == Collective::alltoall) {
    const auto optimum = alltoall::optimum(fabric, {.budget = std::chrono::milliseconds(500)});
    if (!optimum) {
      qFatal("%s", describe(optimum.error()).c_str());
    }
    return toGBps(optimum->upper * Rational(fabric.gpuCount()));
  }
  const auto optimum = forestcoll::optimum(fabric, {.collective = demand.collective, .root = demand.root});
  if (!optimum) {
    qFatal("%s", describe(optimum.error()).c_str());
  }
  // Reduce-scatter then allgather is not a bound on other allreduces.
  const bool hasLimit = optimum->allreduceLimit && optimum->allreduceLimit->algbw > optimum->algbw;
  return toGBps(hasLimit ? optimum->allreduceLimit->algbw : optimum->algbw);
}

std::unique_ptr<simulate::Subject> subjectOf(const fabric::Fabric& fabric, const schedule::AnySchedule& schedule,
                                             const simulate::Model& model) {
  auto subject = std::visit([&](const auto& one) { return simulate::subjectOf(fabric, one, model); }, schedule);
  if (!subject) {
    qFatal("%s", describe(subject.error()).c_str());
  }
  return std::move(*subject);
}

/// Where the methods that need boxes, a torus or a power of two of GPUs make something.
const QStringList kPresets{"ring,gpus=5", "hypercube,dimension=3", "cluster,boxes=2,gpus=2", "dgx-a100,boxes=2"};

/// @param isSmall for methods that search: two or three GPUs
fabric::Fabric randomFabric(int seed, bool isSmall) {
  return built(test::randomFabric({.gpus = 2 + seed % (isSmall ? 2 : 4),
                                   .switches = isSmall ? seed / 2 % 2 : seed / 4 % 3,
                                   .largestBandwidth = isSmall ? 4 : 9,
                                   .duplex = seed % 2 == 0},
                                  unsigned(seed)));
}

/// All methods ask for the same bounds of the same fabrics.
double knownLimit(const fabric::Fabric& fabric, const workflow::Demand& demand) {
  static std::map<std::tuple<std::string, Collective, int>, double> known;
  const auto [place, isNew] = known.try_emplace({fabric.digest(), demand.collective, demand.root.value_or(-1)}, 0);
  if (isNew) {
    place->second = limitOf(fabric, demand);
  }
  return place->second;
}

/// What runs faster than its bound; empty for nothing.
QString excessOf(const fabric::Fabric& fabric, const workflow::Demand& demand, const schedule::AnySchedule& schedule) {
  const double limit = knownLimit(fabric, demand);
  for (const simulate::Model& model : {simulate::Model(), kBandwidthOnly}) {
    const auto subject = subjectOf(fabric, schedule, model);
    for (const std::int64_t bytes : {std::int64_t{1}, std::int64_t{5'000'000}, std::int64_t{4'000'000'000}}) {
      const auto details = subject->simulate(bytes, {});
      if (!details) {
        return QString::fromStdString(describe(details.error()));
      }
      if (details->row.algbw.gigabytesPerSecond() > limit * (1 + kRounding)) {
        return QStringLiteral("%1, %2 bytes: %3 > %4")
            .arg(QString::fromUtf8(toString(demand.collective).data()))
            .arg(bytes)
            .arg(details->row.algbw.gigabytesPerSecond())
            .arg(limit);
      }
    }
  }
  return {};
}

}  // namespace

class TestSimulateBounds : public QObject {
  Q_OBJECT

private slots:
  void everyMethod_data();
  void everyMethod();
};

/// Searches end early, most of them by few chunks or little work: their schedules are valid after any effort.
workflow::Values quickly(const workflow::Method& generator) {
  workflow::Values values;
  for (const workflow::Option& option : generator.options) {
    if (option.name == "seconds") {
      values["seconds"] = "1";
    } else if (option.name == "max-chunks") {
      values["max-chunks"] = "8";
    } else if (option.name == "search-effort") {
      values["search-effort"] = "50";
    }
  }
  return values;
}

void TestSimulateBounds::everyMethod_data() {
  QTest::addColumn<QString>("method");
  for (const workflow::Method& method : workflow::methods()) {
    // Switches that copy are not bound by what one message per receiver needs.
    const baselines::Baseline* const baseline = baselines::find(method.id);
    if (baseline == nullptr || !baseline->isForest) {
      QTest::newRow(method.id.c_str()) << QString::fromStdString(method.id);
    }
  }
}

void TestSimulateBounds::everyMethod() {
  QFETCH(QString, method);
  const workflow::Method& generator = *workflow::findMethod(method.toStdString());
  const bool isQuick = generator.id == workflow::kDefaultMethod || baselines::find(generator.id) != nullptr;
  // Searches see four fabrics of up to five GPUs, then small ones.
  constexpr int kFabrics = 60;
  constexpr int kLarge = 4;
  int runs = 0;
  for (int seed = -int(kPresets.size()); seed < kFabrics; ++seed) {
    const fabric::Fabric fabric =
        seed < 0 ? presetFabric(kPresets[-seed - 1], u',') : randomFabric(seed, !isQuick && seed >= kLarge);
    for (const Collective collective : generator.collectives) {
      workflow::Demand demand{.collective = collective};
      if (isRooted(collective)) {
        demand.root = std::abs(seed) % fabric.gpuCount();
      }
      const auto made = workflow::makeSchedule(fabric, generator, demand, quickly(generator), {});
      if (made) {
        const QString fault = excessOf(fabric, demand, made->made.schedule);
        QVERIFY2(fault.isEmpty(), qPrintable(QStringLiteral("seed %1: ").arg(seed) + fault));
        ++runs;
      } else {
        const ErrorCode code = made.error().code;
        QVERIFY2(code == ErrorCode::infeasible || code == ErrorCode::badUsage, describe(made.error()).c_str());
      }
    }
  }
  QVERIFY2(runs > 0, "the method makes nothing on any of these fabrics");
}

QTEST_APPLESS_MAIN(TestSimulateBounds)
#include "tst_simulate_bounds.moc"
