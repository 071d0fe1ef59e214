import { S3Error } from '../s3-error.ts'

interface Bounds {
  /** What was told is asked again after so long, in milliseconds. */
  knownMs: number
  /** Things that are known at once; the oldest goes. */
  most: number
  /** Things that are asked for at once; left out: whoever may ask bounds them. */
  askedMost?: number
  now(): number
}

/**
 * What the gateway told a moment ago of things that have names. What was told is asked again after a while, and at once after a
 * change; whoever asks for what is asked for already waits for the same answer. That there is none of a name is asked each time.
 */
export function createKnown<Told>({ knownMs, most, askedMost = Number.POSITIVE_INFINITY, now }: Bounds) {
  const known = new Map<string, { told: Told; until: number }>()
  const asking = new Map<string, Promise<Told | null>>()

  function keep(name: string, told: Told): void {
    const [oldest] = known.keys()
    if (known.size >= most && oldest !== undefined) known.delete(oldest)
    known.set(name, { told, until: now() + knownMs })
  }

  return {
    /**
     * What is known by a name; null where there is none.
     * @param ask Asks for it.
     * @param isKept Whether an answer is kept for whoever asks by this name next; left out: each is.
     * @throws S3Error `SlowDown` where too many are asked for, and what asking throws.
     */
    async find(
      name: string,
      ask: () => Promise<Told | null>,
      isKept: (told: Told) => boolean = () => true,
    ): Promise<Told | null> {
      const found = known.get(name)
      if (found && found.until > now()) return found.told
      known.delete(name)
      const under = asking.get(name)
      if (under) return under
      if (asking.size >= askedMost) throw new S3Error('SlowDown')
      const asked = ask()
      asking.set(name, asked)
      try {
        const told = await asked
        // What was asked before a change may be what was so before it.
        if (told !== null && asking.get(name) === asked && isKept(told)) keep(name, told)
        return told
      } finally {
        if (asking.get(name) === asked) asking.delete(name)
      }
    },
    /** @param name Null: all. */
    forget(name: string | null): void {
      if (name === null) {
        known.clear()
        asking.clear()
        return
      }
      known.delete(name)
      asking.delete(name)
    },
  }
}
