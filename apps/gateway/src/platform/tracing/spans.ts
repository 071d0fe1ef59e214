/**
 * What is said of a piece of work: names of ours, numbers, states. Never what a customer typed, a key, an address, a path with
 * an id in it, or the words of an error: traces go to another system, which more people read.
 */
export type SpanFacts = Readonly<Record<string, string | number | boolean | undefined>>

/** Work that began, and ends elsewhere. */
export interface OpenSpan {
  /** Runs something as a part of it: spans that begin there are below it. */
  within<Result>(run: () => Result): Result
  /** @param failure What it failed with, in a word; null where it did not. */
  end(facts: SpanFacts, failure: string | null): void
}

/** Where spans go. */
export interface SpanMaker {
  /** @param from The `traceparent` of what asked for it; left out: what runs here. */
  begin(name: string, facts: SpanFacts, from?: string): OpenSpan
  /** The `traceparent` of what runs here; undefined where nothing does. */
  here(): string | undefined
}

/** Of this process, as its threads of work are; null while no traces are wanted. */
let maker: SpanMaker | null = null

/** Has spans made from now on, or by nobody. */
export function makeSpansBy(next: SpanMaker | null): void {
  maker = next
}

/** Whether traces are wanted. */
export function isTraced(): boolean {
  return maker !== null
}

/** As `SpanMaker.begin`; null where no traces are wanted. */
export function beginSpan(name: string, facts: SpanFacts = {}, from?: string): OpenSpan | null {
  return maker?.begin(name, facts, from) ?? null
}

/** The `traceparent` of what runs here, to be handed on with what is asked of others; undefined where no traces are wanted. */
export function traceparentHere(): string | undefined {
  return maker?.here()
}

/**
 * Does a piece of work as a span. Where no traces are wanted it is only done.
 * @param from As in `beginSpan`.
 * @throws What the work throws; the span says no more of it than its code, or its kind.
 */
export async function spanned<Result>(
  name: string,
  facts: SpanFacts,
  work: () => Promise<Result>,
  from?: string,
): Promise<Result> {
  const span = beginSpan(name, facts, from)
  if (span === null) return await work()
  try {
    const result = await span.within(work)
    span.end({}, null)
    return result
  } catch (error) {
    span.end({}, failureWord(error))
    throw error
  }
}

/** An error's code, else its kind: neither holds anything that was typed. */
export function failureWord(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  const { code } = error as { code?: unknown }
  return typeof code === 'string' && /^[\w-]{1,60}$/.test(code) ? code : error.name
}
