import { IdentityProviderError } from './port.ts'

const DETAIL_CHARS_MAX = 300
const CAUSES_MAX = 4

/**
 * What went wrong at an identity provider, for the log. Errors of the client library hold whole answers as their
 * cause, tokens and claims among them, so that only words and the standard's own error fields are taken over.
 * @param name The provider.
 * @param error Anything that was thrown.
 */
export function providerFailure(name: string, error: unknown): IdentityProviderError {
  if (error instanceof IdentityProviderError) return error
  const details = causesOf(error).flatMap(describe)
  return new IdentityProviderError(`${name}: ${details.join('; ').slice(0, DETAIL_CHARS_MAX)}`)
}

function causesOf(error: unknown): unknown[] {
  const causes: unknown[] = []
  for (let next = error; next !== undefined && causes.length < CAUSES_MAX; next = (next as Error)?.cause) {
    causes.push(next)
  }
  return causes
}

function describe(cause: unknown): string[] {
  if (cause instanceof Error) {
    const { code } = cause as NodeJS.ErrnoException
    return [code === undefined ? cause.message : `${cause.message} (${code})`]
  }
  return [...standardFields(cause), ...standardFields((cause as { body?: unknown } | null)?.body)]
}

/** RFC 6749: `error` is one of a few words, `error_description` is meant for the developer. */
function standardFields(body: unknown): string[] {
  if (typeof body !== 'object' || body === null) return []
  const { error, error_description: description } = body as Record<string, unknown>
  return [error, description].filter(value => typeof value === 'string')
}
