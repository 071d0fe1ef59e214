import { useEffect } from 'react'

const PREFIX = 'berth.image-draft'

/**
 * What was typed into a form before its page was left or loaded again; the form's own values where there is none.
 * @param name Whose form it is, and of what.
 * @param initial The values that it has otherwise. Of what was kept, only what fits them is taken.
 */
export function readDraft<Values extends object>(name: string, initial: Values): Values {
  const kept = parsed(storage()?.getItem(`${PREFIX}.${name}`) ?? null)
  const fitting = Object.entries(kept).filter(([key, value]) => isAlike(initial[key as keyof Values], value))
  return { ...initial, ...Object.fromEntries(fitting) }
}

/** Forgets it: the form was sent. */
export function dropDraft(name: string): void {
  storage()?.removeItem(`${PREFIX}.${name}`)
}

/**
 * Keeps what stands in a form, in this tab, until it is sent.
 * @param values Null while nothing was typed: then there is nothing to keep.
 */
export function useKeptDraft(name: string, values: object | null): void {
  const text = values && JSON.stringify(values)
  useEffect(() => {
    if (text === null) return
    try {
      storage()?.setItem(`${PREFIX}.${name}`, text)
    } catch {
      // A storage that is full keeps the draft before this one.
    }
  }, [name, text])
}

/** Null where the browser gives none. */
function storage(): Storage | null {
  try {
    return sessionStorage
  } catch {
    return null
  }
}

function parsed(text: string | null): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text ?? '{}')
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}

const KEPT_TYPES: ReadonlySet<string> = new Set(['string', 'number', 'object'])

function isAlike(one: unknown, other: unknown): boolean {
  if (Array.isArray(one) || Array.isArray(other)) return Array.isArray(one) && Array.isArray(other)
  // What is not chosen is null, and so is a Dockerfile while its repository is named.
  if (one === null || other === null) return other === null || KEPT_TYPES.has(typeof other)
  if (typeof one === 'object') return typeof other === 'object'
  // A number's field holds a text while it is typed.
  return typeof other === 'string' || typeof other === 'number'
}
