// Lines over a depth or a rank, by uPlot.

import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { score } from "../core/words.js";
import { uplot } from "./load.js";

/** `lines` are [name, {x: y}]. What is drawn stands below as a table, for who cannot see it. */
export function Plot({ title, lines, x = "depth" }) {
  const place = useRef(null);
  const [failed, setFailed] = useState(false);
  const points = [...new Set(lines.flatMap(([, by]) => Object.keys(by).map(Number)))].sort((a, b) => a - b);
  useEffect(() => {
    let plot = null;
    let gone = false;
    const draw = async () => {
      const UPlot = await uplot();
      if (gone || !place.current) return;
      const look = getComputedStyle(document.documentElement);
      const ink = look.getPropertyValue("--faint").trim();
      const rule = look.getPropertyValue("--rule").trim();
      const axis = { stroke: ink, grid: { stroke: rule, width: 1 }, ticks: { stroke: rule, width: 1 }, font: "12px system-ui" };
      const colours = ["--dense", "--lexical", "--boost", "--faint"].map((name) => look.getPropertyValue(name).trim());
      const sized = () => Math.max(200, place.current.clientWidth);
      plot = new UPlot({
        width: sized(),
        height: 210,
        cursor: { y: false },
        legend: { live: true },
        scales: { x: { time: false, distr: points[0] > 0 ? 3 : 1 }, y: { range: (_, low, high) => [Math.min(0, low), Math.max(high * 1.05, 0.1)] } },
        axes: [{ ...axis, splits: () => points, filter: (_, all) => all, values: (_, all) => all.map(String), label: x, labelSize: 18, labelFont: "12px system-ui" }, { ...axis, size: 44 }],
        series: [{ label: x }, ...lines.map(([name], at) => ({ label: name, stroke: colours[at % colours.length], width: 2, dash: at === 1 ? [7, 4] : undefined, points: { show: true, size: 5 }, value: (_, value) => score(value) }))],
      }, [points, ...lines.map(([, by]) => points.map((point) => by[point] ?? null))], place.current);
      const watch = new ResizeObserver(() => plot.setSize({ width: sized(), height: 210 }));
      watch.observe(place.current);
      plot.watch = watch;
    };
    draw().catch(() => setFailed(true));
    const theme = matchMedia("(prefers-color-scheme: dark)");
    const again = () => {
      plot?.watch?.disconnect();
      plot?.destroy();
      draw().catch(() => setFailed(true));
    };
    theme.addEventListener("change", again);
    addEventListener("themed", again);
    return () => {
      gone = true;
      theme.removeEventListener("change", again);
      removeEventListener("themed", again);
      plot?.watch?.disconnect();
      plot?.destroy();
    };
  }, [JSON.stringify(lines)]);
  return html`<figure class="plot" aria-label=${title}>
    <figcaption>${title}</figcaption>
    ${failed ? null : html`<div ref=${place} aria-hidden="true"></div>`}
    <details><summary>As a table</summary><div class="scroll" tabindex="0" role="region" aria-label=${`${title}, as a table`}><table>
      <thead><tr><th scope="col">${x}</th>${lines.map(([name]) => html`<th scope="col">${name}</th>`)}</tr></thead>
      <tbody>${points.map((point) => html`<tr><th scope="row">${point}</th>${lines.map(([, by]) => html`<td class="num">${score(by[point])}</td>`)}</tr>`)}</tbody>
    </table></div></details>
  </figure>`;
}
