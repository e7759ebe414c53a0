// What a scenario's verb `fake` says, told to the fake.
//
// Throws where it says what this runner does not know.
//
//   Instruct(step["fake"], world.fake());
#pragma once

#include <headgate/fake.h>
#include <yaml-cpp/yaml.h>

namespace headgate::client {

void Instruct(const YAML::Node& words, FakeHeadgate& fake);

}  // namespace headgate::client
