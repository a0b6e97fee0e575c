// SPDX-License-Identifier: Apache-2.0
#include "io/forest/content.hpp"

namespace coppice::io::forest {

void refuse(std::string message, const ElementRef& element, ErrorCode code) {
  throw Refusal{{code, std::move(message), "generate the file again", {.element = element}}};
}

void refuse(std::string message, std::string path, ErrorCode code) {
  refuse(std::move(message), ElementRef(RefKind::field, std::move(path)), code);
}

Error placed(Error error, const std::string& fileName) {
  error.where.file = fileName;
  return error;
}

}  // namespace coppice::io::forest
