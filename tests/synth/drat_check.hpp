// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

/// A checker of DRAT proofs that shares nothing with the solver or its encodings. For small proofs: it propagates by
/// going through all clauses.
namespace coppice::test {

/// Empty where the proof derives the empty clause from the DIMACS clauses; else what is wrong with it.
[[nodiscard]] std::string faultOfProof(const std::string& clauses, const std::string& proof);

}  // namespace coppice::test
