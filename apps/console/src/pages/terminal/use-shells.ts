import { TERMINAL_SERIAL } from '@berth/contract/instances'
import { TERMINAL_SESSIONS_MAX } from '@berth/contract/limits'
import { useCallback, useMemo, useState } from 'react'

/** What the gateway says of the shells of an instance. */
export interface FoundShells {
  sessions: readonly number[]
  sessions_max: number
  has_serial: boolean
}

/** The shells of one instance, as this page shows them. */
export interface Shells {
  /** Numbers of those that have a tab, the lowest first; among them the serial console, which always has one where it is. */
  listed: readonly number[]
  /** Those of them that were in sight once: they have a screen, and a connection of their own. */
  seen: readonly number[]
  /** How many there may be; null until the gateway has said it. */
  max: number | null
  /** The number that another shell gets; null while there may be no other. */
  next: number | null
  /** Takes over what the gateway found. What it does not name stays: it may not have heard of it in time. */
  found: (shells: FoundShells) => void
  /** Takes a tab away. @returns The shell to show instead: its neighbour before, else the one after; null where it was the only one. */
  drop: (session: number) => number | null
  /** Takes all tabs away but the one in sight. */
  dropOthers: () => void
}

/**
 * Keeps which shells have a tab.
 * @param shown Number of the shell in sight.
 */
export function useShells(shown: number): Shells {
  const [known, setKnown] = useState<readonly number[]>([])
  const [looked, setLooked] = useState<readonly number[]>([])
  const [last, setLast] = useState<number | null>(null)
  const [max, setMax] = useState<number | null>(null)
  const [hasSerial, setHasSerial] = useState(false)
  // What is closed while it is in sight does not come back before the page shows another one.
  if (shown !== last) {
    setLast(shown)
    if (!looked.includes(shown)) setLooked([...looked, shown])
  }
  const listed = useMemo(
    () => union(union(known, looked), hasSerial ? [TERMINAL_SERIAL] : []),
    [known, looked, hasSerial],
  )
  const found = useCallback(({ sessions, sessions_max, has_serial }: FoundShells) => {
    setKnown(before => union(before, sessions))
    setMax(sessions_max)
    setHasSerial(has_serial)
  }, [])
  return {
    listed,
    seen: looked,
    max,
    next: max === null ? null : firstFree(listed, max),
    found,
    drop(session) {
      const at = listed.indexOf(session)
      setKnown(before => before.filter(one => one !== session))
      setLooked(before => before.filter(one => one !== session))
      return listed[at - 1] ?? listed[at + 1] ?? null
    },
    dropOthers() {
      setKnown([])
      setLooked([shown])
    },
  }
}

function union(one: readonly number[], other: readonly number[]): readonly number[] {
  return [...new Set([...one, ...other])].sort((a, b) => a - b)
}

function firstFree(taken: readonly number[], max: number): number | null {
  for (let number = 1; number <= Math.min(max, TERMINAL_SESSIONS_MAX); number += 1) {
    if (!taken.includes(number)) return number
  }
  return null
}
