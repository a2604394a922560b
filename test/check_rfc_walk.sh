#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# doc/rfc-walk.md: as many MUSTs and SHOULDs as each RFC has, each named test is there, and enough of them are held.
set -u
cd "${RNICSIM_TOP:-$(dirname "$0")/..}" || exit 2
walk=doc/rfc-walk.md
bad=0
say() { echo "$1"; bad=1; }
rows() { grep -E "^\| $1\.[0-9]+ \|" "$walk"; }
words() { rows "$1" | cut -d'|' -f4 | grep -oE "$2" | wc -l; }
must='MUST|SHALL|REQUIRED'
should='SHOULD|RECOMMENDED'
# What a search of the text finds, less the paragraph on RFC 2119 (5 and 3 words); rows are sentences that have such a word.
while read -r rfc want_rows want_must want_should; do
    [ "$(rows "$rfc" | wc -l)" = "$want_rows" ] || say "RFC $rfc: $(rows "$rfc" | wc -l) rows, not $want_rows"
    [ "$(words "$rfc" "$must")" = "$want_must" ] || say "RFC $rfc: $(words "$rfc" "$must") of MUST's kind, not $want_must"
    [ "$(words "$rfc" "$should")" = "$want_should" ] || say "RFC $rfc: $(words "$rfc" "$should") of SHOULD's kind, not $want_should"
    [ -z "$(rows "$rfc" | cut -d'|' -f2 | sort | uniq -d)" ] || say "RFC $rfc: a row twice"
    text=${RNICSIM_RFC_DIR:-}/rfc$rfc.txt
    if [ -n "${RNICSIM_RFC_DIR:-}" ] && [ -f "$text" ]; then
        [ "$(grep -oE "\b($must)\b" "$text" | wc -l)" = $((want_must + 5)) ] || say "$text: other words of MUST's kind than the walk has"
        [ "$(grep -oE "\b($should)\b" "$text" | wc -l)" = $((want_should + 3)) ] || say "$text: other words of SHOULD's kind than the walk has"
    fi
done <<'COUNTS'
5040 143 132 14
5041 122 110 19
5044 111 97 20
6581 47 46 3
7306 59 62 2
COUNTS
names=$(grep -oE '`[a-z]+/test_[a-z_]+: [a-z0-9_]+`' "$walk" | tr -d '`' | sort -u | tr -d ' ')
for n in $names; do
    file=test/${n%%:*}.c test=${n#*:}
    [ -f "$file" ] || { say "$file is not there"; continue; }
    grep -q "cmocka_unit_test($test)" "$file" || say "$file has no test $test"
done
all=0 held=0
for rfc in 5040 5041 5044 6581 7306; do
    n=$(rows "$rfc" | grep -E '\| w \|' | cut -d'|' -f4,7 | grep -E "$must" | wc -l)
    h=$(rows "$rfc" | grep -E '\| w \|' | cut -d'|' -f4,7 | grep -E "$must" | grep -c '`')
    echo "RFC $rfc: $h of $n MUSTs on the wire or for the application are held by a test"
    all=$((all + n)) held=$((held + h))
done
rows '[0-9]+' | grep -vE '`[a-z]+/test_|not held: ..' && say "rows with neither a test nor a reason"
[ $((held * 10)) -ge $((all * 9)) ] || say "only $held of $all are held"
[ $bad = 0 ] && echo "ok rfc walk" || echo "not ok rfc walk"
exit $bad
