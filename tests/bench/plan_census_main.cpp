// SPDX-License-Identifier: Apache-2.0
// Writes, verifies and runs execution plans of MSCCL++ of every method on presets: plan_census [--gpus N] [--part I/N]
// [--all-variants GPUS] [--only NAME] [--method ID]… prints a CSV row for each plan; plan_census --table FILE… adds up
// the rows of such files in a table in Markdown, with what is wrong and why some have no plan below it.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "bench/plan_census.hpp"

using namespace coppice;
using namespace coppice::test;

namespace {

struct Cell {
  int right = 0;
  int all = 0;
};

int printTable(const std::vector<std::string>& files) {
  std::map<std::string, std::map<std::string, Cell>> cells;  // method and target, collective
  std::map<std::string, int> reasons;
  std::set<std::string> collectives;
  std::set<std::string> fabrics;
  std::vector<std::string> wrong;
  for (const std::string& file : files) {
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
      std::vector<std::string> words;
      std::istringstream parts(line);
      for (std::string word; std::getline(parts, word, ',');) {
        words.push_back(word);
      }
      words.resize(8);
      const std::string& outcome = words[6];
      fabrics.insert(words[0]);
      if (outcome == "refused" || outcome == "no plan") {
        ++reasons[outcome + ", " + words[3] + ", " + words[2] + ": " + words[7]];
      }
      if (outcome == "refused") {
        continue;  // the method does not fit
      }
      collectives.insert(words[2]);
      Cell& cell = cells[words[3] + (words[4] == "mscclpp" ? "" : " (NVLS)")][words[2]];
      ++cell.all;
      cell.right += outcome == "right" ? 1 : 0;
      if (outcome == "wrong") {
        wrong.push_back(line);
      }
    }
  }
  std::printf("%zu fabrics\n\n| method |", fabrics.size());
  for (const std::string& collective : collectives) {
    std::printf(" %s |", collective.c_str());
  }
  std::printf("\n|---|");
  for (std::size_t i = 0; i < collectives.size(); ++i) {
    std::printf("---|");
  }
  std::printf("\n");
  Cell sum;
  for (const auto& [method, row] : cells) {
    std::printf("| %s |", method.c_str());
    for (const std::string& collective : collectives) {
      const auto found = row.find(collective);
      if (found == row.end()) {
        std::printf(" |");
        continue;
      }
      sum.right += found->second.right;
      sum.all += found->second.all;
      std::printf(" %d of %d |", found->second.right, found->second.all);
    }
    std::printf("\n");
  }
  std::printf("\n%d of %d plans written, verified and run with the data right; %zu wrong\n", sum.right, sum.all,
              wrong.size());
  for (const std::string& line : wrong) {
    std::printf("WRONG %s\n", line.c_str());
  }
  for (const auto& [reason, count] : reasons) {
    std::printf("%5d %s\n", count, reason.c_str());
  }
  return wrong.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  int gpus = 32;
  int part = 0;
  int parts = 1;
  std::string only;
  CensusOptions options;
  if (argc > 1 && std::strcmp(argv[1], "--table") == 0) {
    return printTable({argv + 2, argv + argc});
  }
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string word = argv[i];
    if (word == "--gpus") {
      gpus = std::atoi(argv[i + 1]);
    } else if (word == "--part") {
      std::sscanf(argv[i + 1], "%d/%d", &part, &parts);
    } else if (word == "--only") {
      only = argv[i + 1];
    } else if (word == "--all-variants") {
      options.allVariantsUpTo = std::atoi(argv[i + 1]);
    } else if (word == "--method") {
      options.methods.emplace_back(argv[i + 1]);
    } else {
      std::fprintf(stderr, "%s is not an option\n", word.c_str());
      return 1;
    }
  }
  int number = 0;
  for (const CensusFabric& each : censusFabrics(gpus)) {
    if (number++ % parts != part || (!only.empty() && !each.title.starts_with(only))) {
      continue;
    }
    takeCensus(each.title, each.fabric, options, [](const CensusRow& row) {
      std::printf("%s,%d,%s,%s,%s,%s,%s,%s\n", row.fabric.c_str(), row.gpus, row.collective.c_str(), row.method.c_str(),
                  row.target.c_str(), row.variant.c_str(), row.outcome.c_str(), row.reason.c_str());
      std::fflush(stdout);
    });
  }
  return 0;
}
