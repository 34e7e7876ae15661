// Tells of interfaces that changed in a network namespace.
#pragma once

#include <string>
#include <vector>

namespace csaud::sw {

struct InterfaceChange {
    int index = 0;
    std::string name;
};

class LinkMonitor {
  public:
    // Watches the calling thread's network namespace; std::system_error when it cannot.
    LinkMonitor();
    ~LinkMonitor();
    LinkMonitor(const LinkMonitor&) = delete;
    LinkMonitor& operator=(const LinkMonitor&) = delete;

    int descriptor() const { return fd_; }
    // What changed since the last call. False when the kernel had to leave something out: then anything may
    // have.
    bool read(std::vector<InterfaceChange>& changes);

  private:
    int fd_ = -1;
};

}  // namespace csaud::sw
