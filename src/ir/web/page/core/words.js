// Numbers, times and sizes as people read them.

export function number(value) {
  return value === null || value === undefined ? "–" : value.toLocaleString("en");
}

export function score(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  return size >= 100 ? value.toFixed(0) : size >= 10 ? value.toFixed(1) : size >= 1 ? value.toFixed(2) : value.toFixed(3);
}

export function ms(value) {
  if (value === null || value === undefined) return "–";
  return value >= 1000 ? `${(value / 1000).toFixed(2)} s` : value >= 10 ? `${value.toFixed(0)} ms` : `${value.toFixed(1)} ms`;
}

export function seconds(value) {
  if (value === null || value === undefined) return "";
  const whole = Math.max(0, Math.round(value));
  return whole >= 3600 ? `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min` : whole >= 60 ? `${Math.floor(whole / 60)} min ${whole % 60} s` : `${whole} s`;
}

export function size(bytes) {
  if (!bytes) return "–";
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  let left = bytes;
  while (left >= 1000 && unit < units.length - 1) {
    left /= 1000;
    unit += 1;
  }
  return `${left >= 100 || unit === 0 ? left.toFixed(0) : left.toFixed(1)} ${units[unit]}`;
}

export function ago(when) {
  const then = typeof when === "number" ? when * 1000 : Date.parse(when);
  if (!then) return "";
  const past = (Date.now() - then) / 1000;
  const steps = [["second", 60], ["minute", 60], ["hour", 24], ["day", 30], ["month", 12], ["year", Infinity]];
  let left = past;
  for (const [unit, many] of steps) {
    if (left < many) {
      const whole = Math.max(0, Math.floor(left));
      return unit === "second" && whole < 10 ? "just now" : `${whole} ${unit}${whole === 1 ? "" : "s"} ago`;
    }
    left /= many;
  }
  return "";
}

export function count(many, what, plural = `${what}s`) {
  return `${number(many)} ${many === 1 ? what : plural}`;
}
