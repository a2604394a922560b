/* SPDX-License-Identifier: GPL-2.0-only */
/** Our engine in the dumbbell. */
#ifndef RNICSIM_TEST_NS3_DUMBBELL_OURS_H
#define RNICSIM_TEST_NS3_DUMBBELL_OURS_H

#include "../../model/cc/cc.h"
#include "../../model/tcp/tcp.h"
#include "device-limits.h"
#include "dumbbell.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <queue>

class OurDumbbell
{
  public:
    explicit OurDumbbell(const Dumbbell& d)
        : m_d(d),
          m_loss(d),
          m_limits(Ps(d.device_hold_s))
    {
    }

    DumbbellResult Run();

  private:
    static constexpr uint32_t PPP_BYTES = 2;          /* ns-3's point-to-point header */
    static constexpr int64_t ACCESS_PS = SIM_PS_PER_US;
    static constexpr size_t DEVICE_PACKETS = 3;       /* below the queue discipline */

    struct Event
    {
        int64_t at;
        uint64_t order;
        std::function<void()> what;

        bool operator<(const Event& o) const
        {
            return at != o.at ? at > o.at : order > o.order;
        }
    };

    struct Waiting
    {
        struct pkt p;
        int64_t since;
    };

    static int64_t Ps(double s)
    {
        return (int64_t)std::llround(s * 1e12);
    }

    void At(int64_t t, std::function<void()> f)
    {
        m_events.push(Event{t, m_order++, std::move(f)});
    }

    static int64_t Bytes(const struct pkt& p)
    {
        return pkt_overhead_bytes(&p) + p.payload_len + PPP_BYTES;
    }

    static int64_t Serialise(const struct pkt& p, double bps)
    {
        return Ps((double)Bytes(p) * 8 / bps);
    }

    /* An end's turn: timers that are due, then what it may send while its access link is free. */
    void Poll(int side);
    void Arrive(int side, struct pkt p);
    void FromAccess(int side, struct pkt p);
    void StartBottleneck();
    void FillDevice();
    bool Dequeue(struct pkt* out);
    bool CodelDequeue(struct pkt* out);
    bool Above(Waiting* w);
    void Sample();

    static uint32_t Fill(void* user, uint64_t off, uint32_t len, struct pkt* p)
    {
        (void)user;
        return pkt_add_pattern(p, len, 1, off) ? len : 0;
    }

    static void Deliver(void* user, int64_t now, uint64_t off, const struct pkt* p, uint32_t from, uint32_t len)
    {
        auto self = static_cast<OurDumbbell*>(user);
        (void)p;
        (void)from;
        if (now >= Ps(self->m_d.from_s))
        {
            self->m_counted += len;
        }
        self->m_slice += len;
        tcp_consumed(self->m_c[1], now, off + len);
    }

    static void Acked(void* user, int64_t now, uint64_t off)
    {
        auto self = static_cast<OurDumbbell*>(user);
        tcp_stream_end(self->m_c[0], now, off + 64000000);
    }

    static void State(void*, int64_t, enum tcp_state, int)
    {
    }

    const Dumbbell m_d;
    DumbbellLoss m_loss;
    DumbbellResult m_r;
    std::priority_queue<Event> m_events;
    uint64_t m_order = 0;
    int64_t m_now = 0;
    struct tcp_conn* m_c[2];
    struct tcp_params m_params;
    int64_t m_free[2] = {0, 0};
    int64_t m_woken[2] = {SIM_NEVER_PS, SIM_NEVER_PS};
    std::deque<Waiting> m_queue;       /* the bottleneck's discipline */
    std::deque<Waiting> m_device;      /* what it has passed on to the device */
    DeviceLimits m_limits;
    bool m_busy = false;
    int64_t m_back_free = 0;           /* the bottleneck's other direction, and the routers' links to the ends */
    int64_t m_out_free[2] = {0, 0};
    uint64_t m_counted = 0, m_slice = 0;
    double m_next_slice = 0;
    /* CoDel (RFC 8289 section 5) */
    int64_t m_first_above = 0, m_drop_next = 0;
    uint32_t m_count = 0, m_last_count = 0;
    double m_inverse_root = 1;         /* of m_count: as Linux and ns-3, one step of Newton's iteration each time that it changes */
    bool m_dropping = false;
};

inline void
OurDumbbell::Sample()
{
    const struct cc* cc = tcp_cc(m_c[0]);
    double t = (double)m_now / 1e12, w = (double)cc->cwnd_bytes / DUMBBELL_SEGMENT;
    if (m_r.cwnd.empty() || m_r.cwnd.back().second != w)
    {
        m_r.cwnd.emplace_back(t, w);
    }
    if (m_d.cc == "dctcp" && (m_r.alpha.empty() || m_r.alpha.back().second != cc->alpha))
    {
        m_r.alpha.emplace_back(t, cc->alpha);
    }
}

inline void
OurDumbbell::Poll(int side)
{
    struct endpoint* ep = tcp_endpoint(m_c[side]);
    if (ep->ops->next_wake_ps(ep) <= m_now)
    {
        ep->ops->wake(ep, m_now);
    }
    int64_t ready = ep->ops->ready_ps(ep);
    if (ready <= m_now && m_free[side] <= m_now)
    {
        struct pkt p = {};
        if (ep->ops->tx(ep, m_now, &p))
        {
            m_free[side] = m_now + Serialise(p, m_d.access_bps);
            At(m_free[side] + ACCESS_PS, [this, side, p] { FromAccess(side, p); });
            ready = ep->ops->ready_ps(ep);
        }
    }
    if (side == 0)
    {
        Sample();
    }
    int64_t next = ep->ops->next_wake_ps(ep);
    ready = std::max(ready, m_free[side]);
    next = std::max(std::min(next, ready), m_now);
    if (next != SIM_NEVER_PS && (m_woken[side] <= m_now || next < m_woken[side] || m_woken[side] == SIM_NEVER_PS))
    {
        m_woken[side] = next;
        At(next, [this, side, next] {
            if (m_woken[side] == next)
            {
                m_woken[side] = SIM_NEVER_PS;
                Poll(side);
            }
        });
    }
}

inline void
OurDumbbell::Arrive(int side, struct pkt p)
{
    struct endpoint* ep = tcp_endpoint(m_c[side]);
    ep->ops->rx(ep, m_now, &p);
    Poll(side);
}

/* At the router next to `side`. */
inline void
OurDumbbell::FromAccess(int side, struct pkt p)
{
    if (side == 1)
    {
        /* Back to the sender, over a link of the bottleneck's other direction, at the access rate. */
        m_back_free = std::max(m_back_free, m_now) + Serialise(p, m_d.access_bps);
        At(m_back_free + Ps(m_d.rtt_s / 2), [this, p] {
            m_out_free[0] = std::max(m_out_free[0], m_now) + Serialise(p, m_d.access_bps);
            At(m_out_free[0] + ACCESS_PS, [this, p] { Arrive(0, p); });
        });
        return;
    }
    if (m_queue.size() >= m_d.queue_packets)
    {
        m_r.lost++;
        return;
    }
    m_queue.push_back(Waiting{p, m_now});
    StartBottleneck();
    FillDevice();
}

/* What the discipline passes on while the device takes it. */
inline void
OurDumbbell::FillDevice()
{
    struct pkt p;
    while (m_d.codel && m_device.size() < DEVICE_PACKETS && m_limits.Open() && Dequeue(&p))
    {
        m_device.push_back(Waiting{p, m_now});
        m_limits.Queued(Bytes(p));
        if (!m_busy)
        {
            StartBottleneck();
        }
    }
}

inline void
OurDumbbell::StartBottleneck()
{
    struct pkt p;
    if (m_busy)
    {
        return;
    }
    if (m_d.codel)
    {
        if (m_device.empty())
        {
            return;
        }
        p = m_device.front().p;
        m_device.pop_front();
        m_limits.Sent(m_now, Bytes(p));
    }
    else if (!Dequeue(&p))
    {
        return;
    }
    m_busy = true;
    int64_t end = m_now + Serialise(p, m_d.rate_bps);
    At(end, [this] {
        m_busy = false;
        StartBottleneck();
        FillDevice();
    });
    At(end + Ps(m_d.rtt_s / 2), [this, p] {
        if (p.payload_len && m_loss.Loses())
        {
            m_r.lost++;
            return;
        }
        m_out_free[1] = std::max(m_out_free[1], m_now) + Serialise(p, m_d.access_bps);
        At(m_out_free[1] + ACCESS_PS, [this, p] { Arrive(1, p); });
    });
}

inline bool
OurDumbbell::Dequeue(struct pkt* out)
{
    if (m_d.codel)
    {
        return CodelDequeue(out);
    }
    if (m_queue.empty())
    {
        return false;
    }
    *out = m_queue.front().p;
    m_queue.pop_front();
    return true;
}

/* The head of the queue, and whether it has been waiting too long for a whole interval. */
inline bool
OurDumbbell::Above(Waiting* w)
{
    *w = m_queue.front();
    m_queue.pop_front();
    uint64_t bytes = 0;
    for (size_t i = 0; i < m_queue.size() && bytes < 1500; i++)
    {
        bytes += m_queue[i].p.payload_len + 52;
    }
    if (m_now - w->since < 5 * SIM_PS_PER_MS || bytes < 1500)
    {
        m_first_above = 0;
        return false;
    }
    if (m_first_above == 0)
    {
        m_first_above = m_now + 100 * SIM_PS_PER_MS;
        return false;
    }
    return m_now >= m_first_above;
}

inline bool
OurDumbbell::CodelDequeue(struct pkt* out)
{
    Waiting w;
    if (m_queue.empty())
    {
        m_dropping = false;
        m_first_above = 0;
        return false;
    }
    auto law = [this](int64_t t) { return t + Ps(0.1 * m_inverse_root); };
    auto step = [this] { m_inverse_root *= (3 - m_count * m_inverse_root * m_inverse_root) / 2; };
    bool drop = Above(&w), ect = m_d.mark_above_s > 0 && w.p.ecn != 0, marked = false;
    if (m_dropping)
    {
        if (!drop)
        {
            m_dropping = false;
        }
        while (m_dropping && m_now >= m_drop_next)
        {
            m_count++;
            step();
            if (ect)
            {
                marked = true;
                m_drop_next = law(m_now);
                break;
            }
            m_r.lost++;
            if (m_queue.empty())
            {
                m_dropping = false;
                return false;
            }
            if (!Above(&w))
            {
                m_dropping = false;
            }
            else
            {
                m_drop_next = law(m_drop_next);
            }
        }
    }
    else if (drop)
    {
        if (ect)
        {
            marked = true;
        }
        else
        {
            m_r.lost++;
            if (m_queue.empty())
            {
                return false;
            }
            Above(&w);
        }
        m_dropping = true;
        uint32_t delta = m_count - m_last_count;
        bool soon = delta > 1 && m_now - m_drop_next < 16 * 100 * SIM_PS_PER_MS;
        m_count = soon ? delta : 1;
        m_inverse_root = soon ? m_inverse_root : 1;
        step();
        m_last_count = m_count;
        m_drop_next = law(m_now);
    }
    if (m_d.mark_above_s > 0 && w.p.ecn != 0 && m_now - w.since > Ps(m_d.mark_above_s))
    {
        marked = true;
    }
    if (marked && w.p.ecn != 0)
    {
        w.p.ecn = 3;
        m_r.marked++;
    }
    *out = w.p;
    return true;
}

inline DumbbellResult
OurDumbbell::Run()
{
    static const struct tcp_user_ops ops = {Fill, Deliver, Acked, State, nullptr};
    param_defaults(&tcp_params_table, &m_params);
    m_params.mss_bytes = DUMBBELL_SEGMENT + 12;
    m_params.rto_min_ps = Ps(m_d.min_rto_s);
    m_params.delayed_ack_count = m_d.delayed_acks;
    m_params.tlp = m_params.rack = m_d.recent;
    m_params.prr = m_d.prr ? 2 : 0;
    m_params.receive_buffer_bytes = m_params.send_buffer_bytes = m_params.reassembly_limit_bytes = 8192000;
    for (int i = 0; i < 2; i++)
    {
        struct tcp_addr a = {1u + i, 2u - i, (uint16_t)(10 + i), (uint16_t)(11 - i)};
        m_c[i] = tcp_new(&m_params, cc_find(m_d.cc.c_str()), nullptr, &a, i, 1, (int64_t)m_d.access_bps);
        tcp_set_user(m_c[i], &ops, this);
    }
    m_now = Ps(m_d.start_s);
    m_next_slice = m_d.from_s + DUMBBELL_SLICE_S;
    if (tcp_accept(m_c[1], m_now) != SIM_OK || tcp_connect(m_c[0], m_now) != SIM_OK)
    {
        std::abort();
    }
    tcp_stream_end(m_c[0], m_now, 64000000);
    Poll(0);
    while (!m_events.empty() && m_events.top().at <= Ps(m_d.stop_s))
    {
        Event e = m_events.top();
        m_events.pop();
        while ((double)e.at / 1e12 > m_next_slice)
        {
            m_r.mbps.push_back((double)m_slice * 8 / DUMBBELL_SLICE_S / 1e6);
            m_slice = 0;
            m_next_slice += DUMBBELL_SLICE_S;
        }
        if (e.at < Ps(m_d.from_s))
        {
            m_slice = 0;
        }
        m_now = e.at;
        e.what();
    }
    m_r.throughput_bps = (double)m_counted * 8 / (m_d.stop_s - m_d.from_s);
    m_r.timeouts = tcp_counters(m_c[0])->timeouts;
    tcp_free(m_c[0]);
    tcp_free(m_c[1]);
    return m_r;
}

inline DumbbellResult
RunOurs(const Dumbbell& d)
{
    return OurDumbbell(d).Run();
}

#endif
