// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "report/style.hpp"

namespace tandem::report {

const char* const kStyle = R"css(
:root{color-scheme:light dark;--paper:#fff;--ink:#1b1e24;--soft:#59606e;--rule:#d8dce3;--card:#f5f6f8;--tone:#3d63b8}
@media screen and (prefers-color-scheme:dark){
:root{--paper:#16181c;--ink:#e8eaee;--soft:#a2a9b6;--rule:#353a44;--card:#1f2228;--tone:#86a9f0}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.2rem 1rem 4rem;max-width:1080px;background:var(--paper);color:var(--ink);
font:16px/1.5 system-ui,sans-serif}
h1{font-size:1.7rem;line-height:1.2;margin:.5rem 0}
h2{font-size:1.25rem;margin:2.6rem 0 .3rem}
h3{font-size:.95rem;margin:1rem 0 .3rem}
h4{font-size:.8rem;font-weight:400;color:var(--soft);margin:0 0 .2rem}
p{margin:.3rem 0 .8rem}
header p,footer p,.says{max-width:75ch}
header p,footer p{color:var(--soft)}
code{font-size:.85em;overflow-wrap:anywhere}
nav{display:flex;flex-wrap:wrap;gap:.2rem 1rem;font-size:.9rem}
a{color:var(--tone)}
figure{margin:.6rem 0 1rem}
svg{display:block;width:100%;background:var(--card);overflow:visible}
rect,path{vector-effect:non-scaling-stroke}
rect:not(.module,.arrival),path:not(.line,.grid){stroke:var(--paper);stroke-width:.6}
.row{display:grid;grid-template-columns:5.5rem 1fr 5.5rem;gap:.6rem;align-items:center;margin:.25rem 0;font-size:.85rem}
.row b{font-weight:400;font-variant-numeric:tabular-nums;text-align:right}
.side{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,24rem),1fr));gap:0 2rem}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,20rem),1fr));gap:1rem}
.chart{position:relative;padding-left:5.5rem}
.beside{position:absolute;left:0;bottom:0;width:5.1rem;height:var(--height,130px)}
.beside span{position:absolute;right:0;transform:translateY(50%);font-size:.75rem;color:var(--soft)}
#loss .beside{--height:200px}
.below{position:relative;height:1.3rem;margin:0 6.1rem;font-size:.75rem;color:var(--soft)}
.below span{position:absolute;transform:translateX(-50%);white-space:nowrap}
.legend{display:flex;flex-wrap:wrap;gap:.2rem 1rem;margin:.6rem 0;padding:0;list-style:none;font-size:.85rem}
.legend li{display:flex;align-items:center;gap:.4rem;cursor:default}
.legend i{width:.9rem;height:.9rem;border:1px solid var(--rule)}
.key{width:30px;height:10px;background:none}
.waiting{fill:var(--rule);background:var(--rule)}
.figure{fill:var(--tone)}
.module{fill:var(--soft);background:var(--soft)}
.arrival{fill:var(--ink);background:var(--ink)}
.line{fill:none;stroke:var(--ink);stroke-width:2.2;stroke-linecap:round;stroke-linejoin:round}
.grid{fill:none;stroke:var(--rule);stroke-width:1}
.line0{stroke:#8a8f98;stroke-width:6}
.line1{stroke:#cd5e3b}
.line2{stroke:#5a92dc;stroke-dasharray:9 5}
.line3{stroke:#e19a0f;stroke-dasharray:2 5}
.line4{stroke:var(--ink);stroke-width:1.4;stroke-dasharray:12 4 2 4}
.line5{stroke:#924c6f;stroke-dasharray:5 5}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:.82rem;font-variant-numeric:tabular-nums;margin:.4rem 0}
th,td{padding:.15rem .7rem .15rem 0;text-align:right;white-space:nowrap;border-bottom:1px solid var(--rule)}
th:first-child,td:first-child{text-align:left}
th{font-weight:600;color:var(--soft)}
.matrix td,.matrix th{padding:.3rem .5rem}
.matrix td{background:color-mix(in srgb,var(--tone) var(--share,0%),var(--paper))}
#tip{position:fixed;z-index:1;padding:.3rem .5rem;border-radius:4px;background:var(--ink);color:var(--paper);
font-size:.8rem;white-space:pre-line;pointer-events:none;max-width:18rem}
.faded{opacity:.15}
@media(max-width:600px){body{font-size:15px}.row{grid-template-columns:5rem 1fr 4.4rem;gap:.4rem;font-size:.78rem}
.below{margin:0 4.8rem 0 5.4rem}.below span:nth-child(even){display:none}.chart{padding-left:4.4rem}.beside{width:4.1rem}}
@media print{body{max-width:none;font-size:11px}nav,#tip{display:none}figure,tr{break-inside:avoid}
h2,h3,.says,.legend{break-after:avoid}*{print-color-adjust:exact}.wide{overflow:visible}}
)css";

const char* const kScript = R"js(
'use strict';
const tip = document.getElementById('tip');
const show = (target, x, y) => {
  tip.hidden = !target;
  if (!target) return;
  tip.textContent = target.dataset.tip;
  const {width, height} = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(x + 12, innerWidth - width - 4)) + 'px';
  tip.style.top = (y + 16 + height > innerHeight ? y - height - 8 : y + 16) + 'px';
};
addEventListener('pointermove', e => show(e.target.closest('[data-tip]'), e.clientX, e.clientY));
addEventListener('pointerdown', e => show(e.target.closest('[data-tip]'), e.clientX, e.clientY));
document.addEventListener('pointerleave', () => show(null));
for (const entry of document.querySelectorAll('.legend li')) {
  const fade = faded => {
    for (const shape of entry.closest('section').querySelectorAll('figure rect,figure path:not(.grid)'))
      shape.classList.toggle('faded', faded && !shape.classList.contains(entry.dataset.style));
  };
  entry.addEventListener('pointerenter', () => fade(true));
  entry.addEventListener('pointerleave', () => fade(false));
}
)js";

}  // namespace tandem::report
