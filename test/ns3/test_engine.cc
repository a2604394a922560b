/* SPDX-License-Identifier: GPL-2.0-only */
/* Native, inside ns-3 and through the one-event pump: the same events, digests and clocks. */
#include "../../model/ns3/engine.h"
#include "../../model/ns3/rnic-pump.h"
#include "../../model/ns3/rnic-simulator-impl.h"
#include "../../model/sim/rng.h"
#include "checks.h"

#include "ns3/core-module.h"

#include <cstring>
#include <vector>

using namespace ns3;

namespace
{

/* Nodes on a ring that pass tokens over lanes and set timers, by a stream of each node's own. */
class Ring
{
  public:
    explicit Ring(uint64_t seed)
        : sim(sim_new(seed)),
          m_nodes(40)
    {
        static const int64_t delay[3] = {81920, 1000000, 6720};
        for (int i = 0; i < 3; i++)
        {
            m_lanes[i] = sim_lane_get(sim, delay[i]);
        }
        for (uint32_t i = 0; i < m_nodes.size(); i++)
        {
            Node* n = &m_nodes[i];
            n->ring = this;
            n->id = i;
            sim_rng_init(&n->rng, seed, i, SIM_RNG_TEST);
            sim_timer_init(&n->timer, sim_key_node(i, SIM_KIND_WAKE, 0), OnTimer, n);
            sim_at(sim, sim_rng_below(&n->rng, 3) * 1000, sim_key_node(i, SIM_KIND_RX, 0), OnToken, n, nullptr);
        }
    }

    ~Ring()
    {
        sim_free(sim);
    }

    struct sim* sim;
    bool stopAt500 = false;

  private:
    struct Node
    {
        Ring* ring;
        uint32_t id;
        struct sim_rng rng;
        struct sim_timer timer;
    };

    static void OnToken(struct sim* s, void* ctx, void*)
    {
        auto n = static_cast<Node*>(ctx);
        Ring* r = n->ring;
        Node* to = &r->m_nodes[sim_rng_below(&n->rng, (uint32_t)r->m_nodes.size())];
        sim_note(s, n->id, SIM_NOTE_DELIVER, sim_rng_u32(&n->rng));
        sim_lane_push(s, r->m_lanes[sim_rng_below(&n->rng, 3)], sim_key_node(to->id, SIM_KIND_RX, n->id), sim_fn_number(s, OnToken), to, nullptr);
        if (sim_rng_below(&n->rng, 2))
        {
            sim_timer_set(s, &n->timer, sim_now(s) + 1000 * sim_rng_below(&n->rng, 900));
        }
        if (r->stopAt500 && sim_events_run(s) >= 500)
        {
            sim_stop(s);
        }
    }

    static void OnTimer(struct sim* s, void* ctx, void*)
    {
        auto n = static_cast<Node*>(ctx);
        sim_note(s, n->id, SIM_NOTE_MARK, 0);
        if (sim_rng_below(&n->rng, 4) == 0)
        {
            sim_at(s, sim_now(s), sim_key_node(n->id, SIM_KIND_TX, 0), OnZero, n, nullptr);
        }
    }

    static void OnZero(struct sim* s, void* ctx, void*)
    {
        sim_note(s, static_cast<Node*>(ctx)->id, SIM_NOTE_COMPLETION, 1);
    }

    std::vector<Node> m_nodes;
    struct sim_lane* m_lanes[3];
};

struct Outcome
{
    uint64_t digest, events;
    int64_t now;

    bool operator==(const Outcome& o) const
    {
        return digest == o.digest && events == o.events && now == o.now;
    }
};

Outcome
Of(const Ring& r)
{
    return {sim_digest(r.sim), sim_events_run(r.sim), sim_now(r.sim)};
}

void
ThreeDriversAgree()
{
    char err[200] = "";
    for (uint64_t seed = 1; seed <= 5; seed++)
    {
        for (int stop = 0; stop < 2; stop++)
        {
            Ring native(seed), ours(seed), stock(seed);
            native.stopAt500 = ours.stopAt500 = stock.stopAt500 = stop;
            /* in parts: a driver takes up where another call left */
            for (int64_t until : {INT64_C(20000000), INT64_C(20000001), INT64_C(70123456)})
            {
                sim_run(native.sim, until);
                CHECK(rnic_ns3_run(ours.sim, until, 0, err, sizeof err) == 0);
                CHECK(rnic_ns3_run(stock.sim, until, 1, err, sizeof err) == 0);
                CHECK(Of(native).events > 400);
                CHECK(Of(native) == Of(ours));
                CHECK(Of(native) == Of(stock));
            }
        }
    }
}

void
EngineSaysWhatIsWrong()
{
    char err[200] = "";
    Ring r(1);
    CHECK(Simulator::Now().IsZero()); /* makes a simulator */
    CHECK(rnic_ns3_run(r.sim, 1000, 0, err, sizeof err) == SIM_ERR_STATE);
    CHECK(std::strstr(err, "Simulator::Destroy"));
    CHECK(rnic_ns3_stock_event_ns(10, 10) < 0);
    Simulator::Destroy();
    CHECK(rnic_ns3_run(r.sim, 1000, 0, err, sizeof err) == 0);
    CHECK(std::strcmp(rnic_ns3_version(), "3.37") == 0 || std::strchr(rnic_ns3_version(), '.'));
    double ns = rnic_ns3_stock_event_ns(1000, 20000);
    CHECK(ns > 1 && ns < 100000);
}

/* ns-3 events that touch C objects: they find the clock right and what they schedule runs in time, with either driver. */
struct Mixed
{
    std::vector<int64_t> at;
    struct sim_timer timer;
    bool clockRight = true, noContext = true;

    static void OnC(struct sim* s, void* ctx, void*)
    {
        auto m = static_cast<Mixed*>(ctx);
        m->at.push_back(sim_now(s));
        m->clockRight &= Simulator::Now().GetTimeStep() == sim_now(s);
        m->noContext &= Simulator::GetContext() == Simulator::NO_CONTEXT;
    }

    void OnNs3(int64_t setTo)
    {
        struct sim* s = RnicPump::Current();
        at.push_back(-sim_now(s));
        sim_timer_set(s, &timer, setTo);
    }

    void Go(bool ours)
    {
        GlobalValue::Bind("SimulatorImplementationType",
                          StringValue(ours ? "ns3::RnicSimulatorImpl" : "ns3::DefaultSimulatorImpl"));
        sim_timer_init(&timer, sim_key_node(0, SIM_KIND_WAKE, 0), OnC, this);
        struct sim* s = RnicPump::Current();
        sim_at(s, 10000, 0, OnC, this, nullptr);
        Simulator::ScheduleWithContext(3, TimeStep(100), &Mixed::OnNs3, this, INT64_C(200));   /* earlier than the next */
        Simulator::ScheduleWithContext(3, TimeStep(150), &Mixed::OnNs3, this, INT64_C(400));   /* later again */
        Simulator::ScheduleWithContext(3, TimeStep(300), &Mixed::OnNs3, this, INT64_C(300));   /* at once */
        Simulator::ScheduleWithContext(3, TimeStep(500), &Mixed::OnNs3, this, INT64_C(20000)); /* behind */
        Simulator::ScheduleWithContext(3, TimeStep(30000), &Mixed::OnNs3, this, SIM_NEVER_PS);
        Simulator::Run();
        CHECK(Simulator::Now().GetTimeStep() == 30000);
        Simulator::Destroy();
        GlobalValue::Bind("SimulatorImplementationType", StringValue("ns3::DefaultSimulatorImpl"));
    }
};

void
ForeignEventsMeetTheClock()
{
    const std::vector<int64_t> want = {-100, -150, -300, 300, -500, 10000, 20000, -30000};
    for (bool ours : {true, false})
    {
        Mixed m;
        m.Go(ours);
        CHECK(m.at == want);
        CHECK(m.clockRight);
        CHECK(m.noContext || !ours);
    }
}

/* At equal times ours come before foreign ones on RnicSimulatorImpl, whichever was scheduled first. */
void
OursComeFirst()
{
    Mixed m;
    GlobalValue::Bind("SimulatorImplementationType", StringValue("ns3::RnicSimulatorImpl"));
    sim_timer_init(&m.timer, 0, Mixed::OnC, &m);
    Simulator::Schedule(TimeStep(50), &Mixed::OnNs3, &m, SIM_NEVER_PS);
    sim_at(RnicPump::Current(), 50, sim_key_node(0xffffff, SIM_KIND_TX, 0xffffff), Mixed::OnC, &m, nullptr);
    Simulator::Run();
    Simulator::Destroy();
    CHECK((m.at == std::vector<int64_t>{50, -50}));
}

} // namespace

int
main()
{
    Time::SetResolution(Time::PS);
    EngineSaysWhatIsWrong();
    ThreeDriversAgree();
    ForeignEventsMeetTheClock();
    OursComeFirst();
    return ChecksDone();
}
