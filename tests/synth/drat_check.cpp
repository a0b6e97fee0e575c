// SPDX-License-Identifier: Apache-2.0
#include "drat_check.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>
#include <vector>

namespace coppice::test {
namespace {

using Clause = std::vector<int>;

class Checker {
public:
  void add(const Clause& clause) { ++m_clauses[sorted(clause)]; }

  [[nodiscard]] bool has(const Clause& clause) const { return m_clauses.contains(sorted(clause)); }

  /// False: there is no such clause.
  bool remove(const Clause& clause) {
    const auto place = m_clauses.find(sorted(clause));
    if (place == m_clauses.end()) {
      return false;
    }
    if (--place->second == 0) {
      m_clauses.erase(place);
    }
    return true;
  }

  /// Propagation from the negated clause ends in a conflict.
  [[nodiscard]] bool isImplied(const Clause& clause) const {
    std::map<int, bool> isTrue;  // by literal, of both signs
    const auto set = [&](int literal) {
      isTrue[literal] = true;
      isTrue[-literal] = false;
    };
    for (const int literal : clause) {
      if (isTrue.contains(literal) && isTrue[literal]) {
        return true;  // a tautology
      }
      set(-literal);
    }
    for (bool isChanged = true; isChanged;) {
      isChanged = false;
      for (const auto& [each, count] : m_clauses) {
        int open = 0;
        int last = 0;
        bool isSatisfied = false;
        for (const int literal : each) {
          const auto value = isTrue.find(literal);
          isSatisfied = isSatisfied || (value != isTrue.end() && value->second);
          if (value == isTrue.end()) {
            ++open;
            last = literal;
          }
        }
        if (!isSatisfied && open == 0) {
          return true;
        }
        if (!isSatisfied && open == 1) {
          set(last);
          isChanged = true;
        }
      }
    }
    return false;
  }

  /// Every resolvent on the first literal is implied.
  [[nodiscard]] bool isBlocked(const Clause& clause) const {
    return !clause.empty() && std::all_of(m_clauses.begin(), m_clauses.end(), [&](const auto& entry) {
      const Clause& each = entry.first;
      if (std::find(each.begin(), each.end(), -clause.front()) == each.end()) {
        return true;
      }
      Clause resolvent = clause;
      std::copy_if(each.begin(), each.end(), std::back_inserter(resolvent),
                   [&](int literal) { return literal != -clause.front(); });
      return isImplied(resolvent);
    });
  }

private:
  static Clause sorted(Clause clause) {
    std::sort(clause.begin(), clause.end());
    clause.erase(std::unique(clause.begin(), clause.end()), clause.end());
    return clause;
  }

  std::map<Clause, int> m_clauses;  ///< with how often each is there
};

/// False: the literals do not end with 0.
bool readClause(std::istream& in, Clause& clause) {
  clause.clear();
  for (int literal = 0; in >> literal;) {
    if (literal == 0) {
      return true;
    }
    clause.push_back(literal);
  }
  return false;
}

}  // namespace

std::string faultOfProof(const std::string& clauses, const std::string& proof) {
  Checker checker;
  std::istringstream formula(clauses);
  std::string p;
  std::string cnf;
  int variables = 0;
  int count = 0;
  if (!(formula >> p >> cnf >> variables >> count) || p != "p" || cnf != "cnf") {
    return "the clauses have no header";
  }
  Clause clause;
  for (int i = 0; i < count; ++i) {
    if (!readClause(formula, clause)) {
      return "there are fewer clauses than the header says";
    }
    if (std::any_of(clause.begin(), clause.end(), [&](int literal) { return std::abs(literal) > variables; })) {
      return "a literal is beyond the header's variables";
    }
    checker.add(clause);
  }
  if (readClause(formula, clause)) {
    return "there are more clauses than the header says";
  }
  if (checker.has({})) {
    return {};  // nothing is left to prove
  }
  std::istringstream lines(proof);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const bool isDeleted = line.starts_with("d ");
    std::istringstream text(isDeleted ? line.substr(2) : line);
    if (!readClause(text, clause)) {
      return "line " + std::to_string(number) + " is cut off";
    }
    if (isDeleted) {
      if (!checker.remove(clause)) {
        return "line " + std::to_string(number) + " deletes what is not there";
      }
      continue;
    }
    if (!checker.isImplied(clause) && !checker.isBlocked(clause)) {
      return "line " + std::to_string(number) + " does not follow";
    }
    if (clause.empty()) {
      return {};
    }
    checker.add(clause);
  }
  return "the empty clause is not derived";
}

}  // namespace coppice::test
