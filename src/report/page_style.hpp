// How the page looks, and the one script on it: sorting tables by a click. Text only.
#pragma once

#include <string_view>

namespace refrain::report {

inline constexpr std::string_view kPageStyle = R"css(
:root{--bg:#fff;--fg:#1b1f24;--dim:#5b6570;--line:#d9dee3;--held:#3b76b8;--away:#e0a03a;--limit:#b3261e;--ok:#1c7a41;--card:#f5f7f9}
@media (prefers-color-scheme:dark){:root{--bg:#14181c;--fg:#e6e9ec;--dim:#9aa5b0;--line:#323a42;--held:#6aa5e0;--away:#e8b35c;--limit:#ff8a80;--ok:#6fcf97;--card:#1c2228}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,sans-serif}
main{max-width:1000px;margin:0 auto;padding:16px}
h1{font-size:1.5rem;margin:.2em 0}h2{font-size:1.2rem;margin:1.6em 0 .4em;overflow-wrap:anywhere}h3{font-size:1rem;margin:1.6em 0 .4em}
.verdict{background:var(--card);border-left:5px solid var(--away);padding:10px 14px;font-weight:600;overflow-wrap:anywhere}
.verdict.ok{border-color:var(--ok)}.verdict.oom,.verdict.corrupt,.verdict.killed{border-color:var(--limit)}
svg{width:100%;height:auto;display:block}
svg .held,i.held{fill:var(--held);background:var(--held)}svg .away,i.away{fill:var(--away);background:var(--away)}
svg .limit{stroke:var(--fg);stroke-width:2;stroke-dasharray:7 5}.key i.limit{height:0;border-top:2px dashed var(--fg);vertical-align:4px}
svg .grid{stroke:var(--line);stroke-width:1}svg text{fill:var(--dim);font:12px system-ui,sans-serif}svg text.name{fill:var(--fg)}
.keys{margin:.2em 0;color:var(--dim);font-size:13px}.key{margin-right:16px;white-space:nowrap;display:inline-block}.key i{display:inline-block;width:12px;height:12px;margin-right:6px;vertical-align:-1px}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:13px}
th,td{text-align:left;padding:4px 10px 4px 0;border-bottom:1px solid var(--line);vertical-align:top}
th{color:var(--dim);font-weight:600;white-space:nowrap}td:first-child{overflow-wrap:anywhere;min-width:9em}td.n{white-space:nowrap;font-variant-numeric:tabular-nums}
th[aria-sort]{color:var(--fg)}th.sorts{cursor:pointer}
ul{padding-left:1.2em}li{overflow-wrap:anywhere}
@media (max-width:600px){body{font-size:14px}main{padding:10px}svg text{font-size:20px}}
@media print{main{max-width:none}.wide{overflow:visible}svg,tr{break-inside:avoid}}
)css";

inline constexpr std::string_view kPageScript = R"js(
for(const head of document.querySelectorAll('thead th')){if(!head.textContent)continue;head.className='sorts';head.title='sort';
head.onclick=()=>{const up=head.getAttribute('aria-sort')==='descending';const body=head.closest('table').tBodies[0];const at=[...head.parentNode.children].indexOf(head);
const value=row=>{const cell=row.cells[at];return cell.dataset.n===undefined?cell.textContent:Number(cell.dataset.n)};
const rows=[...body.rows].sort((a,b)=>{const x=value(a),y=value(b);const order=typeof x==='number'&&typeof y==='number'?x-y:String(x).localeCompare(String(y));return up?order:-order});
body.append(...rows);for(const other of head.parentNode.children)other.removeAttribute('aria-sort');head.setAttribute('aria-sort',up?'ascending':'descending')}}
)js";

}  // namespace refrain::report
