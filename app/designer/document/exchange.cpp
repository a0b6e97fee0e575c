// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/document/exchange.hpp"

#include <algorithm>
#include <utility>

#include "designer/document/edits.hpp"
#include "io/import_choices.hpp"
#include "io/link_csv.hpp"

namespace coppice::designer {
namespace {

ReadModel withFindings(const fabric::Description& description, std::vector<Finding> findings) {
  const bool hasPlaces = std::any_of(description.nodes.begin(), description.nodes.end(),
                                     [](const fabric::NodeDescription& node) { return node.position.has_value(); });
  ReadModel result = hasPlaces ? readModel(description) : readArranged(description);
  findings.insert(findings.end(), result.findings.begin(), result.findings.end());
  result.findings = std::move(findings);
  return result;
}

}  // namespace

Result<ReadModel> readAnyFabric(std::string_view text, const std::string& fileName, std::stop_token stop) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return Error{
        ErrorCode::badInput, "there is nothing to read", "copy a fabric, or choose a file", {.file = fileName}};
  }
  const auto format = io::detectFormat(fileName, text);
  // An adjacency table in text is not a table of links; the header or a bandwidth in the third column tells.
  const bool isForeign = format && *format != io::FabricFormat::json && *format != io::FabricFormat::adjacency;
  if (!isForeign && io::looksLikeLinkCsv(text)) {
    auto table = io::readLinkCsv(text, fileName);
    if (!table) {
      return table.error();
    }
    return withFindings(table->description, std::move(table->findings));
  }
  if (!format) {
    return format.error();
  }
  if (*format == io::FabricFormat::json) {
    return readFabricFile(text, fileName);
  }
  io::ImportOptions options;
  options.dotHelper.stop = std::move(stop);
  auto imported = readForeign({std::string(text), *format, fileName}, options);
  return imported ? Result<ReadModel>(std::move(imported->read)) : imported.error();
}

std::optional<ForeignText> withOpenChoices(std::string_view text, const std::string& fileName) {
  const auto format = io::detectFormat(fileName, text);
  if (!format || io::choicesOf(*format).empty()) {
    return std::nullopt;
  }
  return ForeignText{std::string(text), *format, fileName};
}

Result<ForeignFabric> readForeign(const ForeignText& text, const io::ImportOptions& options) {
  auto imported = io::importFabric(text.text, text.format, text.fileName, options);
  if (!imported) {
    return imported.error();
  }
  return ForeignFabric{withFindings(imported->description, std::move(imported->findings)), std::move(imported->server)};
}

Result<std::string> writeFabricAs(const Model& model, ExportFormat format) {
  switch (format) {
    case ExportFormat::dot:
      return io::exportFabric(model.description(), io::FabricFormat::dot);
    case ExportFormat::adjacency:
      return io::exportFabric(model.description(), io::FabricFormat::adjacency);
    case ExportFormat::linkCsv:
      return io::writeLinkCsv(model.description());
    case ExportFormat::fabricJson:
      break;
  }
  return writeFabricFile(model);
}

std::string clipboardText(const Model& model, const std::set<ElementId>& elements) {
  const bool hasOnlyLinks =
      std::all_of(elements.begin(), elements.end(), [](const ElementId& id) { return id.kind == ElementKind::link; });
  if (elements.empty()) {
    return {};
  }
  if (!hasOnlyLinks) {
    return writeFabricFile(edits::extract(model, elements));
  }
  fabric::Description table;
  for (const ElementId& id : elements) {
    if (const Link* link = model.find(id.link())) {
      table.links.push_back({model.nameOf(link->tail),
                             model.nameOf(link->head),
                             link->bandwidth,
                             link->duplex,
                             link->count,
                             link->latency,
                             {}});
    }
  }
  return io::writeLinkCsv(table);
}

}  // namespace coppice::designer
