"""The style sheet of a comparison's page: one column on a phone, charts side by side on a desk."""

STYLE = """
:root{--page:#fff;--ink:#1f2933;--soft:#5b6875;--line:#dfe4ea;--card:#f6f8fa;--ours:#33669e;
--peer:#9aa5b1}
@media(prefers-color-scheme:dark){:root{--page:#14181d;--ink:#e4e9ee;--soft:#9fabb7;--line:#323b45;
--card:#1c2229;--ours:#6fa8e0;--peer:#66727e}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main{max-width:76rem;margin:0 auto;padding:1.25rem 1rem 3rem}
h1{font-size:1.6rem;line-height:1.2;margin:0 0 .5rem;overflow-wrap:anywhere}
h2{font-size:1.1rem;margin:2rem 0 .5rem}
p{margin:.4rem 0;max-width:70ch;overflow-wrap:anywhere}
small{color:var(--soft);font-size:.8rem;font-weight:400}
.verdict{font-size:1.15rem;font-weight:600}
.legend{color:var(--soft);font-size:.9rem}
.key{display:inline-block;width:.8rem;height:.8rem;border-radius:2px;background:var(--peer);
margin:0 .3rem 0 .5rem}
.key.ours{background:var(--ours);margin-left:0}
.charts{display:grid;gap:1rem;grid-template-columns:repeat(auto-fit,minmax(min(100%,28rem),1fr))}
figure{margin:0;padding:.8rem 1rem;background:var(--card);border-radius:8px;min-width:0}
figcaption{font-weight:600;margin-bottom:.4rem}
.bar{display:grid;grid-template-columns:minmax(0,14.5rem) minmax(0,1fr) 3.6rem;align-items:center;
gap:0 .6rem;font-size:.85rem;line-height:1.3;padding:.1rem 0}
.bar span{overflow-wrap:anywhere}
.bar b{text-align:right;font-variant-numeric:tabular-nums}
svg{display:block;width:100%;height:20px}
rect{fill:var(--peer)}
.ours rect{fill:var(--ours)}
line{stroke:var(--ink);stroke-width:2}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-size:.88rem;font-variant-numeric:tabular-nums}
th,td{padding:.35rem .7rem;text-align:right;vertical-align:top;border-bottom:1px solid var(--line)}
thead th{vertical-align:bottom;color:var(--soft);font-weight:600}
th:nth-child(2),td:first-child,th:first-child{text-align:left}
tbody th{font-weight:400;min-width:9rem}
tr.ours th{font-weight:600;color:var(--ours)}
td small{display:block;white-space:nowrap}
dl{margin:.8rem 0 0;font-size:.9rem}
dt{font-weight:600;margin-top:.4rem}
dd{margin:0;color:var(--soft);overflow-wrap:anywhere;max-width:80ch}
@media(max-width:40rem){th,td{padding:.35rem .4rem}tbody th{min-width:7rem;overflow-wrap:anywhere}
.bar{grid-template-columns:minmax(0,1fr) auto}
.bar span{grid-area:1/1}.bar b{grid-area:1/2}.bar svg{grid-area:2/1/3/3}}
"""
