// Sends frames of CSA-UD into a network interface, as fast as the kernel takes them or at a given rate, and
// prints how many it sent. The receiver is whatever counts what arrives at the other end.
//
// With --ping it sends one frame after the other and waits for each at a second interface, without sleeping.
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <random>
#include <string>
#include <system_error>

#include "frames.hpp"
#include "setup.hpp"

namespace {

constexpr unsigned kBatch = 64;
constexpr unsigned kSeed = 1;

struct Options {
    std::string interface;
    double seconds = 1;
    std::size_t bytes = 1100;
    double rate = 0;  // frames a second, 0: no limit
    std::uint32_t first = 0x0A000201;
    std::uint32_t destinations = 1;
    unsigned frames = 1024;       // different ones
    csaud::sw::bench::Fill fill;  // of the switch's tables, instead of `first` and `destinations`
    bool filled = false;
    bool print = false;
    std::string ping;       // where frames come back
    unsigned count = 1000;  // of them
};

double seconds_now() {
    timespec t{};
    ::clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

[[noreturn]] void fail(const std::string& what) {
    throw std::system_error(errno, std::generic_category(), what);
}

Options parse(int argc, char** argv) {
    Options options;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string name = argv[i];
        const char* value = argv[i + 1];
        if (name == "--interface") {
            options.interface = value;
        } else if (name == "--seconds") {
            options.seconds = std::atof(value);
        } else if (name == "--bytes") {
            options.bytes = static_cast<std::size_t>(std::atol(value));
        } else if (name == "--rate") {
            options.rate = std::atof(value);
        } else if (name == "--first") {
            in_addr address{};
            if (::inet_pton(AF_INET, value, &address) != 1) {
                std::fprintf(stderr, "--first: '%s' is no IPv4 address\n", value);
                std::exit(2);
            }
            options.first = ntohl(address.s_addr);
        } else if (name == "--destinations") {
            options.destinations = static_cast<std::uint32_t>(std::atol(value));
        } else if (name == "--routes" || name == "--policies" || name == "--buckets" || name == "--masks") {
            options.filled = true;
            const auto number = static_cast<std::uint32_t>(std::atol(value));
            (name == "--routes"     ? options.fill.routes
             : name == "--policies" ? options.fill.policies
             : name == "--masks"    ? options.fill.masks
                                    : options.fill.buckets) = number;
        } else if (name == "--print-entries") {
            options.print = true;
        } else if (name == "--ping") {
            options.ping = value;
        } else if (name == "--count") {
            options.count = static_cast<unsigned>(std::atoi(value));
        } else if (name == "--frames") {
            options.frames = static_cast<unsigned>(std::atoi(value));
        } else {
            std::fprintf(stderr, "unknown option %s\n", argv[i]);
            std::exit(2);
        }
    }
    if ((options.interface.empty() && !options.print) || options.destinations == 0 ||
        options.frames < kBatch) {
        std::fprintf(
            stderr,
            "usage: %s --interface IF [--seconds S] [--bytes N] [--rate PACKETS_A_SECOND]\n"
            "  [--first ADDRESS] [--destinations N] [--frames N, 64 at least] [--ping IF --count N]\n",
            argv[0]);
        std::exit(2);
    }
    return options;
}

int open_socket(const std::string& interface, int protocol = 0) {
    const int fd = ::socket(AF_PACKET, SOCK_RAW, 0);
    if (fd < 0) fail("packet socket");
    const int one = 1;
    if (::setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof one) != 0) fail("PACKET_QDISC_BYPASS");
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(static_cast<std::uint16_t>(protocol));
    address.sll_ifindex = static_cast<int>(::if_nametoindex(interface.c_str()));
    if (address.sll_ifindex == 0) fail(interface);
    if (::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) fail("bind");
    return fd;
}

// Frames whose destinations are drawn at random, so that tables are read all over.
std::vector<std::vector<std::uint8_t>> make_frames(const Options& options) {
    if (options.filled) return csaud::sw::bench::packets(options.fill, options.frames, options.bytes, kSeed);
    std::mt19937 random(kSeed);
    std::vector<std::vector<std::uint8_t>> frames;
    for (unsigned i = 0; i < options.frames; ++i)
        frames.push_back(csaud::sw::bench::data_frame(
            options.bytes, options.first + static_cast<std::uint32_t>(random() % options.destinations),
            {static_cast<std::uint16_t>(i % 256), 0, 0, 0}));
    return frames;
}

struct Result {
    std::uint64_t sent = 0;
    std::uint64_t refused = 0;
    double seconds = 0;
};

Result send(const Options& options, int fd) {
    auto frames = make_frames(options);
    std::vector<iovec> pieces(frames.size());
    std::vector<mmsghdr> headers(frames.size());
    for (std::size_t i = 0; i < frames.size(); ++i) {
        pieces[i] = {frames[i].data(), frames[i].size()};
        headers[i].msg_hdr.msg_iov = &pieces[i];
        headers[i].msg_hdr.msg_iovlen = 1;
    }
    Result result;
    const double begin = seconds_now();
    std::size_t at = 0;
    for (;;) {
        result.seconds = seconds_now() - begin;
        if (result.seconds >= options.seconds) break;
        const auto done_until_now = static_cast<double>(result.sent + result.refused);
        if (options.rate > 0 && done_until_now > options.rate * result.seconds) continue;
        const auto count = static_cast<unsigned>(std::min<std::size_t>(kBatch, frames.size() - at));
        const int done = ::sendmmsg(fd, &headers[at], count, 0);
        if (done < 0) {
            // The other end's backlog is full: the frame is lost, as on a wire that nobody reads.
            if (errno != ENOBUFS && errno != EINTR) fail("sendmmsg");
            ++result.refused;
            continue;
        }
        result.sent += static_cast<std::uint64_t>(done);
        at += static_cast<unsigned>(done);
        if (at >= frames.size()) at = 0;
    }
    return result;
}

// Times of single frames, in microseconds, sorted. A frame that does not come within a second is an error.
std::vector<double> ping(const Options& options, int out, int in) {
    constexpr double kInterval = 1e-3;
    const auto frame = csaud::sw::bench::data_frame(options.bytes, options.first, {});
    std::array<char, 16384> bytes;
    std::vector<double> took;
    for (unsigned i = 0; i < options.count; ++i) {
        const double begin = seconds_now();
        if (::send(out, frame.data(), frame.size(), 0) < 0) fail("send");
        while (::recv(in, bytes.data(), bytes.size(), MSG_DONTWAIT) < 0) {
            if (errno != EAGAIN) fail("recv");
            if (seconds_now() > begin + 1) {
                errno = ETIMEDOUT;
                fail("a frame did not come back");
            }
        }
        took.push_back(1e6 * (seconds_now() - begin));
        while (seconds_now() < begin + kInterval) ::usleep(100);
    }
    std::sort(took.begin(), took.end());
    return took;
}

}  // namespace

int main(int argc, char** argv) {
    const Options options = parse(argc, argv);
    if (options.print) {
        std::puts(csaud::sw::bench::describe(options.fill, kSeed).c_str());
        return 0;
    }
    try {
        if (!options.ping.empty()) {
            const int in = open_socket(options.ping, ETH_P_ALL);
            const auto took = ping(options, open_socket(options.interface), in);
            std::printf("{\"median_us\": %.2f, \"p99_us\": %.2f}\n", took[took.size() / 2],
                        took[took.size() * 99 / 100]);
            return 0;
        }
        const int fd = open_socket(options.interface);
        const Result result = send(options, fd);
        ::close(fd);
        std::printf("{\"sent\": %llu, \"refused\": %llu, \"seconds\": %.6f}\n",
                    static_cast<unsigned long long>(result.sent),
                    static_cast<unsigned long long>(result.refused), result.seconds);
    } catch (const std::system_error& error) {
        std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
        return 1;
    }
    return 0;
}
