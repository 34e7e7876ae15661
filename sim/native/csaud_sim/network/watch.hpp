// Who follows what becomes of frames, beside the counters of the switches.
#pragma once

#include "csaud_sim/engine/engine.hpp"
#include "csaud_sim/network/csa_frame.hpp"

namespace csaud::sim {

class Watch {
  public:
    // A frame ends here: a switch dropped it, or a link lost it. The bytes are those with which it came.
    virtual void lost(FrameBytes frame, Nanos now) = 0;
    // A LOSS leaves a port of a switch: of a frame that it has cut (`made_here`), or that another one has.
    virtual void told(FrameBytes frame, bool made_here, Nanos now) = 0;

  protected:
    ~Watch() = default;
};

}  // namespace csaud::sim
