#include "common/reference/reference.h"

namespace headgate::reference {
namespace {

struct Form {
  const char* name;
  std::string (*make)(const Program&);
};
constexpr Form kForms[] = {{"man", ManPage},
                           {"markdown", Markdown},
                           {"bash", BashCompletion},
                           {"zsh", ZshCompletion},
                           {"fish", FishCompletion}};

}  // namespace

const std::vector<std::string>& ReferenceForms() {
  static const auto* const names = [] {
    auto* made = new std::vector<std::string>;
    for (const Form& form : kForms) made->emplace_back(form.name);
    return made;
  }();
  return *names;
}

std::string ReferenceIn(std::string_view form, const Program& program) {
  for (const Form& known : kForms) {
    if (form == known.name) return known.make(program);
  }
  return "";
}

}  // namespace headgate::reference
