// SPDX-License-Identifier: Apache-2.0
#include "fits_text.hpp"

#include "base/error_names.hpp"
#include "text.hpp"

namespace coppice::cli {
namespace {

/// "--k 4 --max-peers 32"
std::string settings(const advice::Fit& fit) {
  std::string text;
  if (fit.k) {
    text = "--k " + std::to_string(*fit.k);
  }
  if (fit.maxPeers) {
    text += (text.empty() ? "" : " ") + std::string("--max-peers ") + std::to_string(*fit.maxPeers);
  }
  return text;
}

}  // namespace

Report doesNotFit(const fabric::Fabric& fabric, const Error& error, const advice::Fits& fits) {
  Report report;
  report.json = {
      {"ok", false},      {"fabric", fabric.name()},   {"error", error.message}, {"code", nameOf(error.code)},
      {"fix", error.fix}, {"would_fit", Json::array()}};
  report.json["not_tried"] = Json::array();
  report.failure = describe(error);
  if (fits.never) {
    report.json["never_fits"] = fits.never->message;
    report.text = "No other trees fit either: " + fits.never->message + "\n";
    return report;
  }
  if (fits.fits.empty()) {
    report.text = "None of the smaller numbers of trees and peers that were tried fits.\n";
  } else {
    report.text = "These schedules would fit; generate one of them and export it:\n";
  }
  for (const advice::Fit& fit : fits.fits) {
    Json one = {{"settings", settings(fit)}};
    if (fit.k) {
      one["k"] = *fit.k;
    }
    if (fit.maxPeers) {
      one["max_peers"] = *fit.maxPeers;
    }
    one["algbw"] = toFraction(fit.algbw);
    one["algbw_GBps"] = toGBps(fit.algbw);
    one["share_of_optimum"] = fit.share.toString();
    one["max_height"] = fit.height;
    one["threadblocks"] = fit.threadBlocks;
    one["written"] = fit.isWritten;
    report.json["would_fit"].push_back(one);
    report.text += "  generate " + settings(fit) + ": " + gigabytes(fit.algbw) + ", " +
                   (fit.share == Rational(1) ? std::string("the optimum")
                                             : percent(fit.share) + " (" + fit.share.toString() + ") of the optimum") +
                   "; height " + std::to_string(fit.height) + ", at most " + counted(fit.threadBlocks, "threadblock") +
                   " per rank" + (fit.isWritten ? "\n" : ", as planned\n");
  }
  std::string untried;
  for (const advice::Fit& fit : fits.untried) {
    report.json["not_tried"].push_back(settings(fit));
    untried += (untried.empty() ? "" : ", ") + settings(fit);
  }
  if (!untried.empty()) {
    report.text += "Not tried, as each takes long on " + counted(fabric.gpuCount(), "GPU") + ": " + untried + "\n";
  }
  return report;
}

}  // namespace coppice::cli
