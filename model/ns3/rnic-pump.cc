/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic-pump.h"

#include "rnic-simulator-impl.h"

#include "ns3/abort.h"
#include "ns3/log.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RnicPump");
NS_OBJECT_ENSURE_REGISTERED(RnicPump);

TypeId
RnicPump::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::RnicPump").SetParent<Object>().SetGroupName("Rnic").AddConstructor<RnicPump>();
    return tid;
}

RnicPump::RnicPump()
    : m_sim(nullptr),
      m_own(false),
      m_until(SIM_NEVER_PS),
      m_base(0),
      m_armed(SIM_NEVER_PS)
{
}

RnicPump::~RnicPump()
{
    Detach();
}

void
RnicPump::DoDispose()
{
    Detach();
    Object::DoDispose();
}

void
RnicPump::Start(struct sim* s, bool own, int64_t untilPs)
{
    NS_ABORT_MSG_UNLESS(Time::GetResolution() == Time::PS,
                        "RDMA models count in picoseconds: call Time::SetResolution(Time::PS) first of all");
    m_sim = s;
    m_own = own;
    m_until = untilPs;
    m_base = sim_now(s) - Simulator::Now().GetTimeStep();
    sim_on_earlier(s, OnEarlier, this);
    Arm(sim_next_ps(s));
}

void
RnicPump::Detach()
{
    if (!m_sim)
    {
        return;
    }
    sim_on_earlier(m_sim, nullptr, nullptr);
    if (m_own)
    {
        sim_free(m_sim);
    }
    m_sim = nullptr;
}

struct sim*
RnicPump::GetSim() const
{
    return m_sim;
}

void
RnicPump::Sync()
{
    int64_t now = m_base + Simulator::Now().GetTimeStep();
    if (now > sim_now(m_sim))
    {
        sim_advance(m_sim, now);
    }
}

void
RnicPump::OnEarlier(void* ctx, int64_t nextPs)
{
    static_cast<RnicPump*>(ctx)->Arm(nextPs);
}

/* A removed event stays cancelled, so each arming takes a new one. */
void
RnicPump::Arm(int64_t nextPs)
{
    if (nextPs == SIM_NEVER_PS || nextPs > m_until || nextPs >= m_armed)
    {
        return;
    }
    if (m_armed != SIM_NEVER_PS)
    {
        m_event.Remove();
    }
    m_armed = nextPs;
    m_event = Simulator::Schedule(TimeStep(nextPs - m_base) - Simulator::Now(), &RnicPump::Fire, this);
}

/* Everything due now runs in one ns-3 event: ours come first at equal times. A timer that was moved later leaves
 * the event too early; then nothing is due and it is armed again. */
void
RnicPump::Fire()
{
    int64_t now = m_armed;

    m_armed = SIM_NEVER_PS;
    if (sim_next_ps(m_sim) <= now)
    {
        sim_run(m_sim, now);
    }
    if (sim_stopped(m_sim))
    {
        Simulator::Stop();
    }
    else
    {
        Sync();
    }
    Arm(sim_next_ps(m_sim));
}

struct sim*
RnicPump::Current()
{
    Ptr<SimulatorImpl> impl = Simulator::GetImplementation();
    if (auto ours = DynamicCast<RnicSimulatorImpl>(impl))
    {
        return ours->GetSim();
    }
    Ptr<RnicPump> pump = impl->GetObject<RnicPump>();
    if (!pump)
    {
        struct sim* s = sim_new((uint64_t)RngSeedManager::GetRun() << 32 | RngSeedManager::GetSeed());
        NS_ABORT_MSG_UNLESS(s, "out of memory for a simulation");
        sim_advance(s, Simulator::Now().GetTimeStep());
        pump = CreateObject<RnicPump>();
        impl->AggregateObject(pump);
        pump->Start(s, true, SIM_NEVER_PS);
    }
    pump->Sync();
    return pump->m_sim;
}

} // namespace ns3
