// The data blocks of the page: an index as JSON, schedules compressed, read when they are first asked for.

const schedules = new Map();

export function readIndex(identifier) {
  return JSON.parse(document.getElementById(identifier).textContent);
}

export function hasSchedule(identifier) {
  return document.getElementById(identifier) !== null;
}

export function readSchedule(identifier) {
  if (!schedules.has(identifier)) schedules.set(identifier, unpackBlock(document.getElementById(identifier).textContent));
  return schedules.get(identifier);
}

async function unpackBlock(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}
