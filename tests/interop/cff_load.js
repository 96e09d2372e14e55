// SPDX-License-Identifier: Apache-2.0
// Loads a wtf-trace file with the existing reader, the npm package tracing-framework, and prints
// what that made of it as JSON. Times are in microseconds; numbers that JSON has no word for are
// the strings "-0", "NaN", "Infinity" and "-Infinity". Ends with 1 where the reader refuses the file.
//
//     node cff_load.js FILE            zones with their events: [time, name, arguments or null]
//     node cff_load.js --figures FILE  loads and walks it: events, seconds of CPU time, peak memory
'use strict';

const wtf = require('tracing-framework');

function plainNumber(value) {
  if (Object.is(value, -0)) return '-0';
  return Number.isFinite(value) ? value : String(value);
}

// The reader's typed arrays become arrays.
function plain(value) {
  if (value === undefined || value === null) return null;
  if (typeof value === 'number') return plainNumber(value);
  if (Array.isArray(value) || ArrayBuffer.isView(value)) return Array.from(value, plain);
  if (typeof value !== 'object') return value;
  const result = {};
  for (const key of Object.keys(value)) result[key] = plain(value[key]);
  return result;
}

function describeZone(zone) {
  const events = [];
  const it = zone.getEventList().begin();
  for (; !it.done(); it.next()) {
    events.push([Math.round(it.getTime() * 1000), it.getName(), plain(it.getArguments())]);
  }
  return {name: zone.getName(), type: zone.getType(), location: zone.getLocation(), events};
}

function describe(db) {
  const zones = db.getZones().map(describeZone);
  const marks = db.getZones().map((zone) => zone.getMarkList().getCount());
  return {
    events: zones.reduce((sum, zone) => sum + zone.events.length, 0),
    marks: marks.reduce((sum, count) => sum + count, 0),
    timebase: db.getTimebase(),
    zones,
  };
}

// Looks at the time and the type of every event, as the measurement of ours does.
function walk(db) {
  let events = 0;
  let times = 0;
  let types = 0;
  for (const zone of db.getZones()) {
    const it = zone.getEventList().begin();
    for (; !it.done(); it.next()) {
      times += it.getTime();
      types += it.getTypeId();
      events++;
    }
  }
  return {events, times, types};
}

function figures(db, before) {
  const {events, times} = walk(db);
  const used = process.cpuUsage(before);
  return {
    events,
    ms: times,
    cpu_seconds: (used.user + used.system) / 1e6,
    peak_kb: process.resourceUsage().maxRSS,
  };
}

function main(words) {
  const wantsFigures = words[0] === '--figures';
  const path = words[wantsFigures ? 1 : 0];
  const before = process.cpuUsage();

  if (!path) {
    console.error('usage: node cff_load.js [--figures] FILE');
    process.exitCode = 2;
    return;
  }
  wtf.db.load(path, (db) => {
    if (db instanceof Error) {
      console.error(`refused: ${db.message}`);
      process.exitCode = 1;
      return;
    }
    console.log(JSON.stringify(wantsFigures ? figures(db, before) : describe(db)));
  });
}

main(process.argv.slice(2));
