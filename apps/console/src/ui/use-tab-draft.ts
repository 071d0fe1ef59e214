import { useEffect, useState } from 'react'
import type * as z from 'zod'

/**
 * What was typed on a page and not sent: it is kept in this tab, so that it outlasts a reload and signing in.
 * @param name Of the page, under which it is kept.
 * @param schema What a draft is; what is kept and is none counts as empty.
 * @param empty Where nothing was typed.
 * @returns It, and what changes some of it.
 */
export function useTabDraft<Draft extends object>(
  name: string,
  schema: z.ZodType<Draft>,
  empty: Draft,
): readonly [Draft, (change: Partial<Draft>) => void] {
  const [draft, setDraft] = useState(() => readDraft(keyOf(name), schema, empty))
  useEffect(() => keepDraft(name, draft), [name, draft])
  return [draft, change => setDraft(before => ({ ...before, ...change }))]
}

/** Changes what was typed on another page, for when that is opened next; parameters as those of `useTabDraft`. */
export function changeTabDraft<Draft extends object>(
  name: string,
  schema: z.ZodType<Draft>,
  empty: Draft,
  change: Partial<Draft>,
): void {
  keepDraft(name, { ...readDraft(keyOf(name), schema, empty), ...change })
}

const keyOf = (name: string) => `berth.${name}.draft`

function keepDraft(name: string, draft: object): void {
  try {
    sessionStorage.setItem(keyOf(name), JSON.stringify(draft))
  } catch {
    // Without storage it lasts as long as the page.
  }
}

function readDraft<Draft>(key: string, schema: z.ZodType<Draft>, empty: Draft): Draft {
  try {
    const kept = schema.safeParse(JSON.parse(sessionStorage.getItem(key) ?? 'null'))
    return kept.success ? kept.data : empty
  } catch {
    return empty
  }
}
