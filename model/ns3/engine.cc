/* SPDX-License-Identifier: GPL-2.0-only */
#include "engine.h"

#include "rnic-pump.h"
#include "rnic-simulator-impl.h"

#include "ns3/default-simulator-impl.h"
#include "ns3/log.h"
#include "ns3/map-scheduler.h"
#include "ns3/simulator.h"
#include "ns3/version-defines.h"

#include <chrono>
#include <cstdio>
#include <exception>
#include <vector>

using namespace ns3;

namespace
{

/* Simulator's singleton sets the log's time printer when it is made and clears it in Destroy(): the only public
 * sign of whether one exists. */
bool
SimulatorInUse()
{
    return LogGetTimePrinter() != nullptr;
}

/* Destroys the simulator however its scope is left. */
struct SimulatorScope
{
    ~SimulatorScope()
    {
        Simulator::Destroy();
    }
};

void
RunOnOurs(struct sim* s, int64_t until_ps)
{
    Ptr<RnicSimulatorImpl> impl = CreateObject<RnicSimulatorImpl>();
    impl->SetSim(s);
    impl->SetUntil(until_ps);
    Simulator::SetImplementation(impl);
    SimulatorScope scope;
    Simulator::Run();
}

void
RunOnStock(struct sim* s, int64_t until_ps)
{
    SimulatorScope scope;
    Ptr<RnicPump> pump = CreateObject<RnicPump>();
    pump->Start(s, false, until_ps);
    Simulator::Run();
    if (until_ps != SIM_NEVER_PS && !sim_stopped(s) && until_ps > sim_now(s))
    {
        sim_advance(s, until_ps);
    }
    pump->Detach();
}

/* Delays of the stock benchmark, 0.1 to 1.1 us, by a xorshift generator so that drawing costs next to nothing. */
class StockLoad
{
  public:
    void Fire()
    {
        m_state ^= m_state << 13;
        m_state ^= m_state >> 7;
        m_state ^= m_state << 17;
        m_left--;
        if (m_left < 0)
        {
            Simulator::Stop();
            return;
        }
        Simulator::Schedule(PicoSeconds(100000 + (int64_t)(m_state % 1000000)), &StockLoad::Fire, this);
    }

    long m_left = 0;

  private:
    uint64_t m_state = 88172645463325252ULL;
};

bool
UsePicoseconds(char* err, size_t errlen)
{
    if (Time::GetResolution() == Time::PS)
    {
        return true;
    }
    if (Time::GetResolution() != Time::NS)
    {
        std::snprintf(err, errlen, "ns-3's time resolution was set to something else than ps; it can be set only once");
        return false;
    }
    Time::SetResolution(Time::PS);
    return true;
}

} // namespace

extern "C" int
rnic_ns3_run(struct sim* s, int64_t until_ps, int stock, char* err, size_t errlen)
{
    if (SimulatorInUse())
    {
        std::snprintf(err, errlen, "ns-3's simulator is in use in this process: call Simulator::Destroy first");
        return SIM_ERR_STATE;
    }
    if (!UsePicoseconds(err, errlen))
    {
        return SIM_ERR_STATE;
    }
    try
    {
        stock ? RunOnStock(s, until_ps) : RunOnOurs(s, until_ps);
    }
    catch (const std::exception& e)
    {
        std::snprintf(err, errlen, "ns-3 failed: %s", e.what());
        return SIM_ERR_STATE;
    }
    return SIM_OK;
}

extern "C" const char*
rnic_ns3_version(void)
{
#define RNIC_TEXT_(x) #x
#define RNIC_TEXT(x) RNIC_TEXT_(x)
    return RNIC_TEXT(NS3_VERSION_MAJOR) "." RNIC_TEXT(NS3_VERSION_MINOR);
}

extern "C" double
rnic_ns3_stock_event_ns(unsigned pending, unsigned long events)
{
    char err[128];
    if (SimulatorInUse() || pending == 0 || events == 0 || !UsePicoseconds(err, sizeof err))
    {
        return -1;
    }
    Simulator::SetImplementation(CreateObject<DefaultSimulatorImpl>());
    SimulatorScope scope;
    ObjectFactory scheduler("ns3::MapScheduler");
    Simulator::SetScheduler(scheduler);
    StockLoad load;
    load.m_left = (long)pending * 2; /* until the queue is in its steady state */
    for (unsigned i = 0; i < pending; i++)
    {
        Simulator::Schedule(PicoSeconds(i), &StockLoad::Fire, &load);
    }
    Simulator::Run();
    load.m_left = (long)events;
    uint64_t before = Simulator::GetEventCount();
    auto start = std::chrono::steady_clock::now();
    Simulator::Run();
    std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
    return spent.count() / (double)(Simulator::GetEventCount() - before);
}
