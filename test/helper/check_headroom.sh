#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The headroom advice: its terms add up, the published formula stands beside them, the scenario it prints passes check and loses nothing.
set -u
cd "${RNICSIM_TOP:-$(dirname "$0")/../..}" || exit 2
rnicsim=${RNICSIM:-build/rnicsim}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
bad=0
pass() { echo "ok $1"; }
fail() { echo "not ok $1"; bad=1; }
says() { # NAME TEXT ARGS...: status 0 and TEXT
    name=$1; text=$2; shift 2
    if "$rnicsim" headroom "$@" > "$dir/out" 2>&1 && grep -qF -- "$text" "$dir/out"; then pass "$name"; else head -n 5 "$dir/out"; fail "$name: \"$text\""; fi
}
refuses() {
    name=$1; text=$2; shift 2
    "$rnicsim" headroom "$@" > "$dir/out" 2>&1
    got=$?
    if [ $got = 2 ] && grep -qF -- "$text" "$dir/out"; then pass "$name"; else head -n 5 "$dir/out"; fail "$name: status $got, \"$text\""; fi
}
says "the vendor's formula at 100G, 100 m, 4096" ' 62841 B' --rate 100Gbps --length 100m --mtu 4096
says "the vendor's formula at 400G" ' 217941 B' --rate 400Gbps --length 100m --mtu 4096B
# 2 x 4198 + 84 + 394 x 64 + 2 x 500 ns x 12.5 B/ns = 46,196 B on the wire; 4178 of each 4198 are buffered; and a frame that crosses XOFF.
says 'our headroom at 100G, 100 m, 4096' ' 50154 B' --rate 100Gbps --length 100m --mtu 4096
says 'ports and classes of a small buffer' 'These 32 ports can have 1 lossless class.' --buffer 2MB
says "a chip's buffer" 'profile="tomahawk"' --switch tomahawk
refuses 'a rate without unit' '100Gbps' --rate 100
refuses 'a length without unit' '100m' --length 100
refuses 'a nearest option' '--length' --lenght 100m
refuses 'a nearest chip' 'nearest: tomahawk' --switch tomahwak
refuses 'an option without its value' 'needs a value' --rate
refuses 'an MTU out of range' '256 to 9216' --mtu 64
"$rnicsim" headroom --buffer 1MB > "$dir/out"
[ $? = 1 ] && grep -q 'cannot have a lossless class' "$dir/out" && ! grep -q '<scenario' "$dir/out" && pass 'a buffer that affords nothing' || fail 'a buffer that affords nothing'

for args in "--rate 100Gbps --length 100m --mtu 4096" "--switch spectrum --length 300m --mtu 1024" "--switch tomahawk3 --length 2m --mtu 9000" "--rate 10Gbps --length 10km --ports 8" "--rate 25Gbps --length 0 --ports 4 --cell 80B --pipeline 500ns"; do
    "$rnicsim" headroom $args > "$dir/out" || fail "headroom $args"
    # the terms, with their signs, make the headroom
    awk '/^  headroom/ { print s == $(NF-1) ? "same" : s " is not " $(NF-1); exit } /^  .* B$/ { s += $(NF-2) == "-" ? -$(NF-1) : $(NF-1) }' "$dir/out" > "$dir/sum"
    grep -qx same "$dir/sum" && pass "terms add up: $args" || fail "terms of $args: $(cat "$dir/sum")"
    sed -n '/<scenario/,/<\/scenario>/p' "$dir/out" > "$dir/s.xml"
    "$rnicsim" check --quiet "$dir/s.xml" && pass "the scenario passes check: $args" || fail "check of $args"
    "$rnicsim" run "$dir/s.xml" --no-plots --quiet --engine native --set incast.size=64KiB --set measure.self-slowdown=off --set measure.drain=1s --out "$dir/run" &&
        grep -q '"buffer": 0,' "$dir/run/summary.json" && pass "and drops nothing: $args" || fail "a run of $args"
done

# 32 ports x (33,000 + 4,096 B) in 1 MiB: 1,187,072 - 1,048,576.
printf '<scenario name="s">\n<topology kind="star" hosts="32"/>\n<fabric name="f"><switch buffer="1MiB" pfc="on" headroom="33000B" reserved="4096B"/></fabric>\n<transport name="t" kind="roce" prio="3" dscp="26"/>\n<workload kind="incast"/>\n</scenario>\n' > "$dir/s.xml"
"$rnicsim" check "$dir/s.xml" > "$dir/out" 2>&1
[ $? = 2 ] && grep -q 's.xml:3: .*138,496 B short' "$dir/out" && pass 'a buffer too small is refused at load, with what is short' || { cat "$dir/out"; fail 'a buffer too small'; }
exit $bad
