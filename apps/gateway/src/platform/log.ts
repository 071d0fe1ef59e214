import { type DestinationStream, type Logger, pino, stdSerializers } from 'pino'
import { PinoPretty } from 'pino-pretty'
import { withSourcePositions } from './source-positions.ts'

export type { Logger } from 'pino'

/** Keys whose values never reach a log, at the top of an entry and one level below. */
const SECRET_KEYS = [
  'authorization',
  'cookie',
  'password',
  'token',
  'ticket',
  'secret',
  'source',
  'serviceSecret',
  'service_secret',
  'accessToken',
]

interface LogOptions {
  level: string
  /** For people at a terminal, instead of one JSON object a line. */
  pretty?: boolean
}

/** Standard error: what is said to the operator goes to standard output. */
const DESTINATION = 2

/**
 * The gateway's log.
 * @param options.level A level of pino, or `silent`.
 */
export function createLog(options: LogOptions): Logger {
  return createLogTo(
    options.pretty
      ? PinoPretty({ destination: DESTINATION, sync: true, translateTime: 'SYS:HH:MM:ss' })
      : pino.destination({ dest: DESTINATION, sync: false }),
    options,
  )
}

/** The same, to a destination of the caller's. */
export function createLogTo(destination: DestinationStream, { level, pretty = false }: LogOptions): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      // The pretty form reads the number.
      ...(!pretty && { formatters: { level: (label: string) => ({ level: label }) } }),
      redact: { paths: SECRET_KEYS.flatMap(key => [key, `*.${key}`]), censor: '[redacted]' },
      serializers: { err: serializeError },
    },
    destination,
  )
}

const CAUSES_MAX = 5

/**
 * An error for the log, with its causes. What a query was given and which values PostgreSQL quotes back are left
 * out: they hold what customers typed.
 */
export function serializeError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return stdSerializers.err(error as Error)
  const { code, constraint, table } = error as Error & Record<string, unknown>
  const message = withoutParameters(error.message)
  return {
    type: error.name,
    message,
    ...(code !== undefined && { code }),
    ...(constraint !== undefined && { constraint, table }),
    stack: error.stack && withSourcePositions(error.stack.replace(error.message, message)),
    ...(error.cause !== undefined && depth < CAUSES_MAX && { cause: serializeError(error.cause, depth + 1) }),
  }
}

function withoutParameters(message: string): string {
  return message.replace(/\nparams: [\s\S]*$/, '\nparams: [redacted]')
}
