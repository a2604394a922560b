#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Large fat trees within their memory: 1,024 hosts in 1 GiB; with --long 8,192 hosts in 8 GiB. The limit is on address space.
set -u
cd "${RNICSIM_TOP:-$(dirname "$0")/../..}" || exit 2
rnicsim=${RNICSIM:-build/rnicsim}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
bad=0
pass() { echo "ok $1"; }
fail() { echo "not ok $1"; bad=1; }
cat > "$dir/s.xml" <<'X'
<scenario name="scale">
<topology kind="fat-tree" k="16"/>
<fabric name="f"><switch pfc="on" ecn="on"/></fabric>
<transport name="roce" kind="roce" prio="3" dscp="26" operation="write"><roce mtu="4096B"/></transport>
<transport name="iwarp" kind="iwarp" prio="3" dscp="26"/>
<transport name="tcp" kind="tcp" prio="3" dscp="26"/>
<workload kind="permutation" size="64KiB"/>
<measure duration="10ms" drain="1s"/>
</scenario>
X
scale() { # K HOSTS KIB ARGS...
    k=$1; hosts=$2; kib=$3; shift 3
    start=$(date +%s)
    ( ulimit -v "$kib" && "$rnicsim" run "$dir/s.xml" --set topology.k="$k" --no-plots --jobs 1 --engine native --out "$dir/$k" "$@" ) > "$dir/text" 2>&1
    got=$?
    memory=$(sed -n 's/^memory a node *//p' "$dir/text" | sed 's/  */ /g')
    [ -n "$memory" ] && pass "memory a node, RoCE, iWARP, TCP: $memory" || { tail -n 5 "$dir/text"; fail "memory a node is not told"; }
    n=$(grep -c '"unfinished": 0, "failed": 0' "$dir/$k/summary.json")
    audits=$(grep -c '"audit": "ok"' "$dir/$k/summary.json")
    [ $got = 0 ] && [ "$n" = 3 ] && [ "$audits" = 3 ] && pass "$hosts hosts in $((kib / 1048576)) GiB, $(($(date +%s) - start)) s" || fail "$hosts hosts: status $got, $n of 3 ended, $audits audits"
}
scale 16 1024 1048576
[ -z "${RNICSIM_TEST_LONG:-}" ] || scale 32 8192 8388608
exit $bad
