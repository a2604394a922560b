#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The command as people meet it: exit statuses, one clear message for bad input, nothing half-written, Ctrl-C, engines, reproducible files.
set -u
cd "${RNICSIM_TOP:-$(dirname "$0")/../..}" || exit 2
rnicsim=${RNICSIM:-build/rnicsim}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
bad=0
pass() { echo "ok $1"; }
fail() { echo "not ok $1"; bad=1; }
# expect NAME STATUS TEXT COMMAND...: the status, and TEXT somewhere in what it prints.
expect() {
    name=$1; status=$2; text=$3; shift 3
    "$@" > "$dir/out" 2>&1
    got=$?
    if [ $got != "$status" ]; then sed 's/^/    /' "$dir/out" | head -n 5; fail "$name: status $got, expected $status"; return; fi
    grep -qF -- "$text" "$dir/out" || { sed 's/^/    /' "$dir/out" | head -n 5; fail "$name: \"$text\" is not said"; return; }
    pass "$name"
}
scenario() { # body -> file
    printf '<scenario name="t">\n<topology kind="star" hosts="4"/>\n<fabric name="f">%s</fabric>\n<transport name="r" kind="roce" prio="3" dscp="26"/>\n%s\n<measure duration="50us"/>\n</scenario>\n' "$1" "$2" > "$dir/s.xml"
}
poisson='<workload kind="poisson" size="1kB"/>'

scenario '' "$poisson"
expect 'a good scenario passes check' 0 '' "$rnicsim" check "$dir/s.xml"
expect 'a good scenario runs' 0 'p99' "$rnicsim" run "$dir/s.xml" --no-plots --out "$dir/good"
printf '<scenario name="t">\n<topology kind="star"\n' > "$dir/broken.xml"
expect 'malformed XML' 2 "broken.xml:" "$rnicsim" check "$dir/broken.xml"
scenario '' '<workload kind="poisson" size="1000"/>'
expect 'a bare number' 2 "s.xml:5:" "$rnicsim" check "$dir/s.xml"
scenario '' '<workload kind="poisson" load="120%" size="1kB"/>'
expect 'load over 100 %' 2 "s.xml:5:" "$rnicsim" check "$dir/s.xml"
scenario '<switch bufer="1MB"/>' "$poisson"
expect 'nearest spelling' 2 "buffer" "$rnicsim" check "$dir/s.xml"
scenario '<switch buffer="64kB" pfc="on" headroom="60kB"/>' "$poisson"
expect 'headroom larger than the buffer' 2 "short" "$rnicsim" check "$dir/s.xml"
expect 'the same at run' 2 "short" "$rnicsim" run "$dir/s.xml" --out "$dir/no"
[ ! -e "$dir/no/summary.json" ] && pass 'nothing half-written' || fail 'a summary of a run that was refused'
printf 'transport tcp\n0 connect\n+0 > SYN seq=1\n' > "$dir/wrong.script"
expect 'script --trace prints what is seen' 0 '> SYN' "$rnicsim" script --trace test/scripts/tcp/rfc9293-3.5-handshake-active.script
expect 'a script that differs' 1 'wrong.script:3:' "$rnicsim" script "$dir/wrong.script"
expect 'a script that is not there' 2 'none.script' "$rnicsim" script "$dir/none.script"
scenario '' '<workload kind="poisson"><size bytes="10B" cumulative="50%"/></workload>'
expect 'no such element' 2 "s.xml:5" "$rnicsim" check "$dir/s.xml"
expect 'no such file' 2 "nothere.xml" "$rnicsim" run "$dir/nothere.xml"
scenario '' "$poisson"
expect 'unknown --set' 2 "roce.mtu" "$rnicsim" run "$dir/s.xml" --set roce.mut=4096B
expect 'an MTU that InfiniBand does not have' 2 "1024" "$rnicsim" check "$dir/s.xml" --set roce.mtu=1000B
expect 'unknown option' 2 "--nosuch" "$rnicsim" run --nosuch "$dir/s.xml"
expect 'unknown command' 2 "run" "$rnicsim" rum
expect 'output that cannot be written' 2 "/proc/" "$rnicsim" run "$dir/s.xml" --no-plots --out /proc/nowhere
expect 'not a capture' 2 "s.xml" "$rnicsim" dissect "$dir/s.xml"
expect 'help' 0 'Usage' "$rnicsim" --help
expect 'version' 0 'rnicsim' "$rnicsim" --version
expect 'describe a parameter' 0 'path MTU' "$rnicsim" describe roce.mtu

# Unfinished messages make the status 1, by name.
scenario '<links loss="100%"/>' '<workload kind="permutation" size="1kB"/>'
sed -i 's|<measure duration="50us"/>|<measure duration="50us" drain="1ms" self-slowdown="off"/>|' "$dir/s.xml"
expect 'unfinished messages' 1 'unfinished' "$rnicsim" run "$dir/s.xml" --no-plots --out "$dir/unf"

# The same bytes from the same seed, whatever the number of jobs and the engine.
for job in 1 2; do
    "$rnicsim" run scenarios/incast.xml --size ci --no-plots --quiet --jobs $job --engine native --out "$dir/j$job" || fail "jobs $job"
done
diff -r "$dir/j1" "$dir/j2" > "$dir/diff" && pass 'same files for any --jobs' || { head -n 3 "$dir/diff"; fail 'files differ between --jobs 1 and 2'; }

# Ctrl-C keeps what had finished.
"$rnicsim" run scenarios/load-sweep.xml --no-plots --jobs 1 --engine native --set measure.duration=60ms --out "$dir/int" > "$dir/out" 2>&1 &
pid=$!
sleep 1
kill -INT $pid
wait $pid
got=$?
left=$(find "$dir/int" -name '*.part' 2>/dev/null | wc -l)
[ $got = 130 ] && [ "$left" = 0 ] && pass 'Ctrl-C' || { tail -n 3 "$dir/out"; fail "Ctrl-C: status $got, $left half-written files"; }
exit $bad
