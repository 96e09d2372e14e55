// SPDX-License-Identifier: Apache-2.0
// Sends nested spans with everything that spans can have, by the SDK of OpenTelemetry, and prints what it
// sent as JSON. Arguments: "proto" or "http" (JSON), the URL, "gzip" or "none", and how many traces.
'use strict';

const {context, trace, SpanKind, SpanStatusCode, TraceFlags} = require('@opentelemetry/api');
const {BasicTracerProvider, BatchSpanProcessor} = require('@opentelemetry/sdk-trace-base');
const {resourceFromAttributes} = require('@opentelemetry/resources');

const [kind, url, compression, count] = process.argv.slice(2);
const {OTLPTraceExporter} = require('@opentelemetry/exporter-trace-otlp-' + kind);
const failures = [];
const exporter = new OTLPTraceExporter({
  url,
  compression,
  headers: process.env.TOKEN ? {authorization: 'Bearer ' + process.env.TOKEN} : {},
});
const resourceAttributes = {
  'service.name': 'shop-' + kind,
  'host.name': 'host-1',
  'deployment.environment': 'test',
  'process.pid': 4711,
  'shared': 'of the resource',
};

// Passes spans on, and keeps what they were.
const sent = [];
const recording = {
  export(spans, done) {
    exporter.export(spans, (result) => {
      if (result.code !== 0) {
        failures.push(String(result.error));
      }
      done(result);
    });
  },
  shutdown: () => exporter.shutdown(),
  forceFlush: () => exporter.forceFlush(),
};

const provider = new BasicTracerProvider({
  resource: resourceFromAttributes(resourceAttributes),
  spanProcessors: [new BatchSpanProcessor(recording, {maxExportBatchSize: 512, maxQueueSize: 100000})],
});
const tracer = provider.getTracer('interop', '1.2.3');

function nanoseconds(time) {
  return (BigInt(time[0]) * 1000000000n + BigInt(time[1])).toString();
}

function remember(span) {
  sent.push({
    trace_id: span.spanContext().traceId,
    span_id: span.spanContext().spanId,
    parent: span.parentSpanContext ? span.parentSpanContext.spanId : '',
    name: span.name,
    kind: span.kind,
    start: nanoseconds(span.startTime),
    end: nanoseconds(span.endTime),
    status: span.status,
    attributes: span.attributes,
    events: span.events.map((event) => ({
      name: event.name, time: nanoseconds(event.time), attributes: event.attributes || {},
    })),
    links: span.links.map((link) => ({
      trace_id: link.context.traceId, span_id: link.context.spanId, attributes: link.attributes || {},
    })),
  });
}

function child(parent, name, options, work) {
  const span = tracer.startSpan(name, options, trace.setSpan(context.active(), parent));
  work(span);
  span.end();
  remember(span);
}

function request(number) {
  const root = tracer.startSpan('GET /cart', {
    kind: SpanKind.SERVER,
    attributes: {
      'http.method': 'GET',
      'http.status_code': 200 + number,
      'number': number,
      'ratio': 0.1 + number,
      'huge': 1e300,
      'negative': -42,
      'exact': 9007199254740991,
      'flag': true,
      'off': false,
      'empty': '',
      'list': ['a', 'b', 'ä\u0001'],
      'numbers': [1, 2, 3],
      'ratios': [1.5, -2.25],
      'flags': [true, false],
      'shared': 'of the span',
      'events': 'a name that is also ours',
      'unicode': 'Zürich 東京 \u{1F600}',
      'control': 'tab\tnewline\nquote"backslash\\',
    },
    links: [{
      context: {traceId: '0123456789abcdef0123456789abcdef', spanId: 'fedcba9876543210',
                traceFlags: TraceFlags.SAMPLED},
      attributes: {'link.kind': 'follows'},
    }],
  });
  child(root, 'SELECT', {kind: SpanKind.CLIENT, attributes: {'db.rows': number}}, (query) => {
    query.addEvent('rows', {count: 3, first: 'x'});
    child(query, 'fetch', {}, (fetch) => {
      fetch.setStatus({code: SpanStatusCode.OK});
    });
  });
  child(root, 'charge', {kind: SpanKind.PRODUCER}, (charge) => {
    charge.recordException(new TypeError('card ' + number + ' refused'));
    charge.setStatus({code: SpanStatusCode.ERROR, message: 'refused'});
  });
  root.end();
  remember(root);
}

for (let number = 0; number < Number(count); number++) {
  request(number);
}
provider.forceFlush()
  .then(() => provider.shutdown())
  .catch((error) => failures.push(String(error)))
  .finally(() => {
    console.log(JSON.stringify({sent, failures, resource: resourceAttributes}));
  });
