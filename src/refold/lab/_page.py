"""The page that a report fills in."""

from typing import Final

PAGE: Final = r"""<!doctype html>
<html lang=en>
<head>
<meta charset=utf-8>
<meta name=viewport content="width=device-width,initial-scale=1">
<meta http-equiv=Content-Security-Policy
content="default-src 'none';style-src 'unsafe-inline';script-src 'unsafe-inline'">
<title>refold compare: @TITLE@</title>
<style>
:root{color-scheme:light dark;--paper:#fff;--ink:#1b1f24;--soft:#59636e;--line:#d8dee4;--read:#9db8d9;--new:#3f6fae;
--again:#d9622b;--cut:#8a2be2;--pick:#eef3fa}
@media(prefers-color-scheme:dark){:root:not([data-theme=light]){--paper:#14171c;--ink:#e6e9ee;--soft:#9aa4b2;
--line:#343b45;--read:#3b5578;--new:#7fb0ee;--again:#ff8a4f;--cut:#c79bff;--pick:#222a35}}
:root[data-theme=dark]{color-scheme:dark;--paper:#14171c;--ink:#e6e9ee;--soft:#9aa4b2;--line:#343b45;--read:#3b5578;
--new:#7fb0ee;--again:#ff8a4f;--cut:#c79bff;--pick:#222a35}
:root[data-theme=light]{color-scheme:light}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1100px;padding:24px 20px 60px;background:var(--paper);color:var(--ink);
font:15px/1.5 system-ui,sans-serif}
header{display:flex;justify-content:space-between;align-items:start;gap:16px}
h1{font-size:22px;margin:0}h2{font-size:17px;margin:36px 0 8px}p{margin:4px 0 12px;color:var(--soft);max-width:75ch}
button,select{font:inherit;color:inherit;background:var(--paper);border:1px solid var(--line);border-radius:6px;
padding:5px 10px}
button{cursor:pointer;white-space:nowrap}select{max-width:100%}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{padding:4px 8px;font-size:14px;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}
th:first-child{text-align:left}thead th{color:var(--soft);font-weight:600}
#needs td:last-child,#needs th:last-child{text-align:left;white-space:normal;overflow-wrap:anywhere}
svg{width:100%;min-width:640px;height:auto;display:block}
.grid{stroke:var(--line)}.axis{fill:var(--soft);font-size:12px}.name{fill:var(--ink);font-size:12px}
.dot{fill:var(--new)}.read{fill:var(--read)}.new{fill:var(--new)}.again{fill:var(--again)}
.mark{stroke:var(--cut);stroke-width:2}.tip{fill:var(--cut)}
.pick{display:flex;flex-wrap:wrap;gap:10px;margin:8px 0}
.key{display:flex;flex-wrap:wrap;gap:18px;color:var(--soft);font-size:13px;margin:6px 0}
.key i{display:inline-block;width:12px;height:12px;border-radius:2px;margin-right:6px;vertical-align:-1px}
#call{min-height:1.5em;color:var(--ink)}
rect.hit{fill:transparent}rect.hit:hover,rect.hit:focus{fill:var(--pick);fill-opacity:.5;outline:none}
</style>
</head>
<body>
<header><div><h1>refold compare</h1><p>@TITLE@. Cost is that of input tokens, relative to never cutting.</p></div>
<button id=theme type=button>dark or light</button></header>
<div class=wide><table>
<thead><tr><th scope=col>policy<th scope=col>of none<th scope=col>of hindsight<th scope=col>worst<th scope=col>best
<th scope=col>cuts<th scope=col>sent<th scope=col>read<th scope=col>rewritten<th scope=col>needed again
<th scope=col>its tokens</tr></thead>
<tbody>
@ROWS@
</tbody></table></div>
<h2>Cost against regret</h2>
<p>Further left: fewer cuts were needed again. Lower: cheaper.</p>
<div class=wide>@PLOT@</div>
<h2>Call by call</h2>
<p>The tokens of each call's prompt, in order.</p>
<div class=pick><select id=session aria-label=session></select><select id=policy aria-label=policy></select></div>
<div class=key><span><i style="background:var(--read)"></i>read from the cache</span>
<span><i style="background:var(--new)"></i>new</span><span><i style="background:var(--again)"></i>sent before, taken in
again</span><span><i style="background:var(--cut)"></i>cut here</span></div>
<div id=chart class=wide></div>
<p id=call aria-live=polite></p>
<h2>Cuts that were needed again</h2>
<div class=wide><table id=needs><thead><tr><th scope=col>result<th scope=col>tool<th scope=col>tokens
<th scope=col>answer<th scope=col>sign<th scope=col>shown by</tr></thead><tbody></tbody></table></div>
<script type=application/json id=data>@DATA@</script>
<script>
"use strict";
const sessions=JSON.parse(document.getElementById("data").textContent),$=id=>document.getElementById(id);
const svg=(name,facts)=>{const made=document.createElementNS("http://www.w3.org/2000/svg",name);
for(const key in facts)made.setAttribute(key,facts[key]);return made};
const number=value=>value.toLocaleString("en");
const fill=(select,names)=>{select.replaceChildren(...names.map((name,at)=>{const made=document.createElement("option");
made.value=at;made.textContent=name;return made}))};
function draw(){const one=sessions[$("session").value].policies[$("policy").value],wide=1060,high=260,left=70;
const most=Math.max(1,...one.beats.map(beat=>beat[2])),step=(wide-left)/Math.max(1,one.beats.length);
const bar=Math.max(1,step*.8),tall=tokens=>(high-30)*tokens/most;
const chart=svg("svg",{viewBox:`0 0 ${wide} ${high+24}`,role:"img","aria-label":"Tokens of each call"});
for(const share of [0,.5,1]){const y=high-tall(most*share);
chart.append(svg("line",{class:"grid",x1:left,x2:wide,y1:y,y2:y}));
const label=svg("text",{class:"axis",x:left-8,y:y+4,"text-anchor":"end"});
label.textContent=number(Math.round(most*share));
chart.append(label)}
one.beats.forEach((beat,at)=>{const[turn,number_,prompt,read,again,cuts]=beat,x=left+at*step;let y=high;
for(const[kind,tokens]of[["read",read],["again",again],["new",Math.max(0,prompt-read-again)]]){
y-=tall(tokens);chart.append(svg("rect",{class:kind,x,y,width:bar,height:tall(tokens)}))}
if(cuts.length){chart.append(svg("line",{class:"mark",x1:x+bar/2,x2:x+bar/2,y1:high,y2:high+12}));
chart.append(svg("circle",{class:"tip",cx:x+bar/2,cy:high+15,r:Math.min(7,3+cuts.length/4)}))}
const hit=svg("rect",{class:"hit",x,y:0,width:step,height:high+24,tabindex:0});
const tell=()=>{$("call").textContent=`Turn ${turn}, step ${number_}: ${number(prompt)} tokens, ${number(read)} read, `+
`${number(again)} taken in again`+(cuts.length?`; cut: results ${cuts.join(", ")}`:"")};
hit.addEventListener("mouseenter",tell);hit.addEventListener("focus",tell);hit.addEventListener("click",tell);
chart.append(hit)});
$("chart").replaceChildren(chart);
$("call").textContent=`${one.name}: ${one.ratio.toFixed(3)} of never cutting`;
$("needs").tBodies[0].replaceChildren(...one.needs.map(([result,tool,answer,sign,shown,freed])=>{
const line=document.createElement("tr");for(const value of[result,tool,number(freed),answer,sign,shown]){
const cell=document.createElement("td");cell.textContent=value;line.append(cell)}return line}))}
function choose(){const kept=$("policy").value||first(sessions[0]);
fill($("policy"),sessions[$("session").value].policies.map(one=>one.name));
$("policy").value=kept;draw()}
const first=one=>Math.max(0,one.policies.findIndex(each=>each.beats.some(beat=>beat[5].length)));
if(sessions.length){
fill($("session"),sessions.map(each=>`${each.name} (${each.model||"model unknown"}, ${each.rules})`));
$("session").addEventListener("change",choose);$("policy").addEventListener("change",draw);choose()}
$("theme").addEventListener("click",()=>{const now=document.documentElement.dataset.theme||
(matchMedia("(prefers-color-scheme:dark)").matches?"dark":"light");
document.documentElement.dataset.theme=now==="dark"?"light":"dark"});
</script>
</body>
</html>
"""
