// SPDX-License-Identifier: Apache-2.0
#include "workflow/exchange_request.hpp"

#include <chrono>
#include <utility>

#include "base/counted.hpp"

namespace coppice::workflow {
namespace {

constexpr std::int64_t kMaxExperts = 1 << 20;
constexpr std::int64_t kMaxPerToken = 1 << 16;
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 32;
constexpr const char* kTableGroup = "Bytes of each pair";
constexpr const char* kExpertGroup = "Or a layer of experts";

Option number(std::string name, std::string title, std::string help, std::int64_t max, std::string suggestion) {
  return {.name = std::move(name),
          .title = std::move(title),
          .help = std::move(help),
          .kind = OptionKind::integer,
          .min = 1,
          .max = max,
          .group = kExpertGroup,
          .suggestion = std::move(suggestion)};
}

std::vector<Option> expertOptions() {
  Option tokenBytes =
      number("token-bytes", "Bytes to an expert", "Bytes of a token on its way to an expert", kMaxBytes, {});
  tokenBytes.defaultText = "7168";
  Option combineBytes = number("combine-bytes", "Bytes back", "Bytes of a token on its way back", kMaxBytes, {});
  combineBytes.defaultText = "14336";
  return {
      number("experts", "Experts", "Number of experts", kMaxExperts, "256"),
      number("top-k", "Experts of each token", "Experts of each token; default: 1", kMaxPerToken, "8"),
      number("tokens", "Tokens of each GPU", "Tokens of each GPU; each set of experts is as likely", kMaxBytes, "4096"),
      number("max-boxes", "Boxes of a token", "Node-limited routing: the experts of a token are in this many boxes",
             kMaxPerToken, "4"),
      {.name = "counts",
       .title = "Table of tokens",
       .help = "CSV with the tokens that each GPU (row) sends to each expert (column), in place of the numbers above",
       .example = "none: the numbers above",
       .isFile = true,
       .excludes = {"tokens", "top-k", "max-boxes"},
       .group = kExpertGroup},
      {.name = "placement",
       .title = "Placement",
       .help = "File with the GPU (id or rank) of each expert; default: as many on each GPU, in order",
       .example = "as many on each, in order",
       .isFile = true,
       .group = kExpertGroup},
      std::move(tokenBytes),
      std::move(combineBytes),
      {.name = "once-per-box",
       .title = "Once into each box",
       .help = "A token enters a box once, at the GPU with the sender's place in its box, and spreads from there",
       .kind = OptionKind::flag,
       .group = kExpertGroup},
      {.name = "improve-placement",
       .title = "Improve the placement",
       .help = "Swap experts between GPUs while that is faster; needs a table of tokens",
       .kind = OptionKind::flag,
       .group = kExpertGroup}};
}

struct NamedText {
  std::string text;
  std::string name;  ///< for messages
};

/// A file, or the text itself where it has several lines.
Result<NamedText> fileOrText(const std::string& given, const StandardInput& standardInput) {
  if (given.find('\n') != std::string::npos) {
    return NamedText{given, "table"};
  }
  auto text = readText(given, standardInput);
  return text ? Result<NamedText>(NamedText{*std::move(text), inputName(given)}) : text.error();
}

/// What a table of bytes takes the place of.
std::vector<std::string> expertNames() {
  std::vector<std::string> names;
  for (const Option& option : expertOptions()) {
    names.push_back(option.name);
  }
  return names;
}

Outcome readCounts(const fabric::Fabric& fabric, const OptionValues& values, const StandardInput& standardInput,
                   ExpertQuestion& question) {
  const std::string file = values.text("counts");
  if (file.empty()) {
    return question.experts != 0 && question.tokens != 0
               ? Outcome(Done{})
               : optionError(question.experts != 0 ? "tokens" : "experts", "the tokens are not known",
                             "give the experts, the experts of each token and the tokens of each GPU, or a table of "
                             "tokens, or of bytes");
  }
  const auto given = fileOrText(file, standardInput);
  if (!given) {
    return given.error();
  }
  auto table = alltoall::readCountTable(fabric, given->text, given->name);
  if (!table) {
    return table.error();
  }
  if (question.experts != 0 && question.experts != table->columns) {
    return optionError("experts", "the table of tokens has " + counted(table->columns, "expert"),
                       "leave --experts out");
  }
  question.experts = table->columns;
  question.counts = std::move(table->counts);
  return Done{};
}

Outcome readPlacementOption(const fabric::Fabric& fabric, const OptionValues& values,
                            const StandardInput& standardInput, ExpertQuestion& question) {
  Result<alltoall::ExpertPlacement> placement = Error{};
  if (const std::string file = values.text("placement"); file.empty()) {
    placement = alltoall::evenPlacement(fabric, question.experts);
  } else {
    const auto given = fileOrText(file, standardInput);
    if (!given) {
      return given.error();
    }
    placement = alltoall::readPlacement(fabric, given->text, given->name, question.experts);
  }
  if (!placement) {
    return placement.error();
  }
  question.placement = *std::move(placement);
  return Done{};
}

}  // namespace

const std::vector<Option>& exchangeOptions() {
  static const std::vector<Option> kOptions = [] {
    constexpr std::int64_t kMaxSeconds = 86'400;
    std::vector<Option> options{
        {.name = "demand",
         .title = "Table of bytes",
         .help = "CSV with the bytes that each GPU (row) sends to each GPU (column), in the order of ranks or by ids",
         .example = "bytes.csv",
         .isFile = true,
         .excludes = expertNames(),
         .group = kTableGroup}};
    for (Option& option : expertOptions()) {
      options.push_back(std::move(option));
    }
    options.push_back({.name = "seconds",
                       .title = "Work of the search",
                       .help = "Work of the search, as of alltoall",
                       .kind = OptionKind::integer,
                       .defaultText = "8",
                       .max = kMaxSeconds,
                       .group = "Search",
                       .unit = "s"});
    return options;
  }();
  return kOptions;
}

Result<alltoall::DemandTable> readDemandBytes(const fabric::Fabric& fabric, const std::string& fileOrTable,
                                              const StandardInput& standardInput) {
  const auto given = fileOrText(fileOrTable, standardInput);
  return given ? alltoall::readDemandTable(fabric, given->text, given->name) : given.error();
}

Result<ExchangeRequest> readExchange(const fabric::Fabric& fabric, const Values& given,
                                     const StandardInput& standardInput) {
  const auto values = OptionValues::read(exchangeOptions(), given);
  if (!values) {
    return values.error();
  }
  ExchangeRequest request;
  request.limits.budget = std::chrono::seconds(values->integer("seconds").value_or(0));
  if (const std::string demand = values->text("demand"); !demand.empty()) {
    auto table = readDemandBytes(fabric, demand, standardInput);
    if (!table) {
      return table.error();
    }
    request.table = *std::move(table);
    return request;
  }
  ExpertQuestion& question = request.question;
  question.experts = static_cast<int>(values->integer("experts").value_or(0));
  question.topK = static_cast<int>(values->integer("top-k").value_or(1));
  question.tokens = values->integer("tokens").value_or(0);
  if (const auto boxes = values->integer("max-boxes")) {
    question.maxBoxes = static_cast<int>(*boxes);
  }
  question.dispatchBytes = values->integer("token-bytes").value_or(question.dispatchBytes);
  question.combineBytes = values->integer("combine-bytes").value_or(question.combineBytes);
  question.oncePerBox = values->flag("once-per-box");
  question.improves = values->flag("improve-placement");
  if (Outcome read = readCounts(fabric, *values, standardInput, question); !read) {
    return read.error();
  }
  if (Outcome read = readPlacementOption(fabric, *values, standardInput, question); !read) {
    return read.error();
  }
  return request;
}

Result<ExchangeAnswer> answerExchange(const fabric::Fabric& fabric, const ExchangeRequest& request,
                                      const Progress& progress) {
  ExchangeAnswer answer;
  if (request.table) {
    auto time = exchangeTime(fabric, *request.table, true, request.limits, progress);
    if (!time) {
      return time.error();
    }
    answer.exchanges.push_back({"exchange", *std::move(time)});
    return answer;
  }
  auto layer = expertLayer(fabric, request.question, request.limits, progress);
  if (!layer) {
    return layer.error();
  }
  answer.givenPlacement = request.question.placement;
  answer.placement = std::move(layer->placement);
  answer.exchanges.push_back({"dispatch", std::move(layer->dispatch)});
  answer.exchanges.push_back({"combine", std::move(layer->combine)});
  if (layer->before) {
    answer.before = NamedExchange{"dispatch as placed", *std::move(layer->before)};
  }
  return answer;
}

std::string placementText(const fabric::Fabric& fabric, const alltoall::ExpertPlacement& placement) {
  std::string text;
  for (const fabric::Rank rank : placement) {
    text += fabric.nodes()[fabric.gpus()[rank]].id + "\n";
  }
  return text;
}

std::vector<CutLinks> limitingLinks(const fabric::Fabric& fabric, const ExchangeTime& time) {
  return sharedCut(fabric, time.optimum->upper, time.optimum->lengths);
}

std::optional<double> relayGain(const ExchangeTime& time) {
  return time.directNanoseconds ? std::optional(time.directNanoseconds->toDouble() / time.nanoseconds.toDouble())
                                : std::nullopt;
}

}  // namespace coppice::workflow
