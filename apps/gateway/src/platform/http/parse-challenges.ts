/** How a server wants to be told who asks (RFC 9110, 11.6.1). */
export interface Challenge {
  /** In lower case, such as `bearer`. */
  scheme: string
  /** By their names in lower case. */
  parameters: ReadonlyMap<string, string>
}

/** A word; with an equals sign behind it a parameter, else a scheme. */
const CHALLENGE_PART = /([\w!#$%&'*+.^`|~-]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+)))?/g

/**
 * Reads `WWW-Authenticate`.
 * @param headers Each header of that name; one may hold several challenges.
 */
export function parseChallenges(headers: readonly string[]): Challenge[] {
  const challenges: { scheme: string; parameters: Map<string, string> }[] = []
  for (const [, word = '', quoted, plain] of headers.join(', ').matchAll(CHALLENGE_PART)) {
    const value = quoted?.replace(/\\(.)/g, '$1') ?? plain
    if (value === undefined) challenges.push({ scheme: word.toLowerCase(), parameters: new Map() })
    else challenges.at(-1)?.parameters.set(word.toLowerCase(), value)
  }
  return challenges
}
