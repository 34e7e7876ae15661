// The soft device over IPv6, on raw sockets (with CAP_NET_RAW) or, reduced, on UDP sockets: see RawDevice and
// UdpDevice for what that means. There is no IP id here, so either checks the iCRC of any sender.
//
// The core's packets begin with an IPv4 header, between the names of addresses (names.hpp). What leaves has
// an IPv6 header, written by the kernel, in its place, and the iCRC over that; what comes is checked here and
// given an IPv4 header for the core, which must be told to neither make nor check iCRCs.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "../device.hpp"
#include "../file_descriptor.hpp"
#include "../send_tally.hpp"
#include "inlet.hpp"
#include "names.hpp"
#include "sockets.hpp"

namespace csaud::device::ip6 {

enum class Form : std::uint8_t { raw, udp };

class Ip6Device final : public Device {
  public:
    // Throws std::system_error: EPERM without CAP_NET_RAW (raw), EADDRINUSE where another rank has the
    // address (udp), EADDRNOTAVAIL where it is not local.
    Ip6Device(Form form, const Config& config);

    // The job's addresses, this rank's among them, in place of those before. While nobody drives the device.
    void set_names(Names names);

    Sent send(std::span<const TxPacket> packets) override;
    Received receive() override;
    void watch(std::vector<pollfd>& list, bool writable) const override;
    DeviceCounters counters() const override;

  private:
    const FileDescriptor& tx() const { return form_ == Form::raw ? raw_sender_ : inlets_.front().fd(); }
    std::size_t receive_from(Inlet& inlet);
    bool is_whole(std::span<const std::byte> packet, const in6_addr& source) const;

    Form form_;
    in6_addr address_;
    Names names_;
    FileDescriptor raw_sender_;
    std::vector<Inlet> inlets_;  // in form udp the first one sends, too
    SendBatch send_batch_;
    std::vector<Packet> packets_;  // of the last receive()
    SendTally tally_;
    std::atomic<std::uint64_t> rx_bad_icrc_ = 0;
};

}  // namespace csaud::device::ip6
