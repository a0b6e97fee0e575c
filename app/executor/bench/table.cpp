// SPDX-License-Identifier: Apache-2.0
#include "bench/table.hpp"

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>

#include "base/counted.hpp"

namespace coppice::executor {
namespace {

[[gnu::format(printf, 1, 2)]] std::string formatted(const char* format, ...) {
  std::array<char, 512> text{};
  va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  return {text.data(), std::min(static_cast<std::size_t>(std::max(0, length)), text.size() - 1)};
}

std::string time(double microseconds) {
  return microseconds >= 10000 ? formatted("%7.0f", microseconds)
         : microseconds >= 100 ? formatted("%7.1f", microseconds)
                               : formatted("%7.2f", microseconds);
}

constexpr const char* kNoHalf = "      N/A     N/A     N/A    N/A";

std::string half(const program::ResultRecord& result, bool bound) {
  std::string text = "  " + time(result.time_us) + formatted("  %6.2f  %6.2f", result.algbw_GBps, result.busbw_GBps);
  text += result.wrong ? formatted("  %5lld", static_cast<long long>(*result.wrong)) : "    N/A";
  if (bound) {
    text += result.boundPercent ? formatted("  %6.2f", *result.boundPercent) : "     N/A";
  }
  return text;
}

std::string marked(const char* mark, std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return std::string("# ") + mark + text + "\n";
}

const char* word(Severity severity) {
  switch (severity) {
    case Severity::note:
      return "note: ";
    case Severity::warning:
      return "warning: ";
    case Severity::error:
      break;
  }
  return "error: ";
}

}  // namespace

std::string Table::head(const program::PlanRecord& plan) {
  const std::string wide = m_bound ? "        " : "";
  std::string text = "#\n";
  text += "#                                                        out-of-place" + wide +
          "                     in-place\n";
  const std::string columns = "    time   algbw   busbw #wrong";
  const std::string units = "    (us)  (GB/s)  (GB/s)       ";
  text += "#       size         count      type   redop    root " + columns + (m_bound ? "  %bound" : "") + " " +
          columns + (m_bound ? "  %bound" : "") + "\n";
  text += "#        (B)    (elements)                           " + units + (m_bound ? "        " : "") + " " + units +
          "\n";
  m_outOfPlace = plan.outOfPlace;
  m_inPlace = plan.inPlace;
  return text;
}

std::string Table::result(const program::ResultRecord& result) {
  std::string text;
  if (!m_headShown && m_plan) {
    text = head(*m_plan);
    m_headShown = true;
  }
  if (m_row.empty()) {
    m_row = formatted("%12lld  %12lld  %8s  %6s  %6d", static_cast<long long>(result.size),
                      static_cast<long long>(result.count), result.type.c_str(), result.redop.c_str(), result.root);
    if (result.inPlace) {
      m_row += kNoHalf + std::string(m_bound ? "     N/A" : "");
    }
  }
  m_row += half(result, m_bound);
  m_lastRoofline = result.memoryRooflinePercent.value_or(0);
  if (!result.inPlace && m_inPlace) {
    return text;
  }
  if (!result.inPlace) {
    m_row += kNoHalf + std::string(m_bound ? "     N/A" : "");
  }
  text += m_row + "\n";
  m_row.clear();
  return text;
}

std::string Table::show(const program::Record& record) {
  if (const auto* plan = std::get_if<program::PlanRecord>(&record)) {
    m_plan = *plan;
    m_bound = plan->boundGBps.has_value();
    m_outOfPlace = plan->outOfPlace;
    m_inPlace = plan->inPlace;
    std::string text =
        marked("", plan->name + ": " + plan->collective + " on " + counted(plan->ranks, "rank") + ", up to " +
                       counted(plan->threadBlocks, "threadblock") + ", " + counted(plan->steps, "step") + ", " +
                       counted(plan->channels, "channel") + ", " + plan->digest);
    if (plan->boundGBps) {
      // A plan does not say whether switches of its fabric sum.
      text += formatted("# bound: %.6g GB/s algbw%s\n", *plan->boundGBps,
                        plan->collective == "allreduce" ? ", of transfers between GPUs" : "");
    }
    for (const Finding& finding : plan->findings) {
      if (finding.severity != Severity::note) {
        text += marked("", describe(finding));
      }
    }
    return text;
  }
  if (const auto* env = std::get_if<program::EnvRecord>(&record)) {
    std::string text = marked("", env->host + ", " + env->processor + ", " + std::to_string(env->cores) +
                                      (env->cores == 1 ? " core" : " cores"));
    text += env->backend.empty() ? "" : marked("backend: ", env->backend);
    text += env->backendLabel.empty() ? "" : marked("", env->backendLabel);
    for (const program::BackendNote& note :
         env->backend.empty() ? env->backends : std::vector<program::BackendNote>()) {
      text += marked("", note.name + (note.available ? ": available, " : ": not available, ") + note.reason +
                             (note.fix.empty() ? "" : "; " + note.fix));
    }
    if (env->backend.empty()) {
      for (const auto& [key, fact] : env->facts) {
        text += marked("", key + ": " + fact);
      }
    }
    return text;
  }
  if (const auto* one = std::get_if<program::ResultRecord>(&record)) {
    return result(*one);
  }
  if (const auto* wrong = std::get_if<program::WrongRecord>(&record)) {
    std::string text = "rank " + std::to_string(wrong->rank) + ", " + wrong->buffer + "[" +
                       std::to_string(wrong->element) + "] (chunk " + std::to_string(wrong->chunk) + ") is " +
                       wrong->found + ", not " + wrong->expected;
    for (std::size_t index = 0; index < wrong->writers.size(); ++index) {
      text += (index == 0 ? "; written by " : ", ") + wrong->writers[index];
    }
    return marked("wrong: ", text);
  }
  if (const auto* stuck = std::get_if<program::StuckRecord>(&record)) {
    return marked("", stuck->text);
  }
  if (const auto* log = std::get_if<program::LogRecord>(&record)) {
    return marked(word(log->severity), (log->source.empty() ? "" : log->source + ": ") + log->text);
  }
  if (const auto* summary = std::get_if<program::SummaryRecord>(&record)) {
    std::string text = m_row.empty() ? "" : m_row + "\n";
    m_row.clear();
    if (summary->checked) {
      text += formatted("# Out of bounds values : %lld %s\n", static_cast<long long>(summary->wrong),
                        summary->wrong == 0 ? "OK" : "FAILED");
    } else {
      text += "# Out of bounds values : not checked\n";
    }
    text += formatted("# Avg bus bandwidth    : %g\n", summary->averageBusbw_GBps);
    if (summary->memory_GBps) {
      text += formatted(
          "# Memory               : %.2f GB/s read and written; the last row moves its data at %.0f %% of that\n",
          *summary->memory_GBps, m_lastRoofline);
    }
    return text;
  }
  return {};
}

}  // namespace coppice::executor
