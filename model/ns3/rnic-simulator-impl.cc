/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic-simulator-impl.h"

#include "ns3/assert.h"
#include "ns3/event-impl.h"
#include "ns3/fatal-error.h"
#include "ns3/log.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RnicSimulatorImpl");
NS_OBJECT_ENSURE_REGISTERED(RnicSimulatorImpl);

TypeId
RnicSimulatorImpl::GetTypeId()
{
    static TypeId tid = TypeId("ns3::RnicSimulatorImpl")
                            .SetParent<SimulatorImpl>()
                            .SetGroupName("Rnic")
                            .AddConstructor<RnicSimulatorImpl>();
    return tid;
}

RnicSimulatorImpl::RnicSimulatorImpl()
    : m_sim(sim_new((uint64_t)RngSeedManager::GetRun() << 32 | RngSeedManager::GetSeed())),
      m_ownSim(true),
      m_stop(false),
      m_until(SIM_NEVER_PS),
      m_context(Simulator::NO_CONTEXT),
      m_contextEvents(0),
      m_restingTs(0),
      m_mainThread(std::this_thread::get_id())
{
    NS_LOG_FUNCTION(this);
    NS_ABORT_MSG_UNLESS(m_sim, "out of memory for a simulation");
}

RnicSimulatorImpl::~RnicSimulatorImpl()
{
    if (m_ownSim)
    {
        sim_free(m_sim);
    }
}

void
RnicSimulatorImpl::DoDispose()
{
    NS_LOG_FUNCTION(this);
    TakeInjected();
    for (auto& chunk : m_chunks)
    {
        for (uint32_t i = 0; i < CHUNK; i++)
        {
            Slot* slot = &chunk[i];
            if (slot->impl)
            {
                EventImpl* impl = slot->impl;
                sim_timer_cancel(m_sim, &slot->timer);
                slot->impl = nullptr;
                impl->Unref();
            }
        }
    }
    SimulatorImpl::DoDispose();
}

void
RnicSimulatorImpl::SetSim(struct sim* s)
{
    NS_ABORT_MSG_UNLESS(m_chunks.empty(), "events are already scheduled");
    if (m_ownSim)
    {
        sim_free(m_sim);
    }
    m_sim = s;
    m_ownSim = false;
    m_contextEvents = sim_events_run(s);
}

struct sim*
RnicSimulatorImpl::GetSim() const
{
    NS_ABORT_MSG_UNLESS(Time::GetResolution() == Time::PS,
                        "RDMA models count in picoseconds: call Time::SetResolution(Time::PS) first of all");
    return m_sim;
}

void
RnicSimulatorImpl::SetUntil(int64_t untilPs)
{
    m_until = untilPs;
}

void
RnicSimulatorImpl::Destroy()
{
    NS_LOG_FUNCTION(this);
    while (!m_destroyEvents.empty())
    {
        Ptr<EventImpl> event = m_destroyEvents.front().PeekEventImpl();
        m_destroyEvents.pop_front();
        if (!event->IsCancelled())
        {
            event->Invoke();
        }
    }
}

/* Free slots are reused last in, first out: few cache lines. */
RnicSimulatorImpl::Slot*
RnicSimulatorImpl::Insert(uint32_t context, uint64_t ts, EventImpl* event)
{
    if (m_free.empty())
    {
        auto chunk = std::make_unique<Slot[]>(CHUNK);
        auto base = (uint32_t)m_chunks.size() * CHUNK;
        m_free.reserve(base + CHUNK);
        for (uint32_t i = CHUNK; i-- > 0;)
        {
            chunk[i].owner = this;
            chunk[i].position = base + i;
            sim_timer_init(&chunk[i].timer, SIM_KEY_FOREIGN, Fire, &chunk[i]);
            m_free.push_back(&chunk[i]);
        }
        m_chunks.push_back(std::move(chunk));
    }
    Slot* slot = m_free.back();
    m_free.pop_back();
    slot->impl = event;
    slot->ts = ts;
    slot->context = context;
    sim_timer_set(m_sim, &slot->timer, (int64_t)ts);
    return slot;
}

/* An event that ran may be scheduled again at the same time; in the same slot its old id would look live. */
void
RnicSimulatorImpl::Rest(Slot* slot)
{
    if (slot->ts != m_restingTs)
    {
        m_free.insert(m_free.end(), m_resting.begin(), m_resting.end());
        m_resting.clear();
        m_restingTs = slot->ts;
    }
    slot->impl = nullptr;
    m_resting.push_back(slot);
}

/* An id is live if its slot is, with the same event at the same time: no counter that could wrap. */
RnicSimulatorImpl::Slot*
RnicSimulatorImpl::Find(const EventId& id) const
{
    uint32_t position = id.GetUid() - EventId::UID::VALID;
    if (id.GetUid() < EventId::UID::VALID || position / CHUNK >= m_chunks.size())
    {
        return nullptr;
    }
    Slot* slot = &m_chunks[position / CHUNK][position % CHUNK];
    return slot->impl && slot->impl == id.PeekEventImpl() && slot->ts == id.GetTs() ? slot : nullptr;
}

void
RnicSimulatorImpl::Fire(struct sim* s, void* ctx, void*)
{
    auto slot = static_cast<Slot*>(ctx);
    RnicSimulatorImpl* self = slot->owner;
    EventImpl* impl = slot->impl;

    self->PreEventHook(EventId(Ptr<EventImpl>(impl), slot->ts, slot->context, slot->position + EventId::UID::VALID));
    self->m_context = slot->context;
    self->m_contextEvents = sim_events_run(s);
    self->Rest(slot);
    impl->Invoke();
    impl->Unref();
}

void
RnicSimulatorImpl::TakeInjected()
{
    std::list<Injected> taken;
    {
        std::lock_guard<std::mutex> lock(m_injectedMutex);
        taken.swap(m_injected);
        sim_interrupt(m_sim, false);
    }
    for (const auto& i : taken)
    {
        Insert(i.context, (uint64_t)sim_now(m_sim) + i.delay, i.event);
    }
}

void
RnicSimulatorImpl::Run()
{
    NS_LOG_FUNCTION(this);
    m_mainThread = std::this_thread::get_id();
    m_stop = false;
    do
    {
        TakeInjected();
        sim_run(m_sim, m_until);
        std::lock_guard<std::mutex> lock(m_injectedMutex);
        if (m_injected.empty())
        {
            break;
        }
    } while (!m_stop && !sim_stopped(m_sim));
}

bool
RnicSimulatorImpl::IsFinished() const
{
    return m_stop || sim_next_ps(m_sim) == SIM_NEVER_PS;
}

void
RnicSimulatorImpl::Stop()
{
    NS_LOG_FUNCTION(this);
    m_stop = true;
    sim_stop(m_sim);
}

void
RnicSimulatorImpl::Stop(const Time& delay)
{
    NS_LOG_FUNCTION(this << delay);
    Simulator::Schedule(delay, &Simulator::Stop);
}

EventId
RnicSimulatorImpl::Schedule(const Time& delay, EventImpl* event)
{
    NS_ASSERT_MSG(m_mainThread == std::this_thread::get_id(), "Simulator::Schedule is not thread-safe");
    NS_ASSERT_MSG(!delay.IsStrictlyNegative(), "negative delay " << delay);
    auto ts = (uint64_t)sim_now(m_sim) + (uint64_t)delay.GetTimeStep();
    Slot* slot = Insert(GetContext(), ts, event);
    return EventId(event, ts, slot->context, slot->position + EventId::UID::VALID);
}

void
RnicSimulatorImpl::ScheduleWithContext(uint32_t context, const Time& delay, EventImpl* event)
{
    if (m_mainThread == std::this_thread::get_id())
    {
        Insert(context, (uint64_t)sim_now(m_sim) + (uint64_t)delay.GetTimeStep(), event);
        return;
    }
    std::lock_guard<std::mutex> lock(m_injectedMutex);
    m_injected.push_back({context, (uint64_t)delay.GetTimeStep(), event});
    sim_interrupt(m_sim, true);
}

EventId
RnicSimulatorImpl::ScheduleNow(EventImpl* event)
{
    return Schedule(Time(0), event);
}

EventId
RnicSimulatorImpl::ScheduleDestroy(EventImpl* event)
{
    EventId id(Ptr<EventImpl>(event, false), (uint64_t)sim_now(m_sim), 0xffffffff, EventId::UID::DESTROY);
    m_destroyEvents.push_back(id);
    return id;
}

void
RnicSimulatorImpl::Remove(const EventId& id)
{
    if (id.GetUid() == EventId::UID::DESTROY)
    {
        for (auto i = m_destroyEvents.begin(); i != m_destroyEvents.end(); i++)
        {
            if (*i == id)
            {
                m_destroyEvents.erase(i);
                break;
            }
        }
        return;
    }
    if (IsExpired(id))
    {
        return;
    }
    Slot* slot = Find(id);
    EventImpl* impl = slot->impl;
    sim_timer_cancel(m_sim, &slot->timer);
    slot->impl = nullptr;
    m_free.push_back(slot);
    impl->Cancel();
    impl->Unref();
}

void
RnicSimulatorImpl::Cancel(const EventId& id)
{
    if (!IsExpired(id))
    {
        id.PeekEventImpl()->Cancel();
    }
}

bool
RnicSimulatorImpl::IsExpired(const EventId& id) const
{
    if (!id.PeekEventImpl() || id.PeekEventImpl()->IsCancelled())
    {
        return true;
    }
    if (id.GetUid() == EventId::UID::DESTROY)
    {
        for (const auto& i : m_destroyEvents)
        {
            if (i == id)
            {
                return false;
            }
        }
        return true;
    }
    return !Find(id);
}

Time
RnicSimulatorImpl::Now() const
{
    return TimeStep(sim_now(m_sim));
}

Time
RnicSimulatorImpl::GetDelayLeft(const EventId& id) const
{
    return IsExpired(id) ? TimeStep(0) : TimeStep(id.GetTs() - (uint64_t)sim_now(m_sim));
}

Time
RnicSimulatorImpl::GetMaximumSimulationTime() const
{
    return TimeStep(0x7fffffffffffffffLL);
}

void
RnicSimulatorImpl::SetScheduler(ObjectFactory schedulerFactory)
{
    NS_LOG_LOGIC("keeps its own queue, not " << schedulerFactory);
}

uint32_t
RnicSimulatorImpl::GetSystemId() const
{
    return 0;
}

uint32_t
RnicSimulatorImpl::GetContext() const
{
    return sim_events_run(m_sim) == m_contextEvents ? m_context : (uint32_t)Simulator::NO_CONTEXT;
}

uint64_t
RnicSimulatorImpl::GetEventCount() const
{
    return sim_events_run(m_sim);
}

} // namespace ns3
