// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/exchange/exchange_schedule.hpp"

#include <QCoreApplication>
#include <utility>

#include "alltoall/demand_table.hpp"
#include "workflow/clock.hpp"
#include "workflow/guarded.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

struct ExchangeTexts {
  Q_DECLARE_TR_FUNCTIONS(Exchange)
};

Outcome compute(ExchangeAnswer& answer, const workflow::Values& values, const Progress& progress) {
  auto fabric = fabric::Fabric::build(*answer.snapshot.facts);
  if (!fabric) {
    return fabric.error();
  }
  const auto request = workflow::readExchange(*fabric, values);
  if (!request) {
    return request.error();
  }
  auto found = workflow::answerExchange(*fabric, *request, progress);
  if (!found) {
    return found.error();
  }
  if (const auto file = values.find("demand"); file != values.end()) {
    answer.demandFile = file->second;
  }
  answer.givenPlacement = std::move(found->givenPlacement);
  answer.placement = std::move(found->placement);
  const auto add = [&](workflow::NamedExchange exchange) {
    auto limits = workflow::limitingLinks(*fabric, exchange.time);
    answer.exchanges.push_back({std::move(exchange), std::move(limits)});
  };
  if (found->before) {
    add(*std::move(found->before));
  }
  for (workflow::NamedExchange& exchange : found->exchanges) {
    add(std::move(exchange));
  }
  answer.fabric = *std::move(fabric);
  return Done{};
}

}  // namespace

ExchangeAnswerPtr answerExchange(const Snapshot& snapshot, const workflow::Values& values, const Progress& progress) {
  return answered<ExchangeAnswer>([&](ExchangeAnswer& answer) {
    answer.snapshot = snapshot;
    return compute(answer, values, progress);
  });
}

QString exchangeTitle(const workflow::NamedExchange& exchange) {
  return exchange.name == "dispatch"             ? ExchangeTexts::tr("Dispatch")
         : exchange.name == "combine"            ? ExchangeTexts::tr("Combine")
         : exchange.name == "dispatch as placed" ? ExchangeTexts::tr("Dispatch as placed")
                                                 : ExchangeTexts::tr("Exchange");
}

Result<ScheduleResultPtr> scheduleExchange(const fabric::Description& facts, const ExchangeAnswer& answer,
                                           std::size_t index, const Progress& progress) {
  return workflow::guarded<ScheduleResultPtr>([&]() -> Result<ScheduleResultPtr> {
    workflow::Clock clock;
    const workflow::NamedExchange& exchange = answer.exchanges[index].exchange;
    const alltoall::Optimum& optimum = *exchange.time.optimum;
    auto schedule =
        alltoall::scheduleOf(*answer.fabric, optimum.demand, optimum.routing, alltoall::kMaxTransfers, progress);
    if (!schedule) {
      return schedule.error();
    }
    ScheduleOptions options;
    options.collective = Collective::alltoall;
    options.method = "alltoall";
    options.methodOptions["demand"] =
        answer.demandFile.empty() ? alltoall::writeDemandTable(*answer.fabric, exchange.time.table) : answer.demandFile;
    auto made = examineSchedule(facts, *answer.fabric, *std::move(schedule), options, progress);
    if (!made) {
      return made.error();
    }
    auto result = std::const_pointer_cast<ScheduleResult>(*std::move(made));
    result->origin = originOf(options);
    result->name = ExchangeTexts::tr("Alltoall, %1").arg(exchangeTitle(exchange).toLower());
    // Both certificates of the answer have been checked.
    result->bound = optimum.upper * alltoall::meanBuffer(optimum.demand, answer.fabric->gpuCount());
    result->meetsBound = result->algbw == *result->bound;
    result->seconds = clock.lap();
    return ScheduleResultPtr(std::move(result));
  });
}

}  // namespace coppice::designer
