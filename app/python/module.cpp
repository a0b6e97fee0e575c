// SPDX-License-Identifier: Apache-2.0
#include "modules.hpp"

#include "coppice/version.hpp"

PYBIND11_MODULE(_core, module) {
  module.doc() = "What the package coppice calls. Use the package.";
  module.attr("version") = coppice::kVersion;
  coppice::python::defineFabrics(module);
  coppice::python::defineQuestions(module);
  coppice::python::defineSchedules(module);
  coppice::python::defineStudies(module);
  coppice::python::defineNetworks(module);
}
