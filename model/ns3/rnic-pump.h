/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNICSIM_NS3_RNIC_PUMP_H
#define RNICSIM_NS3_RNIC_PUMP_H

#include "../sim/sim.h"

#include "ns3/event-id.h"
#include "ns3/object.h"

namespace ns3
{

/**
 * Drives a `struct sim` from any ns-3 simulator implementation (default, realtime, distributed): exactly one ns-3
 * event is outstanding, at the C queue's earliest time, and moves when that time becomes earlier.
 *
 * C code that is called from an ns-3 event must first see the clock moved by Sync(). At equal times the pump's event and
 * foreign ns-3 events come by order of scheduling: reproducible, but not as on RnicSimulatorImpl, which
 * defines the order. C events run in the context of the ns-3 event that armed the pump.
 */
class RnicPump : public Object
{
  public:
    static TypeId GetTypeId();

    RnicPump();
    ~RnicPump() override;

    /** Drive s until untilPs (absolute, as for sim_run), s's present time being ns-3's present time; own: and free it at the
     *  end. The resolution must be ps. */
    void Start(struct sim* s, bool own, int64_t untilPs);
    /** s's clock moves to ns-3's. */
    void Sync();
    /** No longer touch the simulation. */
    void Detach();
    struct sim* GetSim() const;

    /**
     * The simulation of the simulator that is in use: RnicSimulatorImpl's queue, or else one driven by a pump that
     * lives as long as the simulator. Its clock is ns-3's.
     */
    static struct sim* Current();

  private:
    void DoDispose() override;
    void Arm(int64_t nextPs);
    void Fire();
    static void OnEarlier(void* ctx, int64_t nextPs);

    struct sim* m_sim;
    bool m_own;
    int64_t m_until;
    int64_t m_base; //!< the simulation's time when ns-3's was 0
    int64_t m_armed;
    EventId m_event;
};

} // namespace ns3

#endif
