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
  const key = `berth.${name}.draft`
  const [draft, setDraft] = useState(() => readDraft(key, schema, empty))
  useEffect(() => {
    try {
      sessionStorage.setItem(key, JSON.stringify(draft))
    } catch {
      // Without storage it lasts as long as the page.
    }
  }, [key, draft])
  return [draft, change => setDraft(before => ({ ...before, ...change }))]
}

function readDraft<Draft>(key: string, schema: z.ZodType<Draft>, empty: Draft): Draft {
  try {
    const kept = schema.safeParse(JSON.parse(sessionStorage.getItem(key) ?? 'null'))
    return kept.success ? kept.data : empty
  } catch {
    return empty
  }
}
