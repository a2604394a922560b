/* SPDX-License-Identifier: GPL-2.0-only */
/* Our TCP engine beside ns-3's TcpSocketBase in the same dumbbell. Gated: NewReno's throughput, and CUBIC's under independent losses,
 * within 5 %; DCTCP's alpha by the band of ns-3's own validation. Windows are written side by side and plotted; doc/tcp.md explains the
 * differences by clause.
 * Files: out/tcp-ns3 below the directory it runs in, or the one named as first argument. */
#include "checks.h"
#include "dumbbell-ns3.h"
#include "dumbbell-ours.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sys/stat.h>

namespace
{

std::string g_dir = "out/tcp-ns3";

/* What is not gated, or lasts, is left to `test --long`. */
bool
Long()
{
    return std::getenv("RNICSIM_TEST_LONG") != nullptr;
}

void
Write(const std::string& file, const std::vector<std::pair<double, double>>& trace)
{
    std::ofstream out(g_dir + "/" + file);
    double last = -1;
    for (const auto& s : trace)
    {
        if (s.first - last >= 0.0005 || &s == &trace.back())
        {
            out << s.first << " " << s.second << "\n";
            last = s.first;
        }
    }
}

void
Plot(const Dumbbell& d)
{
    std::string gp = g_dir + "/" + d.name + ".gp";
    std::ofstream out(gp);
    out << "set terminal svg size 900,500 dynamic background 'white'\nset output '" << d.name << ".svg'\nset xlabel 'time (s)'\nset ylabel 'congestion window (segments)'\n"
        << "set title '" << d.name << "'\nset grid\nplot '" << d.name << "-ns3.dat' with steps lc rgb '#D55E00' title 'ns-3 TcpSocketBase', \\\n     '" << d.name
        << "-ours.dat' with steps lc rgb '#0072B2' title 'rnicsim'\n";
    out.close();
    if (std::system(("cd '" + g_dir + "' && gnuplot '" + d.name + ".gp' >/dev/null 2>&1").c_str()) != 0)
    {
        std::printf("%s: no plot (gnuplot is missing); the traces are there\n", d.name.c_str());
    }
}

std::pair<DumbbellResult, DumbbellResult>
Both(const Dumbbell& d)
{
    DumbbellResult a = RunNs3(d), b = RunOurs(d);
    Write(d.name + "-ns3.dat", a.cwnd);
    Write(d.name + "-ours.dat", b.cwnd);
    if (d.cc == "dctcp")
    {
        Write(d.name + "-alpha-ns3.dat", a.alpha);
        Write(d.name + "-alpha-ours.dat", b.alpha);
    }
    Plot(d);
    std::printf("%-22s ns-3 %8.3f Mb/s, ours %8.3f Mb/s (%+.1f %%); lost %llu and %llu, marked %llu and %llu, our timeouts %llu\n",
                d.name.c_str(),
                a.throughput_bps / 1e6,
                b.throughput_bps / 1e6,
                (b.throughput_bps / a.throughput_bps - 1) * 100,
                (unsigned long long)a.lost,
                (unsigned long long)b.lost,
                (unsigned long long)a.marked,
                (unsigned long long)b.marked,
                (unsigned long long)b.timeouts);
    return {a, b};
}

Dumbbell
Base(const char* name, const char* cc)
{
    Dumbbell d = {};
    d.name = name;
    d.cc = cc;
    d.queue_packets = 1000;
    d.min_rto_s = 0.2;
    d.delayed_acks = 2;
    d.ns3_type = d.cc == "reno" ? "ns3::TcpNewReno" : d.cc == "cubic" ? "ns3::TcpCubic" : "ns3::TcpDctcp";
    return d;
}

/* (2) of the issue: the same loss pattern, recovery without RACK-TLP, PRR and pacing on either side. */
void
NewReno()
{
    struct
    {
        const char* name;
        double rate, access, rtt;
        uint32_t queue;
        uint64_t lose;
        double stop, from, rto;
        uint32_t delayed_acks;
        const char* type;
        bool gated;
    } t[] = {
        {"newreno-lossy-20ms", 100e6, 1e9, 20e-3, 1000, 1000, 32, 2, 0.2, 1, "ns3::TcpNewReno", true},
        {"newreno-lossy-1ms", 1e9, 1e10, 1e-3, 1000, 1000, 2.2, 0.2, 5e-3, 1, "ns3::TcpNewReno", true},
        {"newreno-tail-drop", 50e6, 1e9, 20e-3, 60, 0, 12, 2, 0.2, 1, "ns3::TcpNewReno", true},
        /* Not gated: TcpLinuxReno halves the window, ours what is in flight (RFC 5681 equation 4). */
        {"linux-reno-delayed", 100e6, 1e9, 20e-3, 1000, 1000, 22, 2, 0.2, 2, "ns3::TcpLinuxReno", false},
        /* TcpNewReno counts acknowledgements (RFC 5681 equation 3), ours bytes (RFC 3465): half as fast where one covers two segments. */
        {"newreno-delayed", 100e6, 1e9, 20e-3, 1000, 1000, 22, 2, 0.2, 2, "ns3::TcpNewReno", false},
    };
    for (const auto& r : t)
    {
        if (!r.gated && !Long())
        {
            continue;
        }
        Dumbbell d = Base(r.name, "reno");
        d.rate_bps = r.rate;
        d.access_bps = r.access;
        d.rtt_s = r.rtt;
        d.queue_packets = r.queue;
        d.lose_every = r.lose;
        d.stop_s = r.stop;
        d.from_s = r.from;
        d.min_rto_s = r.rto;
        d.delayed_acks = r.delayed_acks;
        d.ns3_type = r.type;
        auto x = Both(d);
        CHECK(!r.gated || std::fabs(x.second.throughput_bps / x.first.throughput_bps - 1) <= 0.05);
    }
}

double
Peak(const DumbbellResult& r, double from, double to, double* at)
{
    double best = 0;
    for (const auto& s : r.cwnd)
    {
        if (s.first >= from && s.first < to && s.second > best)
        {
            best = s.second;
            *at = s.first;
        }
    }
    return best;
}

double
Least(const DumbbellResult& r, double from, double to)
{
    double least = 1e9;
    for (const auto& s : r.cwnd)
    {
        if (s.first >= from && s.first < to)
        {
            least = std::min(least, s.second);
        }
    }
    return least;
}

/* tcp-validation's cubic-50ms-no-ecn: 50 Mb/s, 50 ms, CoDel. Slow start overshoots and CoDel drops once a round trip; each time .7 of the
 * window is left on either side. */
void
CubicCodel()
{
    Dumbbell d = Base("cubic-50ms", "cubic");
    d.rate_bps = 50e6;
    d.access_bps = 1e9;
    d.rtt_s = 50e-3;
    d.codel = true;
    d.prr = true;
    d.start_s = 5;
    d.stop_s = Long() ? 20 : 10;
    d.from_s = 8;
    auto x = Both(d);
    const DumbbellResult* r[] = {&x.first, &x.second};
    double peak[2], least[2];
    for (int i = 0; i < 2; i++)
    {
        double at = 0;
        peak[i] = Peak(*r[i], 5, 8, &at);
        least[i] = Least(*r[i], at, 6.3);
        std::printf("  %s: peak %.0f segments at %.3f s (published 511 at 5.459), then %.0f by 6.3 s (173 at 5.803)\n",
                    i ? "ours" : "ns-3",
                    peak[i],
                    at,
                    least[i]);
    }
    CHECK(std::fabs(peak[1] / peak[0] - 1) <= 0.02);
    CHECK(std::fabs(least[1] / least[0] - 1) <= 0.02);
}

/* Losses at 1 in 10,000 from the 500th packet on, so that slow start does not overshoot the queue. */
void
CubicLossy(const char* name, bool iid)
{
    Dumbbell d = Base(name, "cubic");
    d.rate_bps = 200e6;
    d.access_bps = 1e9;
    d.rtt_s = 100e-3;
    d.lose_every = 10000;
    d.lose_iid = iid;
    d.lose_from = iid ? 10232 : 9500;
    d.queue_packets = 3000;
    d.prr = true;
    d.stop_s = iid ? 120 : 80;
    d.from_s = iid ? 20 : 40;
    auto x = Both(d);
    if (iid)
    {
        CHECK(std::fabs(x.second.throughput_bps / x.first.throughput_bps - 1) <= 0.05);
        return;
    }
    /* RFC 9438 5.1: the average window is 1.054 RTT^(3/4) / p^(3/4) segments, without fast convergence's further give. */
    double law = 1.054 * std::pow(0.1, 0.75) / std::pow(1e-4, 0.75) * DUMBBELL_SEGMENT * 8 / 0.1;
    std::printf("  RFC 9438 5.1 says %.3f Mb/s\n", law / 1e6);
    CHECK(std::fabs(x.second.throughput_bps / law - 1) <= 0.1);
}

/* 50 Mb/s, 10 ms, what has waited over 1 ms in CoDel is marked. */
Dumbbell
DctcpCodel(const char* name)
{
    Dumbbell d = Base(name, "dctcp");
    d.rate_bps = 50e6;
    d.access_bps = 1e9;
    d.rtt_s = 10e-3;
    d.codel = true;
    d.mark_above_s = 1e-3;
    d.prr = true;
    d.start_s = 5;
    d.stop_s = 15;
    d.from_s = 7;
    return d;
}

struct Alpha
{
    double least = 1, mean = 0, most = 0;
};

Alpha
AlphaOf(const DumbbellResult& r, const char* whose)
{
    Alpha a;
    size_t n = 0;
    for (const auto& s : r.alpha)
    {
        if (s.first > 7)
        {
            a.least = std::min(a.least, s.second);
            a.most = std::max(a.most, s.second);
            a.mean += s.second;
            n++;
        }
    }
    CHECK(n > 0);
    a.mean /= n ? (double)n : 1;
    double slow = *std::min_element(r.mbps.begin(), r.mbps.end()), fast = *std::max_element(r.mbps.begin(), r.mbps.end());
    std::printf("  %s: alpha %.4f to %.4f, mean %.4f; %.2f to %.2f Mb/s in 200 ms\n", whose, a.least, a.most, a.mean, slow, fast);
    CHECK(slow >= 48 && fast <= 49); /* published */
    return a;
}

/* tcp-validation's dctcp-10ms, with its device: three packets at most, of which dynamic queue limits that hold for 1 ms let in fewer
 * now and then. Its text says alpha .06 to .085, its check .055 to .09. Run as it is under ns-3 3.37 it gives .0562 to .0877. */
void
Dctcp()
{
    Dumbbell d = DctcpCodel("dctcp-10ms");
    d.device_hold_s = 1e-3;
    auto x = Both(d);
    Alpha theirs = AlphaOf(x.first, "ns-3"), ours = AlphaOf(x.second, "ours");
    CHECK(ours.least >= .055 && ours.most <= .09);
    CHECK(ours.mean >= .06 && ours.mean <= .085);
    CHECK(std::fabs(ours.mean / theirs.mean - 1) <= .15);
}

/* Three packets always: the threshold is a step, and alpha nearly twice as large on both sides. */
void
DctcpStep()
{
    auto x = Both(DctcpCodel("dctcp-10ms-step"));
    Alpha theirs = AlphaOf(x.first, "ns-3"), ours = AlphaOf(x.second, "ours");
    CHECK(std::fabs(ours.mean / theirs.mean - 1) <= .15);
}

} // namespace

int
main(int argc, char** argv)
{
    ns3::Time::SetResolution(ns3::Time::PS);
    if (argc > 1)
    {
        g_dir = argv[1];
    }
    mkdir("out", 0777);
    mkdir(g_dir.c_str(), 0777);
    NewReno();
    CubicCodel();
    Dctcp();
    if (Long())
    {
        CubicLossy("cubic-lossy-100ms", false);
        CubicLossy("cubic-iid-100ms", true);
        DctcpStep();
    }
    return ChecksDone();
}
