/* SPDX-License-Identifier: GPL-2.0-only */
/** A dumbbell for one TCP connection, run twice: by ns-3's TcpSocketBase on ns-3's devices, and by our engine on links and a queue of the
 *  same rates, delays, sizes and discipline. Sender, access link, router, bottleneck, router, access link, receiver.
 */
#ifndef RNICSIM_TEST_NS3_DUMBBELL_H
#define RNICSIM_TEST_NS3_DUMBBELL_H

#include "../../model/tcp/tcp_params.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

struct Dumbbell
{
    std::string name;
    std::string cc;            /* reno, cubic or dctcp */
    double rate_bps;           /* of the bottleneck */
    double access_bps;
    double rtt_s;              /* propagation, both ways, less the access links' 4 us */
    uint32_t queue_packets;    /* at the bottleneck */
    bool codel;                /* RFC 8289 with target 5 ms and interval 100 ms, else tail drop */
    double device_hold_s;      /* with CoDel: the device's dynamic queue limits hold for so long, 0: none, it takes three packets */
    double mark_above_s;       /* with CoDel: mark what has waited longer, 0: off; this also makes ECN on */
    uint64_t lose_every;       /* each so-many-th data packet that has crossed the bottleneck is lost; 0: none */
    bool lose_iid;             /* instead, each is lost with probability 1 / lose_every, the same ones on both sides */
    uint64_t lose_from;        /* so many packets of either pattern are past when the connection opens */
    double start_s, stop_s;    /* the connection opens; the run ends */
    double from_s;             /* throughput is counted from here on */
    double min_rto_s;
    bool prr;                  /* ours: PRR; ns-3: TcpPrrRecovery, else the classic one */
    bool recent;               /* ours: RACK-TLP */
    uint32_t delayed_acks;     /* segments that one acknowledgement covers */
    const char* ns3_type;      /* TypeId of ns-3's congestion control */
};

struct DumbbellResult
{
    std::vector<std::pair<double, double>> cwnd;      /* seconds, segments */
    std::vector<std::pair<double, double>> alpha;     /* DCTCP */
    std::vector<double> mbps;                         /* of each 200 ms from from_s */
    double throughput_bps = 0;                        /* payload, from from_s to stop_s */
    uint64_t lost = 0;                                /* injected, dropped by the queue */
    uint64_t marked = 0;
    uint64_t timeouts = 0;                            /* ours only */
};

/** Which data packets are lost after the bottleneck. */
class DumbbellLoss
{
  public:
    explicit DumbbellLoss(const Dumbbell& d)
        : m_every(d.lose_every),
          m_iid(d.lose_iid),
          m_seen(d.lose_from)
    {
    }

    /** The next one. */
    bool Loses()
    {
        if (!m_every)
        {
            return false;
        }
        m_seen++;
        return (m_iid ? Mixed(m_seen) : m_seen) % m_every == 0;
    }

  private:
    /* The finaliser of SplitMix64. */
    static uint64_t Mixed(uint64_t x)
    {
        x *= UINT64_C(0x9e3779b97f4a7c15);
        x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
        return x ^ (x >> 31);
    }

    const uint64_t m_every;
    const bool m_iid;
    uint64_t m_seen;
};

constexpr uint32_t DUMBBELL_SEGMENT = 1448;
constexpr double DUMBBELL_SLICE_S = 0.2;

DumbbellResult RunNs3(const Dumbbell& d);
DumbbellResult RunOurs(const Dumbbell& d);

#endif
