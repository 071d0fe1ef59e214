import {
  type Attributes,
  type Context,
  context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, TraceIdRatioBasedSampler, TracerProvider } from '@opentelemetry/sdk-trace'
import type { Config } from '../config/config.ts'
import type { Logger } from '../log.ts'
import { makeSpansBy, type OpenSpan, type SpanFacts } from './spans.ts'

const SERVICE = 'berth-gateway'
/** Spans that wait for a collector; while it is away, those that come when so many wait are dropped. */
const WAITING_MAX = 2_048
const BATCH_MAX = 512
const EXPORT_EVERY_MS = 2_000
/** A collector that does not answer is given up, and what it was sent with it. */
const EXPORT_TIMEOUT_MS = 5_000
/** At the end what waits may still go out, and nobody waits for long. */
const LAST_EXPORT_MS = 1_000
const FACT_CHARS_MAX = 200
/** As W3C Trace Context has it, of the one version that there is. */
const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/
const NO_ID = /^0+$/

/**
 * Sends spans to a collector by OTLP over HTTP, as JSON, from now on and in this process. Loaded only where that is wanted.
 * @param gatewayId Tells the gateways of an installation apart.
 * @returns Sends what waits, within a second, and makes no more.
 */
export function startTracing(
  settings: NonNullable<Config['traces']>,
  { gatewayId, log }: { gatewayId: string; log: Pick<Logger, 'info'> },
): () => Promise<void> {
  const { url, headers, share } = settings
  const exporter = new OTLPTraceExporter({
    url,
    headers: { ...headers },
    timeoutMillis: EXPORT_TIMEOUT_MS,
    concurrencyLimit: 1,
  })
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': SERVICE, 'service.instance.id': gatewayId }),
    // By the trace's id alone: each gateway decides the same of one trace, and nobody outside decides it for us.
    sampler: new TraceIdRatioBasedSampler(share),
    spanLimits: {
      attributeValueLengthLimit: FACT_CHARS_MAX,
      attributeCountLimit: 16,
      eventCountLimit: 0,
      linkCountLimit: 0,
    },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter,
        maxQueueSize: WAITING_MAX,
        maxExportBatchSize: BATCH_MAX,
        scheduledDelayMillis: EXPORT_EVERY_MS,
        exportTimeoutMillis: EXPORT_TIMEOUT_MS,
      }),
    ],
  })
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  const tracer = provider.getTracer(SERVICE)
  makeSpansBy({
    begin(name, facts, from) {
      const parent = from === undefined ? context.active() : contextFrom(from)
      const kind = from === undefined ? SpanKind.INTERNAL : SpanKind.SERVER
      const span = tracer.startSpan(name, { kind, attributes: attributesOf(facts) }, parent)
      return openSpan(span, trace.setSpan(parent, span))
    },
    here() {
      const told = trace.getSpanContext(context.active())
      if (!told) return undefined
      return `00-${told.traceId}-${told.spanId}-0${told.traceFlags & TraceFlags.SAMPLED}`
    },
  })
  log.info({ collector: new URL(url).host, share }, 'traces are sent')
  return async () => {
    makeSpansBy(null)
    const late = new Promise<void>(resolve => setTimeout(resolve, LAST_EXPORT_MS).unref())
    await Promise.race([provider.shutdown().catch(() => {}), late])
    context.disable()
  }
}

function openSpan(span: Span, inner: Context): OpenSpan {
  return {
    within: run => context.with(inner, run),
    end(facts, failure) {
      span.setAttributes(attributesOf(facts))
      if (failure !== null) {
        span.setAttribute('error.type', failure)
        span.setStatus({ code: SpanStatusCode.ERROR })
      }
      span.end()
    },
  }
}

/** What another says of itself; anything else begins a trace of its own. */
function contextFrom(traceparent: string): Context {
  const [, traceId = '', spanId = '', flags = ''] = TRACEPARENT.exec(traceparent) ?? []
  if (traceId === '' || NO_ID.test(traceId) || NO_ID.test(spanId)) return ROOT_CONTEXT
  return trace.setSpanContext(ROOT_CONTEXT, {
    ...{ traceId, spanId, isRemote: true },
    traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED,
  })
}

function attributesOf(facts: SpanFacts): Attributes {
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined))
}
