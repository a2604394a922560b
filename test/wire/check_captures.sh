#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Captures of a run: an independent reader finds no fault in any of the demo's transports, and our own dissector agrees.
set -u
cd "${RNICSIM_TOP:-$(dirname "$0")/../..}" || exit 2
rnicsim=${RNICSIM:-build/rnicsim}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$rnicsim" run scenarios/routed-vs-lossless.xml --size ci --set measure.duration=60us --set measure.self-slowdown=off --pcap --no-plots --quiet --out "$dir/r" || { echo "not ok run"; exit 1; }
bad=0
for f in "$dir"/r/*/capture.pcap; do
    name=$(basename "$(dirname "$f")")
    if "$rnicsim" dissect "$f" > "$dir/text"; then echo "ok dissect $name"; else tail -n 2 "$dir/text"; echo "not ok dissect $name"; bad=1; fi
    if ! command -v tshark >/dev/null 2>&1; then echo "skip tshark $name"; continue; fi
    if bash test/tools/validate.sh "$f" > "$dir/clean"; then echo "ok tshark $name"; else cat "$dir/clean"; echo "not ok tshark $name"; bad=1; fi
done
# A capture with one bit turned is not clean.
f="$dir/r/roce-lossless/capture.pcap"
printf '\125' | dd of="$f" bs=1 seek=$(($(wc -c < "$f") - 6)) conv=notrunc 2>/dev/null
if "$rnicsim" dissect "$f" > "$dir/text" 2>&1; then echo "not ok a turned byte goes unseen"; bad=1; else echo "ok a turned byte is seen"; fi
for g in test/golden/rxe/*.pcap test/golden/siw/*.pcap; do
    "$rnicsim" dissect "$g" > "$dir/text" 2>&1 || { echo "not ok dissect $g"; tail -n 2 "$dir/text"; bad=1; }
done
echo "ok golden captures"
exit $bad
