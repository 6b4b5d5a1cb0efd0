#!/bin/sh
# test_html.sh -- the page of `explain --html` in a browser: links lead somewhere, both ways; keys and clicks choose
# lines; nothing reaches out; no error on the console.  Skipped where there is no Chromium.
. tests/tool/lib.sh

browser=
for name in chromium chromium-browser google-chrome chrome; do
    command -v $name >/dev/null && browser=$name && break
done

# ---- without a browser ------------------------------------------------------------------------------------

k=thread_naive_split_k
"$TEGULA" explain $k -q --html "$work/one.html" >"$work/out" 2>&1 || fail "explain $k --html"
"$TEGULA" explain $k thread_coalesced_naive_split_k -q --html "$work/two.html" >"$work/out" 2>&1 || fail "explain .. --html"
holds "the report is printed as well" grep -q "what differs" "$work/out"
holds "the page stands alone" sh -c "! sed 's|http://www.w3.org/2000/svg||g' '$work/two.html' | grep -nE '(src|href|url)[=(]\"?(https?:)?//|@import|<link'"
holds "what differs comes first" sh -c "grep -nE 'id=\"(differences|k1)\"' '$work/two.html' | head -n 1 | grep -q differences"
cat >"$work/races.c" <<'EOK'
#include <tegula/kernel.h>
KERNEL(races) {
    tensor(y, F32, 32);
    grid(pid, 3) threads(tid, 32) {
        shared(s, F32, 32);
        set(at(s, tid), 1);
        set(at(y, tid), at(s, sub(31, tid)));
    }
}
EOK
"$TEGULA" explain races -k "$work/races.c" -q --html "$work/races.html" >"$work/out" 2>&1
holds "races stand on the page" grep -q '<li><strong>race' "$work/races.html"
"$TEGULA" explain gemv_q4 -q --html "$work/q4.html" >"$work/out" 2>&1 || fail "explain gemv_q4 --html"
holds "a barrier of the warp is told apart" grep -q 'of each warp: the warp' "$work/q4.html"
expect 3 "could not be written" explain $k --html "$work/nowhere/page.html"

if [ -z "$browser" ]; then
    [ "$failed" = 0 ] || finish
    echo "Chromium was not found: the page is not opened"
    exit 77
fi

# ---- in a browser -----------------------------------------------------------------------------------------

# The checks run in each page and tell the page around them, which has one frame for each and gathers it all in its
# title: one start of the browser is most of the time.
cat >"$work/check.js" <<'EOJ'
<script>
addEventListener("load", () => {
    const all = (what) => Array.from(document.querySelectorAll(what)), bad = [];
    const expect = (good, what) => good || bad.push(what);
    const ids = all("[id]").map((x) => x.id);
    expect(ids.length === new Set(ids).size, "an anchor stands twice");
    all("a[href]").forEach((a) => {
        const to = a.getAttribute("href");
        expect(to[0] === "#" && document.getElementById(to.slice(1)), "dead link " + to);
    });
    all(".pane li[data-l]").forEach((li) => {
        const other = document.getElementById(li.querySelector("a.n").getAttribute("href").slice(1));
        expect(other && other.dataset.l === li.dataset.l && other.closest(".pane") !== li.closest(".pane"),
               "no partner of " + li.id);
    });
    all(".pane, figure, nav, section").forEach((x) => expect(
        x.tagName === "FIGURE" ? x.querySelector("svg title") : x.getAttribute("aria-label") ||
            x.getAttribute("aria-labelledby"), "no name: " + x.outerHTML.slice(0, 60)));
    const panes = all(".pane"), lines = Array.from(panes[0].querySelectorAll("li[data-l]"));
    const line = lines.find((x) => x.querySelector(".cost"));
    line.querySelector("code").click();
    expect(location.hash === "#" + line.id, "the address has no anchor");
    expect(panes[1].querySelector("li.on"), "the CUDA does not light up");
    expect(document.querySelector("figure.on"), "no picture lights up");
    const press = (key) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key: key, bubbles: true}));
    line.querySelector("a.n").focus();
    press("ArrowRight");
    expect(document.activeElement.closest(".pane") === panes[1], "the right arrow does not change sides");
    press("ArrowLeft");
    expect(document.activeElement.closest("li") === line, "the left arrow does not come back");
    press("ArrowDown");
    expect(document.activeElement.closest("li") === lines[lines.indexOf(line) + 1], "the down arrow does not walk");
    press("Escape");
    expect(!document.querySelector(".on"), "Escape does not let go");
    line.dispatchEvent(new MouseEvent("mouseover", {bubbles: true}));
    expect(panes[1].querySelector("li.lit"), "hovering does not light up the CUDA");
    expect(document.documentElement.scrollWidth <= innerWidth, "the page is wider than the window: " +
           document.documentElement.scrollWidth);
    expect(performance.getEntriesByType("resource").length === 0, "something was fetched");
    parent.postMessage([innerWidth, bad.slice(0, 5).join("; ")], "*");
});
</script>
EOJ
# with_checks FILE NAME
with_checks() {
    sed -e "/^<\/body>/{
r $work/check.js
N
}" "$1" >"$work/$2"
}
with_checks "$work/one.html" wide.html
with_checks "$work/two.html" both.html
cp "$work/wide.html" "$work/narrow.html"
cat >"$work/all.html" <<'EOH'
<!doctype html><title>NOTHING WAS TOLD</title>
<script>
const told = [];
addEventListener("message", (e) => {
    told.push(e.data);
    const bad = told.filter((x) => x[1]);
    document.title = bad.length ? "BAD " + bad.join(" | ")
        : told.length < 3 ? "ONLY " + told.length + " OF 3" : "ALL GOOD at " + told.map((x) => x[0]).sort().join(", ");
});
</script>
<iframe src="wide.html" width="1500" height="900" frameborder="0"></iframe>
<iframe src="both.html" width="1900" height="900" frameborder="0"></iframe>
<iframe src="narrow.html" width="500" height="900" frameborder="0"></iframe>
EOH
timeout 60 $browser --headless --no-sandbox --disable-gpu --user-data-dir="$work/profile" --window-size=2000,3000 \
    --enable-logging=stderr --v=0 --virtual-time-budget=3000 --dump-dom "file://$work/all.html" \
    >"$work/dom" 2>"$work/console"
grep -o '<title>[^<]*' "$work/dom" | head -n 1 >"$work/log"
grep 'CONSOLE' "$work/console" >>"$work/log"
if grep -q "ALL GOOD at 1500, 1900, 500" "$work/log" && ! grep -q CONSOLE "$work/log"; then
    pass
else
    fail "the pages in windows of 1500, 1900 and 500" "$work/log"
fi
finish
