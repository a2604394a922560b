/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNICSIM_NS3_RNIC_SIMULATOR_IMPL_H
#define RNICSIM_NS3_RNIC_SIMULATOR_IMPL_H

#include "../sim/sim.h"

#include "ns3/simulator-impl.h"

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace ns3
{

/**
 * A simulator whose event queue is a `struct sim`: ns-3's events and those of the C models share one queue and
 * one clock. Select it with
 *
 *     GlobalValue::Bind("SimulatorImplementationType", StringValue("ns3::RnicSimulatorImpl"));
 *
 * Events of ns-3 behave exactly as on DefaultSimulatorImpl. At equal times, C events come first (their keys say
 * in which order), then ns-3's by order of scheduling. C events run with context Simulator::NO_CONTEXT.
 *
 * C models count in picoseconds, so GetSim() demands a time resolution of ps; a program with ns-3 events only
 * may have any.
 */
class RnicSimulatorImpl : public SimulatorImpl
{
  public:
    static TypeId GetTypeId();

    /** With a simulation of its own, seeded by RngSeedManager. */
    RnicSimulatorImpl();
    ~RnicSimulatorImpl() override;

    /** Use s, which stays the caller's and must outlive this object. Before anything is scheduled here. */
    void SetSim(struct sim* s);
    /** The simulation that C models schedule on. */
    struct sim* GetSim() const;
    /** Run() returns when no event at or before this time is left, with the clock there, as sim_run() does. */
    void SetUntil(int64_t untilPs);

    void Destroy() override;
    bool IsFinished() const override;
    void Stop() override;
    void Stop(const Time& delay) override;
    EventId Schedule(const Time& delay, EventImpl* event) override;
    void ScheduleWithContext(uint32_t context, const Time& delay, EventImpl* event) override;
    EventId ScheduleNow(EventImpl* event) override;
    EventId ScheduleDestroy(EventImpl* event) override;
    void Remove(const EventId& id) override;
    void Cancel(const EventId& id) override;
    bool IsExpired(const EventId& id) const override;
    void Run() override;
    Time Now() const override;
    Time GetDelayLeft(const EventId& id) const override;
    Time GetMaximumSimulationTime() const override;
    /** Without effect but the log's: the queue is the C one. */
    void SetScheduler(ObjectFactory schedulerFactory) override;
    uint32_t GetSystemId() const override;
    uint32_t GetContext() const override;
    /** Events of ns-3 and of the C models together. */
    uint64_t GetEventCount() const override;

  private:
    /** A scheduled ns-3 event. Its uid is its position + EventId::VALID; its C timer's address is fixed. */
    struct Slot
    {
        struct sim_timer timer;
        EventImpl* impl; //!< nullptr when free
        RnicSimulatorImpl* owner;
        uint64_t ts;
        uint32_t context;
        uint32_t position;
    };

    /** An event that another thread scheduled, with the delay it gave. */
    struct Injected
    {
        uint32_t context;
        uint64_t delay;
        EventImpl* event;
    };

    static constexpr uint32_t CHUNK = 256;

    void DoDispose() override;
    static void Fire(struct sim* s, void* ctx, void* arg);
    Slot* Insert(uint32_t context, uint64_t ts, EventImpl* event);
    void Rest(Slot* slot);
    Slot* Find(const EventId& id) const;
    void TakeInjected();

    struct sim* m_sim;
    bool m_ownSim;
    bool m_stop;
    int64_t m_until;
    uint32_t m_context;       //!< of the newest ns-3 event
    uint64_t m_contextEvents; //!< sim_events_run() while it runs: when that moves on, m_context is over
    std::vector<std::unique_ptr<Slot[]>> m_chunks;
    std::vector<Slot*> m_free;
    std::vector<Slot*> m_resting; //!< slots of events that ran at m_restingTs: not free until time has moved
    uint64_t m_restingTs;
    std::list<EventId> m_destroyEvents;
    std::mutex m_injectedMutex;
    std::list<Injected> m_injected;
    std::thread::id m_mainThread;
};

} // namespace ns3

#endif
