// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "coppice/test_paths.hpp"
#include "support/preset_fabrics.hpp"
#include "workflow/training_choice.hpp"
#include "workflow/training_request.hpp"

using namespace coppice;

/// Training runs whose times are published: in their configuration no step can be faster than our bound, so that what
/// was measured may not be below it. The table of resources/doc/published-runs.md comes of the same file.
namespace {

/// Larger fabrics take up to a minute each.
constexpr std::int64_t kMostGpus = 1024;

const nlohmann::json& runs() {
  static const nlohmann::json kRuns = [] {
    std::ifstream file(COPPICE_TEST_DATA "/training/published.json");
    return nlohmann::json::parse(file).at("runs");
  }();
  return kRuns;
}

workflow::Values valuesOf(const nlohmann::json& run) {
  return {{"model", run.at("model")},
          {"gpu", run.at("gpu")},
          {"precision", run.value("precision", "bf16")},
          {"batch", std::to_string(run.at("batch").get<std::int64_t>())},
          {"sequence", std::to_string(run.at("sequence").get<std::int64_t>())},
          {"plan", run.at("plan")},
          {"recompute", "true"}};
}

}  // namespace

class TestPublishedRuns : public QObject {
  Q_OBJECT

private slots:
  void boundIsBelow_data() {
    QTest::addColumn<int>("index");
    for (std::size_t i = 0; i < runs().size(); ++i) {
      QTest::newRow(runs()[i].at("run").get<std::string>().c_str()) << static_cast<int>(i);
    }
    QVERIFY(runs().size() >= 10);
  }
  void boundIsBelow() {
    QFETCH(int, index);
    const nlohmann::json& run = runs()[static_cast<std::size_t>(index)];
    const auto request = workflow::readTraining(valuesOf(run));
    QVERIFY2(request.hasValue(), request ? "" : describe(request.error()).c_str());
    const double measured = run.at("measured_seconds").get<double>() * 1e9;
    QVERIFY(!run.at("source").get<std::string>().empty());
    const std::int64_t gpus = run.at("gpus");
    // What any plan needs, also on fabrics that are too large for a test.
    training::Layout alike;
    alike.sizes.front() = gpus;
    QVERIFY(training::leastTime(request->demand, alike, 1).toDouble() < measured);
    if (gpus > kMostGpus) {
      return;
    }
    const fabric::Fabric fabric = test::presetFabric(QString::fromStdString(run.at("fabric")), u',');
    QCOMPARE(static_cast<std::int64_t>(fabric.gpuCount()), gpus);
    const auto choice = workflow::chooseTraining(fabric, request->demand, request->limits, {});
    QVERIFY2(choice.hasValue(), choice ? "" : describe(choice.error()).c_str());
    QVERIFY(!choice->plans.empty());
    const double bound = choice->plans.front().overlapped().toDouble();
    QVERIFY2(bound < measured, std::to_string(bound / measured).c_str());
    // A bound that says something: no run that was published is ten times as slow.
    QVERIFY2(bound > measured / 10, std::to_string(bound / measured).c_str());
  }
};

QTEST_APPLESS_MAIN(TestPublishedRuns)
#include "tst_published_runs.moc"
