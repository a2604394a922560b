/* SPDX-License-Identifier: GPL-2.0-only */
/* RnicSimulatorImpl does for ns-3 events exactly what DefaultSimulatorImpl does: the same random program on both leaves the
 * same record of times, contexts, identities and counts. */
#include "../../model/ns3/rnic-simulator-impl.h"
#include "checks.h"

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

#include <cstdlib>
#include <thread>
#include <vector>

using namespace ns3;

namespace
{

struct Random
{
    uint64_t state;

    uint32_t Below(uint32_t n)
    {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return (uint32_t)((state >> 32) % n);
    }
};

/* A program of random calls, made from outside and from within its events. */
class Program
{
  public:
    explicit Program(uint64_t seed)
        : m_random{(seed + 1) * 0x9e3779b97f4a7c15ULL | 1}
    {
    }

    /* The record's lines, so that the first difference can be named. */
    std::vector<uint64_t> Go()
    {
        for (int round = 0; round < 4; round++)
        {
            m_budget = 150;
            for (int i = 0; i < 12; i++)
            {
                Act();
            }
            if (m_random.Below(2))
            {
                Simulator::Stop(TimeStep(m_random.Below(60)));
            }
            Simulator::Run();
            Note(1000, Simulator::IsFinished());
            Note(1001, Simulator::GetEventCount());
            Observe();
        }
        Simulator::Destroy();
        Note(1002, 0);
        return m_record;
    }

  private:
    void Note(uint64_t what, uint64_t value)
    {
        m_record.push_back(what);
        m_record.push_back(value);
    }

    void Observe()
    {
        Note(1, (uint64_t)Simulator::Now().GetTimeStep());
        Note(2, Simulator::GetContext());
        for (const auto& id : m_ids)
        {
            m_record.push_back((uint64_t)id.IsExpired() << 63 | (uint64_t)Simulator::GetDelayLeft(id).GetTimeStep());
        }
    }

    void Fired(uint32_t name)
    {
        Note(3, name);
        Observe();
        for (uint32_t n = m_random.Below(4); n > 0; n--)
        {
            Act();
        }
    }

    void Last(uint32_t name)
    {
        Note(4, name);
        Note(5, (uint64_t)Simulator::Now().GetTimeStep());
    }

    void Keep(const EventId& id)
    {
        if (m_ids.size() < 24)
        {
            m_ids.push_back(id);
        }
        else
        {
            m_ids[m_random.Below(24)] = id;
        }
        Note(6, id.GetTs());
        Note(7, id.GetContext());
    }

    void Act()
    {
        if (m_budget-- <= 0)
        {
            return;
        }
        uint32_t name = ++m_name;
        Time delay = TimeStep(m_random.Below(20));
        switch (m_random.Below(14))
        {
        case 0:
        case 1:
        case 2:
            Keep(Simulator::Schedule(delay, &Program::Fired, this, name));
            break;
        case 3:
            Keep(Simulator::ScheduleNow(&Program::Fired, this, name));
            break;
        case 4:
            Simulator::ScheduleWithContext(m_random.Below(5), delay, &Program::Fired, this, name);
            break;
        case 5:
            Keep(Simulator::ScheduleDestroy(&Program::Last, this, name));
            break;
        case 6: {
            Ptr<EventImpl> twice(MakeEvent(&Program::Fired, this, name), false);
            Keep(Simulator::Schedule(delay, twice));
            Keep(Simulator::Schedule(TimeStep(m_random.Below(20)), twice));
            break;
        }
        case 12:
        case 13:
            /* one event again and again, often at its own time */
            if (!m_again || m_again->IsCancelled())
            {
                m_again = Ptr<EventImpl>(MakeEvent(&Program::Fired, this, name), false);
            }
            Keep(Simulator::Schedule(TimeStep(m_random.Below(3)), m_again));
            break;
        case 7:
        case 8:
            if (!m_ids.empty())
            {
                Simulator::Cancel(m_ids[m_random.Below(m_ids.size())]);
            }
            break;
        case 9:
        case 10:
            if (!m_ids.empty())
            {
                Simulator::Remove(m_ids[m_random.Below(m_ids.size())]);
            }
            break;
        default:
            if (m_random.Below(12) == 0)
            {
                Simulator::Stop();
            }
            Simulator::Remove(EventId());
            Note(8, Simulator::IsExpired(EventId()));
        }
    }

    Random m_random;
    int m_budget = 0;
    uint32_t m_name = 0;
    std::vector<EventId> m_ids;
    Ptr<EventImpl> m_again;
    std::vector<uint64_t> m_record;
};

void
Use(bool ours)
{
    /* Objects that outlive Destroy() may have made a new simulator when they died. */
    Simulator::Destroy();
    Ptr<SimulatorImpl> impl;
    if (ours)
    {
        impl = CreateObject<RnicSimulatorImpl>();
    }
    else
    {
        impl = CreateObject<DefaultSimulatorImpl>();
    }
    Simulator::SetImplementation(impl);
    if (!ours)
    {
        Simulator::SetScheduler(ObjectFactory("ns3::MapScheduler"));
    }
}

void
RandomProgramsAgree()
{
    uint64_t seeds = std::getenv("RNICSIM_TEST_LONG") ? 20000 : 1000;
    size_t longest = 0;
    for (uint64_t seed = 0; seed < seeds; seed++)
    {
        Use(false);
        std::vector<uint64_t> theirs = Program(seed).Go();
        Use(true);
        std::vector<uint64_t> ours = Program(seed).Go();
        longest = std::max(longest, theirs.size());
        if (ours != theirs)
        {
            size_t i = 0;
            while (i < ours.size() && i < theirs.size() && ours[i] == theirs[i])
            {
                i++;
            }
            std::printf("seed %llu differs at %zu of %zu and %zu\n", (unsigned long long)seed, i, ours.size(), theirs.size());
            CHECK(ours == theirs);
            return;
        }
    }
    CHECK(longest > 1000);
}

/* TCP over a lossy dumbbell: the same packets at the same times, several runs in one process. */
struct Dumbbell
{
    uint64_t hash = 0xcbf29ce484222325ULL, events = 0;
    int64_t end = 0;

    void Rx(Ptr<const Packet> p)
    {
        hash = (hash ^ (uint64_t)Simulator::Now().GetTimeStep() ^ ((uint64_t)p->GetSize() << 48)) * 0x100000001b3ULL;
    }

    void Go(bool ours, uint32_t run)
    {
        Use(ours);
        RngSeedManager::SetSeed(7);
        RngSeedManager::SetRun(run);
        NodeContainer nodes(3);
        PointToPointHelper link;
        link.SetDeviceAttribute("DataRate", StringValue("20Mbps"));
        link.SetChannelAttribute("Delay", StringValue("2ms"));
        link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("20p"));
        NetDeviceContainer left = link.Install(nodes.Get(0), nodes.Get(1));
        NetDeviceContainer right = link.Install(nodes.Get(1), nodes.Get(2));
        Ptr<RateErrorModel> loss = CreateObject<RateErrorModel>();
        loss->SetRate(0.01);
        loss->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
        loss->AssignStreams(5);
        right.Get(1)->SetAttribute("ReceiveErrorModel", PointerValue(loss));
        InternetStackHelper stack;
        stack.Install(nodes);
        stack.AssignStreams(nodes, 100);
        Ipv4AddressHelper address("10.1.1.0", "255.255.255.0");
        address.Assign(left);
        address.SetBase("10.1.2.0", "255.255.255.0");
        Ipv4InterfaceContainer last = address.Assign(right);
        Ipv4GlobalRoutingHelper::PopulateRoutingTables();
        BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(last.GetAddress(1), 9));
        source.SetAttribute("MaxBytes", UintegerValue(1000000));
        source.Install(nodes.Get(0)).Start(Seconds(0));
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 9));
        sink.Install(nodes.Get(2)).Start(Seconds(0));
        right.Get(1)->TraceConnectWithoutContext("MacRx", MakeCallback(&Dumbbell::Rx, this));
        Simulator::Stop(Seconds(20));
        Simulator::Run();
        events = Simulator::GetEventCount();
        end = Simulator::Now().GetTimeStep();
        Simulator::Destroy();
        Ipv4AddressGenerator::Reset();
    }
};

void
TcpDumbbellAgrees()
{
    for (uint32_t run = 1; run <= 2; run++)
    {
        Dumbbell theirs, ours;
        theirs.Go(false, run);
        ours.Go(true, run);
        CHECK(theirs.events > 5000);
        CHECK(ours.events == theirs.events);
        CHECK(ours.hash == theirs.hash);
        CHECK(ours.end == theirs.end);
    }
}

int g_injected;

void
Inject()
{
    g_injected++;
}

void
Tick(int n, std::thread* t)
{
    if (n == 10)
    {
        *t = std::thread([] {
            for (uint32_t i = 0; i < 100; i++)
            {
                Simulator::ScheduleWithContext(i, TimeStep(1), &Inject);
            }
        });
        t->join();
    }
    if (n < 20)
    {
        Simulator::Schedule(TimeStep(3), &Tick, n + 1, t);
    }
}

void
AnotherThreadMaySchedule()
{
    std::thread t;
    g_injected = 0;
    Use(true);
    Simulator::Schedule(TimeStep(1), &Tick, 0, &t);
    Simulator::Run();
    CHECK(g_injected == 100);
    CHECK(Simulator::GetEventCount() == 121);
    Simulator::Destroy();
}

/* Chosen by its name, as a user does. */
void
IsSelectedByName()
{
    GlobalValue::Bind("SimulatorImplementationType", StringValue("ns3::RnicSimulatorImpl"));
    CHECK(DynamicCast<RnicSimulatorImpl>(Simulator::GetImplementation()));
    Simulator::Destroy();
    GlobalValue::Bind("SimulatorImplementationType", StringValue("ns3::DefaultSimulatorImpl"));
}

} // namespace

int
main()
{
    RandomProgramsAgree();
    TcpDumbbellAgrees();
    AnotherThreadMaySchedule();
    IsSelectedByName();
    return ChecksDone();
}
