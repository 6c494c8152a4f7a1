"""The looks of a page: light and dark, from 320 pixels to a wide screen, and on paper."""

from __future__ import annotations

_TASKS_LIGHT = (
    ("#dbe8fd", "#2f6bd0", "#133a78"),
    ("#fde5d0", "#bf5d0c", "#683102"),
    ("#d2f1e8", "#0c8368", "#064a3a"),
    ("#fcdeec", "#bd397b", "#6b1542"),
    ("#e8e2fd", "#7050d0", "#3a2382"),
    ("#f9ebb8", "#967000", "#4f3d00"),
    ("#d4eff7", "#0d7c97", "#064456"),
    ("#e3f0d0", "#55821a", "#304a0b"),
)
_TASKS_DARK = (
    ("#18315e", "#74a5fb", "#d8e6ff"),
    ("#4c2a0e", "#eda263", "#ffe4cf"),
    ("#0d4236", "#54cfb0", "#d1f5eb"),
    ("#531b39", "#f085b8", "#ffddec"),
    ("#33256a", "#a990f8", "#e8e0ff"),
    ("#443507", "#dcb640", "#fbeec0"),
    ("#0c3c49", "#5bc6de", "#d4f2f9"),
    ("#2b400e", "#a2cd58", "#e6f5d1"),
)
"""Of each colour of a task: the ground, the edge and the bar, and the ink."""

_INK_LIGHT = {
    "ground": "#f4f5f8",
    "paper": "#ffffff",
    "ink": "#161b24",
    "quiet": "#545f70",
    "line": "#d9dee7",
    "free": "#eceff4",
    "accent": "#1f4fb2",
    "good": "#116b46",
    "warn": "#8a5000",
    "bad": "#b3261e",
    "stripe": "#f3d9a8",
}
_INK_DARK = {
    "ground": "#0d1117",
    "paper": "#161b23",
    "ink": "#e7ebf1",
    "quiet": "#a2adbc",
    "line": "#2d3541",
    "free": "#222a35",
    "accent": "#8fb6ff",
    "good": "#5fd39c",
    "warn": "#f0b45b",
    "bad": "#ff8f85",
    "stripe": "#5c4415",
}


def _colours(inks: dict[str, str], tasks: tuple[tuple[str, str, str], ...]) -> str:
    found = {f"--{name}": value for name, value in inks.items()}
    for place, (ground, edge, ink) in enumerate(tasks):
        found |= {f"--g{place}": ground, f"--e{place}": edge, f"--i{place}": ink}
    return "".join(f"{name}:{value};" for name, value in found.items())


_TASKS = "\n".join(
    f".t{each}{{--g:var(--g{each});--e:var(--e{each});--i:var(--i{each})}}" for each in range(len(_TASKS_LIGHT))
)
_NARROW_SLOTS = 3
"""More slots than these fill the width of their host."""


def _columns(slots: int) -> str:
    widest = f"max-width:{5 * slots}rem" if slots <= _NARROW_SLOTS else ""
    return f".n{slots}{{grid-template-columns:repeat({slots},minmax(0,1fr));{widest}}}"


_SLOTS = "\n".join(map(_columns, range(1, 9)))

STYLE = f"""
:root{{color-scheme:light dark;{_colours(_INK_LIGHT, _TASKS_LIGHT)}}}
@media (prefers-color-scheme:dark){{:root{{{_colours(_INK_DARK, _TASKS_DARK)}}}}}
{_TASKS}
{_SLOTS}
*{{box-sizing:border-box;margin:0;padding:0}}
html{{-webkit-text-size-adjust:100%;text-size-adjust:100%}}
body{{background:var(--ground);color:var(--ink);font:1rem/1.5 system-ui,-apple-system,"Segoe UI","Open Sans",Roboto,
sans-serif;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}}
header,main,footer{{width:min(100% - 2rem,78rem);margin-inline:auto}}
ul{{list-style:none}}
h1,h2,h3,h4{{line-height:1.2;text-wrap:balance}}
h1{{font-size:clamp(1.6rem,1.1rem + 2.2vw,2.6rem);letter-spacing:-.02em;font-weight:700}}
h2{{font-size:1.25rem;margin:2.5rem 0 .9rem;letter-spacing:-.01em}}
code{{font:600 .92em ui-monospace,SFMono-Regular,Menlo,Consolas,"Open Sans",monospace}}
table{{border-collapse:collapse;width:100%}}
th{{text-align:start;font-weight:600}}
caption{{text-align:start;color:var(--quiet);font-size:.9rem;padding-bottom:.5rem}}
.number{{text-align:end;white-space:nowrap}}
.quiet{{color:var(--quiet)}}
.warn{{color:var(--warn)}}.bad{{color:var(--bad)}}.good{{color:var(--good)}}.info{{color:var(--quiet)}}
.sr{{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}}
.skip{{position:absolute;inset-inline-start:1rem;top:-4rem;background:var(--paper);color:var(--accent);
padding:.5rem 1rem;border-radius:.5rem;z-index:1}}
.skip:focus{{top:1rem}}
:focus-visible{{outline:3px solid var(--accent);outline-offset:2px;border-radius:.25rem}}
#pools:focus{{outline:none}}

header{{padding-top:clamp(1.75rem,4vw,3.5rem)}}
.eyebrow{{color:var(--quiet);font-weight:600;margin-bottom:.4rem}}
.use{{margin-top:1.5rem;font-size:.95rem}}
.use>p{{color:var(--quiet);margin-bottom:.4rem}}
.fleet{{display:block;width:100%;height:.75rem;border-radius:.4rem;background:var(--free)}}
.fleet .held{{fill:var(--accent)}}.fleet .free{{fill:var(--free)}}.fleet .stranded{{fill:var(--warn)}}
.legend{{display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;margin-top:.5rem}}
.dot{{display:inline-block;width:.75rem;height:.75rem;border-radius:.2rem;margin-inline-end:.45rem;vertical-align:-.05rem;
border:1px solid var(--quiet)}}
.dot.held{{background:var(--accent);border-color:var(--accent)}}
.dot.stranded{{background:var(--warn);border-color:var(--warn)}}
.dot.free{{background:var(--free);border-style:dashed}}
.dot.not_known{{background:repeating-linear-gradient(135deg,var(--paper) 0 2px,var(--quiet) 2px 3px)}}

.cards{{display:grid;grid-template-columns:1fr 1.25fr 1fr;gap:1rem;align-items:stretch}}
.card,.pool{{background:var(--paper);border:1px solid var(--line);border-radius:.9rem}}
.card{{padding:1.1rem 1.25rem}}
.card h3{{font-size:1rem}}
.card .warn{{margin:-.3rem 0 .6rem;font-size:.925rem}}
.card .quiet{{font-size:.875rem}}
.cost{{font-size:1.35rem;font-weight:700;letter-spacing:-.015em;margin:.6rem 0 .5rem;line-height:1.25}}
.cost span{{font-size:.875rem;font-weight:400;color:var(--quiet);letter-spacing:0;white-space:nowrap}}
.desired{{border-color:var(--accent);box-shadow:inset 0 3px 0 var(--accent)}}
.desired .cost{{font-size:1.9rem}}
.card dl div{{display:flex;justify-content:space-between;gap:1rem;padding:.3rem 0;border-top:1px solid var(--line);
font-size:.925rem}}
.card dt{{color:var(--quiet)}}
.card dd{{text-align:end;font-weight:600}}
.lede{{color:var(--quiet);font-size:1.05rem;margin-top:.5rem}}
.whole{{white-space:nowrap}}

.look{{background:var(--paper);border:1px solid var(--line);border-radius:.9rem;padding:.35rem 1.25rem}}
.look li{{display:grid;grid-template-columns:11.5rem 1fr;gap:0 .5rem;padding:.55rem 0;border-top:1px solid var(--line)}}
.look li:first-child{{border-top:0}}
.look strong::before{{content:"";display:inline-block;width:.55rem;height:.55rem;margin-inline-end:.55rem;
background:currentColor;border-radius:50%}}
.look .bad::before{{border-radius:0;transform:rotate(45deg)}}
.look .warn::before{{border-radius:.1rem}}

.pool{{padding:1.25rem;margin-bottom:1.25rem}}
.about{{display:flex;flex-wrap:wrap;gap:1rem 2.5rem;justify-content:space-between;align-items:flex-start}}
.about>div{{flex:1 1 24rem}}
.about h3{{font-size:1.2rem;margin-bottom:.2rem}}
.levels caption,.tasks caption,.considered caption{{padding:0}}
.levels{{width:auto;flex:0 1 auto;font-size:.9rem}}
.levels th,.levels td{{padding:.15rem 0 .15rem 1.5rem;text-align:end;vertical-align:top}}
.levels tbody th{{padding-inline-start:0;text-align:start}}
.levels th{{font-weight:400;color:var(--quiet)}}
.levels td{{font-weight:600}}
.notes{{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1.25rem;margin-top:.8rem;font-size:.925rem}}
.notes dt{{color:var(--quiet)}}
.tasks,.considered{{margin-top:1.1rem;font-size:.925rem}}
.tasks th,.tasks td,.considered th,.considered td,.quotas th,.quotas td{{padding:.45rem .75rem .45rem 0;
border-bottom:1px solid var(--line);vertical-align:top}}
.tasks td:first-child,.tasks th:first-child{{width:3rem}}
.tasks tr>:last-child,.considered tr>:last-child,.quotas tr>:last-child{{padding-inline-end:0}}
.tasks .number,.considered .number,.quotas .number{{padding-inline-end:1.75rem}}
.quotas .number:last-child{{padding-inline-end:0}}
.tasks thead th,.considered thead th,.quotas thead th{{color:var(--quiet);font-weight:400;font-size:.875rem}}
.quotas{{background:var(--paper);border:1px solid var(--line);border-radius:.9rem;border-collapse:separate;
border-spacing:0;padding:1rem 1.25rem}}
.quotas tbody tr:last-child>*{{border-bottom:0}}
.quotas th .quiet{{font-weight:400;margin-inline-start:.5rem}}

details{{margin-top:1.1rem}}
summary{{cursor:pointer;font-weight:600;padding:.3rem 0;border-radius:.25rem}}
summary::marker{{color:var(--accent)}}
.cheaper summary{{color:var(--good)}}
.hosts{{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,20.5rem),1fr));gap:1rem;margin-top:.6rem}}
.host{{border:1px solid var(--line);border-radius:.7rem;padding:.9rem 1rem;background:var(--paper);min-width:0;
break-inside:avoid;display:flex;flex-direction:column}}
.bars{{margin-top:auto}}
.many{{box-shadow:4px 4px 0 -1px var(--paper),4px 4px 0 0 var(--line),8px 8px 0 -1px var(--paper),8px 8px 0 0
var(--line);margin:0 8px 8px 0}}
.host h4{{font-size:1rem}}
.times{{display:inline-block;background:var(--ink);color:var(--paper);border-radius:.35rem;padding:0 .4rem;
margin-inline-end:.2rem;font-size:.9rem;line-height:1.45}}
.price{{color:var(--quiet);font-size:.875rem;margin:.1rem 0 .7rem}}
.slots{{display:grid;gap:4px}}
.slot{{display:flex;flex-direction:column;align-items:center;justify-content:center;min-height:2.9rem;border-radius:.4rem;
border:1.5px solid var(--e,var(--line));background:var(--g,var(--free));color:var(--i,var(--quiet));font-size:.82rem;
font-weight:700;line-height:1.15;overflow:hidden;overflow-wrap:normal;white-space:nowrap}}
.jl{{margin-inline-start:-4px;border-inline-start:1px dashed var(--e);border-start-start-radius:0;
border-end-start-radius:0}}
.jr{{border-inline-end:0;border-start-end-radius:0;border-end-end-radius:0}}
.free.slot{{border-style:dashed;border-color:var(--quiet);font-weight:400;font-size:.75rem}}
.stranded.slot,.not_known.slot,.daemons.slot{{font-weight:600;font-size:.75rem}}
.stranded.slot{{border-color:var(--warn);color:var(--ink);
background:repeating-linear-gradient(135deg,var(--paper) 0 5px,var(--stripe) 5px 10px)}}
.daemons.slot{{border-color:var(--quiet)}}
.not_known.slot{{border-style:dotted;border-color:var(--quiet)}}
.shared.slot{{align-items:stretch;gap:1px;background:var(--line);border-color:var(--quiet);justify-content:stretch}}
.shared span{{flex:1 0 1.2rem;display:flex;align-items:center;justify-content:center;background:var(--g);color:var(--i);
border-inline-start:4px solid var(--e)}}
.shared .left{{background:var(--free);color:var(--quiet);font-weight:400;font-size:.75rem;border:0}}
.on{{margin:.7rem 0;font-size:.925rem}}
.on li{{padding:.1rem 0}}
.copies{{color:var(--quiet);white-space:nowrap}}
.key{{display:inline-block;min-width:1.6rem;text-align:center;padding:0 .3rem;border-radius:.3rem;background:var(--g);
border:1.5px solid var(--e);color:var(--i);font-weight:700;font-size:.8rem;line-height:1.35;margin-inline-end:.3rem}}
.bar{{display:grid;grid-template-columns:1fr auto;font-size:.84rem;margin-top:.4rem;gap:0 .75rem}}
.bar .what{{color:var(--quiet)}}
.bar .sum{{text-align:end}}
.bar svg{{grid-column:1/-1;width:100%;height:.5rem;border-radius:.25rem;background:var(--free);margin-top:.15rem}}
.bar rect{{fill:var(--e);stroke:var(--paper);stroke-width:1px;vector-effect:non-scaling-stroke}}
.bar .kept{{fill:var(--quiet);opacity:.45}}
.none{{margin-top:1.1rem;color:var(--quiet)}}
.unknown{{margin-top:1.1rem;border:1px dashed var(--quiet);border-radius:.6rem;padding:.7rem 1rem;
background:repeating-linear-gradient(135deg,transparent 0 9px,var(--free) 9px 10px)}}
footer{{color:var(--quiet);font-size:.875rem;padding:2.5rem 0 3rem}}
footer p{{max-width:52rem;margin-bottom:.5rem}}

@media (max-width:46rem){{
.cards{{grid-template-columns:1fr;gap:.75rem}}
.card dl{{display:grid;grid-template-columns:2fr 1fr 1fr;gap:.25rem 1rem}}
.card dl div{{display:block;border:0;padding:0}}
.card dd{{text-align:start}}
.pool{{padding:1rem}}
.about>div{{flex-basis:100%}}
.levels{{width:100%}}
.levels th,.levels td{{padding-inline-start:.6rem}}
.notes{{grid-template-columns:1fr;gap:0}}
.notes dd{{margin-bottom:.5rem}}
.look li{{grid-template-columns:1fr}}
.tasks{{table-layout:fixed}}
.tasks td:first-child,.tasks th:first-child{{width:2.5rem}}
.tasks th:nth-child(3){{width:3.7rem}}
.tasks th:nth-child(4){{width:38%}}
.tasks td.number{{white-space:normal}}
.tasks .number,.considered .number,.quotas .number{{padding-inline-end:.75rem}}
.quotas th .quiet{{display:block;margin:0}}
}}
@media (max-width:23rem){{.whole{{white-space:normal}}}}
@media (prefers-reduced-motion:no-preference){{.skip{{transition:top .15s}}}}
@media (forced-colors:active){{.bar rect{{fill:CanvasText}}.bar .kept{{fill:GrayText}}}}
@media print{{
:root{{{_colours(_INK_LIGHT, _TASKS_LIGHT)}}}
html{{font-size:10pt}}
body{{background:#fff}}
.skip{{display:none}}
.card,.pool,.look,.quotas{{border-color:#999;box-shadow:none}}
.pool{{border-width:1px 0 0;border-radius:0;padding:1rem 0}}
*{{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
}}
"""
