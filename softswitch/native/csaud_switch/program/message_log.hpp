// What a program says: messages of log_msg and of failed assertions, the oldest dropped beyond a thousand.
#pragma once

#include <string>
#include <vector>

#include "csaud_switch/program/action.hpp"
#include "csaud_switch/program/expression.hpp"

namespace csaud::sw {

class MessageLog {
  public:
    void add(std::string line);
    // With the values that it names, of this packet.
    void add(const LogMessage& message, const Frame& frame);

    std::vector<std::string> take();

  private:
    std::vector<std::string> lines_;
};

}  // namespace csaud::sw
