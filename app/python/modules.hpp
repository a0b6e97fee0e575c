// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>

/// The parts of coppice._core. Numbers that are exact come as fractions.Fraction, in GB/s where they are bandwidths.
namespace coppice::python {

void defineFabrics(pybind11::module_& module);
void defineQuestions(pybind11::module_& module);
void defineSchedules(pybind11::module_& module);
/// Failures, comparisons, uneven all-to-alls and runs of NCCL.
void defineStudies(pybind11::module_& module);
/// What a network costs, which topologies there are, and the order of ranks.
void defineNetworks(pybind11::module_& module);

}  // namespace coppice::python
