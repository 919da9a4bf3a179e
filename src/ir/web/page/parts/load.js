// Libraries that only some views need, fetched when one does.

const fetched = new Map();

function script(name) {
  if (!fetched.has(name)) {
    fetched.set(name, new Promise((done, failed) => {
      const place = document.createElement("script");
      place.src = `/assets/vendor/${name}.js`;
      place.onload = done;
      place.onerror = () => {
        fetched.delete(name);
        failed(new Error(`${name} could not be loaded.`));
      };
      document.head.append(place);
    }));
  }
  return fetched.get(name);
}

export async function d3() {
  await Promise.all(["d3-dispatch", "d3-quadtree", "d3-timer"].map(script));
  await script("d3-force");
  return globalThis.d3;
}

export async function uplot() {
  if (!document.getElementById("uplot-css")) {
    const place = document.createElement("link");
    Object.assign(place, { id: "uplot-css", rel: "stylesheet", href: "/assets/vendor/uplot.css" });
    document.head.append(place);
  }
  await script("uplot");
  return globalThis.uPlot;
}
