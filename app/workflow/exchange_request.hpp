// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "alltoall/alltoall.hpp"
#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "workflow/concurrent.hpp"
#include "workflow/expert_layer.hpp"
#include "workflow/fabric_source.hpp"
#include "workflow/options.hpp"

/// What is asked of an uneven all-to-all, for the command line and the window alike: the bytes of each pair, or the
/// tokens of a layer of experts.
namespace coppice::workflow {

struct ExchangeRequest {
  std::optional<alltoall::DemandTable> table = {};  ///< absent: the experts of the question
  ExpertQuestion question = {};
  alltoall::Request limits = {};
};

/// demand; counts, experts, top-k, tokens, max-boxes, placement, token-bytes, combine-bytes, once-per-box and
/// improve-placement; seconds.
[[nodiscard]] const std::vector<Option>& exchangeOptions();

/// Where a file is named, the text itself may stand, if it has several lines. Errors: badUsage naming the option, also
/// where they do not go together; those of the readers of the files.
[[nodiscard]] Result<ExchangeRequest> readExchange(const fabric::Fabric& fabric, const Values& given,
                                                   const StandardInput& standardInput = {});

/// A file with the bytes of each pair, or the table itself where the text has several lines. Errors: io; those of
/// alltoall::readDemandTable.
[[nodiscard]] Result<alltoall::DemandTable> readDemandBytes(const fabric::Fabric& fabric,
                                                            const std::string& fileOrTable,
                                                            const StandardInput& standardInput = {});

/// One exchange of an answer. Names are those of the command line: "dispatch", "combine", "dispatch as placed", or
/// "exchange" of a table.
struct NamedExchange {
  std::string name;
  ExchangeTime time;
};
struct ExchangeAnswer {
  std::vector<NamedExchange> exchanges;           ///< that of a table, or dispatch and combine
  std::optional<NamedExchange> before = {};       ///< dispatch with the placement that was given, where it was improved
  alltoall::ExpertPlacement givenPlacement = {};  ///< empty: a table
  alltoall::ExpertPlacement placement = {};       ///< the proposed one, or the one that was given
};

/// Errors: those of exchangeTime and expertLayer.
[[nodiscard]] Result<ExchangeAnswer> answerExchange(const fabric::Fabric& fabric, const ExchangeRequest& request,
                                                    const Progress& progress);

/// "b0g0\nb0g1\n…": the GPU of each expert, as --placement reads it.
[[nodiscard]] std::string placementText(const fabric::Fabric& fabric, const alltoall::ExpertPlacement& placement);

/// The links that limit an exchange, those that look alike together, with their part of the bound: what one more GB/s
/// adds to the rate of a unit, largest part first.
[[nodiscard]] std::vector<CutLinks> limitingLinks(const fabric::Fabric& fabric, const ExchangeTime& time);

/// How many times as long it takes where GPUs pass nothing on; nullopt where that is impossible, or was not asked.
[[nodiscard]] std::optional<double> relayGain(const ExchangeTime& time);

}  // namespace coppice::workflow
