#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The HPCC family's files run as they are, by the command and from a scenario, with the same digest; faults have file and line.
set -u
cd "${RNICSIM_TOP:-$(dirname "$0")/../..}" || exit 2
rnicsim=${RNICSIM:-build/rnicsim}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
bad=0
pass() { echo "ok $1"; }
fail() { echo "not ok $1"; bad=1; }
refused() { # NAME TEXT COMMAND...
    name=$1; text=$2; shift 2
    "$@" > "$dir/out" 2>&1
    got=$?
    if [ $got = 2 ] && grep -qF -- "$text" "$dir/out"; then pass "$name"; else sed 's/^/    /' "$dir/out" | head -n 5; fail "$name: status $got, \"$text\""; fi
}
digests() { sed -n 's/.*"digest": "\([0-9a-f]*\)".*/\1/p' "$1/summary.json"; }

# Six hosts on two switches; ids as such files have them, switches last.
cat > "$dir/topology.txt" <<'T'
8 2 7
6 7
0 6 100Gbps 1000ns 0.000000
1 6 100Gbps 1000ns 0.000000
2 6 100Gbps 0.001ms 0
3 7 100Gbps 1us 0
4 7 25Gbps 1us 0
5 7 100Gbps 1us 0
6 7 100Gbps 1us 0
T
printf '5\n0 3 3 100 100000 2.000000000\n1 3 3 100 50000 2.000001\n2 4 3 100 20000 2.0000015\n5 0 3 100 1000 2.000002\n0 3 3 100 3000 2.00001\n' > "$dir/flow.txt"
printf '2\n0 7\n' > "$dir/trace.txt"
"$rnicsim" hpcc "$dir/topology.txt" "$dir/flow.txt" --engine native --no-plots --quiet --out "$dir/a" && pass 'topology and flows run' || fail 'topology and flows run'
"$rnicsim" hpcc "$dir/topology.txt" "$dir/flow.txt" "$dir/trace.txt" --engine native --no-plots --quiet --out "$dir/b" && pass 'a trace file too' || fail 'a trace file too'
n=$(sed 1d "$dir/a/roce-pfc-ecn/messages.csv" | grep -c ',ok,ok,1,')
[ "$n" = 5 ] && pass 'every flow ends and is measured' || fail "$n of 5 flows ended"
# Node 0 is 10.0.0.1. It sends 98 + 3 packets of 1 KiB at most and acknowledges; node 7 forwards to 3, 4 and 5, and back.
printf '1\n0\n' > "$dir/zero.txt"
"$rnicsim" hpcc "$dir/topology.txt" "$dir/flow.txt" "$dir/zero.txt" --engine native --no-plots --quiet --out "$dir/z" || fail 'a trace of one node'
"$rnicsim" dissect "$dir/z/roce-pfc-ecn/capture.pcap" > "$dir/frames" || fail 'the capture of one node'
data=$(grep -c 'WRITE' "$dir/frames")
other=$(grep ' > ' "$dir/frames" | grep -vc '10\.0\.0\.1:[0-9]* >')
[ "$data" = 101 ] && [ "$other" = 0 ] && pass 'a trace holds what its node sends' || fail "a trace of node 0: $data data packets, $other of others"
"$rnicsim" dissect "$dir/b/roce-pfc-ecn/capture.pcap" > "$dir/frames" || fail 'the capture of two nodes'
forwarded=$(grep -c '> 10\.0\.0\.[456]:.*WRITE' "$dir/frames")
[ "$forwarded" -ge $((98 + 49 + 20 + 3)) ] && pass 'a trace holds what a switch forwards' || fail "node 7 forwarded $forwarded data packets"

# As the files that come with that simulator: more than is announced, prose at the end, and a trace of nodes that are not there.
{ cat "$dir/topology.txt"; printf '9 67 25Gbps 0.001ms 0\n\nFirst line: total node #, switch node #, link #\n'; } > "$dir/topology2.txt"
{ cat "$dir/flow.txt"; printf '7 1 3 100 5000000 2\n\nFirst line: # of flows\n...\n'; } > "$dir/flow2.txt"
printf '12\n0 1 2 3 4 5 6 7 8 9 10 347\n\nFirst line: tracing node #\nNode IDs...\n' > "$dir/trace2.txt"
"$rnicsim" hpcc "$dir/topology2.txt" "$dir/flow2.txt" "$dir/trace2.txt" --engine native --no-plots --out "$dir/u" > "$dir/out" 2>&1 || fail 'files with remarks'
grep -qF 'topology2.txt:10: from here on' "$dir/out" && grep -qF 'flow2.txt:7: from here on' "$dir/out" && grep -qF 'trace2.txt: 4 nodes' "$dir/out" &&
    pass 'what is not announced is passed over, and told' || fail 'remarks are not told'
[ "$(digests "$dir/u")" = "$(digests "$dir/a")" ] && pass 'and changes nothing' || fail 'remarks change the run'

cat > "$dir/same.xml" <<'X'
<scenario name="same">
<topology file="topology.txt"/>
<fabric name="f"><switch buffer="32MB" pfc="on" lossless-prios="8" pfc-alpha="0.125" pfc-xon-offset="3kB" ecn="on" ecn-kmin="400kB" ecn-kmax="1600kB" ecn-pmax="20%"/></fabric>
<transport name="r" kind="roce" operation="write" prio="3" dscp="26" connections="per-message"><host profile="ideal"/><roce mtu="1024B"/></transport>
<workload kind="flows" from-first="yes" file="flow.txt"/>
<measure duration="11us" drain="10s"/>
</scenario>
X
"$rnicsim" run "$dir/same.xml" --engine native --no-plots --quiet --out "$dir/c" || fail 'the files in a scenario'
[ -n "$(digests "$dir/a")" ] && [ "$(digests "$dir/a")" = "$(digests "$dir/c")" ] && [ "$(digests "$dir/a")" = "$(digests "$dir/b")" ] &&
    pass 'one digest by command, with a trace and in a scenario' || fail "digests $(digests "$dir/a") $(digests "$dir/b") $(digests "$dir/c")"

# GraphML of the same network, its nodes in another order: the same latencies.
python3 - "$dir" <<'P'
import sys
d = sys.argv[1]
t = open(d + '/topology.txt').read().split()
links = [t[5 + 5 * i:10 + 5 * i] for i in range(7)]
out = ["<graphml><key id='t' attr.name='type'><default>host</default></key><key id='r' attr.name='rate'/><key id='d' attr.name='delay'/><graph edgedefault='undirected'>"]
out += ["<node id='%d'><data key='t'>switch</data></node>" % i for i in (6, 7)] + ["<node id='%d'/>" % i for i in range(6)]
out += ["<edge source='%s' target='%s'><data key='r'>%s</data><data key='d'>%s</data></edge>" % tuple(l[:4]) for l in links]
open(d + '/net.graphml', 'w').write("\n".join(out) + "\n</graph></graphml>\n")
P
"$rnicsim" hpcc "$dir/net.graphml" "$dir/flow.txt" --engine native --no-plots --quiet --out "$dir/g" || fail 'GraphML'
[ "$(digests "$dir/g")" = "$(digests "$dir/a")" ] && pass 'GraphML gives the same run' || fail 'GraphML gives another run'

sed '5s/100Gbps/100/' "$dir/topology.txt" > "$dir/bad.txt"
refused 'a rate without its unit' "bad.txt:5: link 3: rate: \"100\" has no unit" "$rnicsim" hpcc "$dir/bad.txt" "$dir/flow.txt"
printf '2\n0 3 3 100 100000 2\n' > "$dir/short.txt"
refused 'fewer flows than announced' "short.txt:3: the file ends in flow 2 of 2" "$rnicsim" hpcc "$dir/topology.txt" "$dir/short.txt"
printf '1\n0 6 3 100 100000 2\n' > "$dir/switch.txt"
refused 'a flow to a switch' "switch.txt:2: destination: \"6\" is a switch" "$rnicsim" hpcc "$dir/topology.txt" "$dir/switch.txt"
printf '1\nx\n' > "$dir/t.txt"
refused 'a trace of no node' "t.txt:2: no host is called \"x\"" "$rnicsim" hpcc "$dir/topology.txt" "$dir/flow.txt" "$dir/t.txt" --out "$dir/no"
[ ! -e "$dir/no" ] && pass 'nothing half-written' || fail 'something written'
sed -i 's/topology.txt/bad.txt/' "$dir/same.xml"
refused 'the same from a scenario' "bad.txt:5: link 3" "$rnicsim" check "$dir/same.xml"
sed -i 's/file="bad.txt"/kind="ring" file="bad.txt"/' "$dir/same.xml"
refused 'a file of another kind' "same.xml:2: a topology from a file is of kind" "$rnicsim" check "$dir/same.xml"
refused 'no such file' "nothere.txt: cannot be read" "$rnicsim" hpcc "$dir/nothere.txt" "$dir/flow.txt"
exit $bad
