import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

/** Seconds: from a cached read to the longest that a call may take. */
const CALL_BUCKETS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60]

export interface Metrics {
  /** Notes one call by operation name. */
  observeCall(operation: string, httpStatus: number, seconds: number): void
  /** Adds a number that is read when metrics are asked for; `NaN` where it cannot be read then. */
  gauge(name: string, help: string, read: () => number | Promise<number>): void
  /** The text that Prometheus scrapes. */
  text(): Promise<string>
  contentType: string
}

/** Makes the metrics of one gateway, in a registry of their own. */
export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const calls = new Histogram({
    name: 'berth_call_seconds',
    help: 'Time to answer a call, by operation.',
    labelNames: ['operation'],
    buckets: CALL_BUCKETS_S,
    registers: [registry],
  })
  const answers = new Counter({
    name: 'berth_answers_total',
    help: 'Answers, by operation and HTTP status.',
    labelNames: ['operation', 'status'],
    registers: [registry],
  })
  return {
    observeCall(operation, httpStatus, seconds) {
      calls.observe({ operation }, seconds)
      answers.inc({ operation, status: httpStatus })
    },
    gauge(name, help, read) {
      new Gauge({
        name,
        help,
        registers: [registry],
        async collect() {
          try {
            this.set(await read())
          } catch {
            // Its database is away, say; the other figures are still worth having.
            this.set(Number.NaN)
          }
        },
      })
    },
    text: () => registry.metrics(),
    contentType: registry.contentType,
  }
}
