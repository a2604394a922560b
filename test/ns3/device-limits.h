/* SPDX-License-Identifier: GPL-2.0-only */
/** How much a device may hold below its queueing discipline: Linux's dynamic queue limits (BQL), which ns-3's DynamicQueueLimits follows.
 *  The limit grows where the device ran dry while more was held back, and shrinks by the least surplus seen in a hold time.
 */
#ifndef RNICSIM_TEST_NS3_DEVICE_LIMITS_H
#define RNICSIM_TEST_NS3_DEVICE_LIMITS_H

#include <algorithm>
#include <cstdint>

class DeviceLimits
{
  public:
    explicit DeviceLimits(int64_t hold_ps)
        : m_hold_ps(hold_ps)
    {
    }

    /** May the discipline pass on another packet? Always, where no hold time is set. */
    bool Open() const
    {
        return m_hold_ps == 0 || !m_stopped;
    }

    void Queued(int64_t bytes)
    {
        m_last = bytes;
        m_queued += bytes;
        m_stopped = m_stopped || m_queued > m_edge;
    }

    /** The device has taken so many bytes for transmission. */
    void Sent(int64_t now_ps, int64_t bytes)
    {
        int64_t sent = m_sent + bytes, over = std::max<int64_t>(m_queued - m_sent - m_limit, 0), limit = m_limit;
        bool caught_up = sent >= m_queued_before;
        if ((over && m_queued == sent) || (m_over_before && caught_up))
        {
            limit += std::max<int64_t>(sent - m_queued_before, 0) + m_over_before;
            Restart(now_ps);
        }
        else if (m_queued > sent && m_queued_before > m_sent && !caught_up)
        {
            int64_t unused = m_over_before ? std::max<int64_t>(m_last_before - m_over_before, 0) : 0;
            m_surplus = std::min(m_surplus, std::max({limit + m_over_before - 2 * bytes, unused, INT64_C(0)}));
            if (now_ps > m_since_ps + m_hold_ps)
            {
                limit = std::max<int64_t>(limit - m_surplus, 0);
                Restart(now_ps);
            }
        }
        m_over_before = limit == m_limit ? over : 0;
        m_limit = limit;
        m_edge = limit + sent;
        m_sent = sent;
        m_queued_before = m_queued;
        m_last_before = m_last;
        m_stopped = m_stopped && m_queued > m_edge;
    }

  private:
    void Restart(int64_t now_ps)
    {
        m_since_ps = now_ps;
        m_surplus = INT64_MAX;
    }

    const int64_t m_hold_ps;
    bool m_stopped = false;
    int64_t m_limit = 0, m_edge = 0;      /* may be outstanding; the sum of all bytes up to which more is taken */
    int64_t m_queued = 0, m_sent = 0, m_last = 0;
    int64_t m_queued_before = 0, m_last_before = 0, m_over_before = 0;    /* as of the last Sent() */
    int64_t m_surplus = INT64_MAX, m_since_ps = 0;
};

#endif
