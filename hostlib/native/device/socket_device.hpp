// What the two forms of the soft device have in common: sending, and counting what became of it.
#pragma once

#include <cstdint>

#include "device.hpp"
#include "file_descriptor.hpp"
#include "send_batch.hpp"
#include "send_tally.hpp"

namespace csaud::device {

class SocketDevice : public Device {
  public:
    Sent send(std::span<const TxPacket> packets) final;
    DeviceCounters counters() const final;

    // Whether packets go as trains that the kernel cuts; before anything is sent.
    void set_segmentation(bool on) { send_batch_.set_segmentation(on); }

  protected:
    // `tx` sends; see SendBatch for the rest.
    SocketDevice(FileDescriptor tx, std::size_t batch, std::size_t skip, bool segmentation);

    const FileDescriptor& tx() const { return tx_; }
    // The kernel has refused packets for good.
    virtual void refused() {}
    virtual std::uint64_t receive_drops() const = 0;

  private:
    FileDescriptor tx_;
    SendBatch send_batch_;
    SendTally tally_;
};

}  // namespace csaud::device
