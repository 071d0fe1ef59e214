import { beginSpan, failureWord, isTraced, type SpanFacts } from './spans.ts'

/** Which calls of a driver are spans. */
interface Spanned<Port> {
  /** Said of each, such as which driver it is. What a call is given and gives is said nowhere. */
  facts: SpanFacts
  /** Its own functions; left out: they are. */
  own?: boolean
  /** Those of its parts, which are objects with functions: `machines` of an engine. */
  parts?: readonly (keyof Port & string)[]
}

/**
 * A driver whose calls are spans, named by the port and the function, such as `payments confirm` and `compute machines.start`.
 * Where no traces are wanted it is the driver itself.
 */
export function spannedPort<Port extends object>(
  port: string,
  driver: Port,
  { facts, own = true, parts = [] }: Spanned<Port>,
): Port {
  return isTraced() ? wrap(driver, { name: port, separator: ' ', facts, own, parts: new Set(parts) }) : driver
}

interface Wrapping {
  name: string
  separator: ' ' | '.'
  facts: SpanFacts
  own: boolean
  parts: ReadonlySet<string>
}

function wrap<Target extends object>(target: Target, wrapping: Wrapping): Target {
  const { name, separator, facts, own, parts } = wrapping
  return new Proxy(target, {
    get(_, key) {
      const value: unknown = Reflect.get(target, key, target)
      if (typeof key !== 'string') return value
      const called = `${name}${separator}${key}`
      if (typeof value === 'function') {
        return own ? spannedFunction(called, value.bind(target), facts) : value.bind(target)
      }
      const isPart = parts.has(key) && typeof value === 'object' && value !== null
      return isPart ? wrap(value, { name: called, separator: '.', facts, own: true, parts: NONE }) : value
    },
  })
}

const NONE: ReadonlySet<string> = new Set()

function spannedFunction(name: string, run: (...given: unknown[]) => unknown, facts: SpanFacts) {
  return (...given: unknown[]): unknown => {
    const span = beginSpan(name, facts)
    if (span === null) return run(...given)
    try {
      const result = span.within(() => run(...given))
      if (!(result instanceof Promise)) {
        span.end({}, null)
        return result
      }
      return result.then(
        value => {
          span.end({}, null)
          return value
        },
        error => {
          span.end({}, failureWord(error))
          throw error
        },
      )
    } catch (error) {
      span.end({}, failureWord(error))
      throw error
    }
  }
}
