/**
 * How long a test waits for what must come about: only what never does meets it, also on a computer that does much
 * else. The second that Vitest waits by itself is met by a slow one.
 */
export const PATIENCE_MS = 60_000
