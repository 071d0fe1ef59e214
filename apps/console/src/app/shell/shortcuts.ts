import { MENU } from './menu.ts'

/** What a shortcut does; `go` opens the page that it names. */
export type ShortcutAct = 'palette' | 'sheet' | 'filter' | 'menu' | 'go'

export interface Shortcut {
  act: ShortcutAct
  /** Keys one after the other. `mod` is held down together with the next one: Ctrl, or Cmd on a Mac. */
  keys: readonly string[]
  /** Where `go` leads. */
  path?: string
}

const ALL: readonly Shortcut[] = [
  { act: 'palette', keys: ['mod', 'k'] },
  { act: 'sheet', keys: ['?'] },
  { act: 'filter', keys: ['/'] },
  { act: 'menu', keys: ['['] },
  { act: 'go', keys: ['g', 'i'], path: '/instance-list' },
  { act: 'go', keys: ['g', 'e'], path: '/explore' },
  { act: 'go', keys: ['g', 'p'], path: '/payments' },
  { act: 'go', keys: ['g', 's'], path: '/settings' },
]

const built: readonly string[] = MENU.flatMap(group => group.entries.map(entry => entry.path))

/**
 * The one table of shortcuts: the listener acts by it, the sheet and the palette show it. A page that is not in the menu
 * has none.
 */
export const SHORTCUTS = ALL.filter(({ path }) => path === undefined || built.includes(path))

/** Whether a shortcut is made of single characters, which can be switched off (WCAG 2.1.4). */
export function isSingleKey({ keys }: Shortcut): boolean {
  return keys[0] !== 'mod'
}

/** What matters of a key press. */
export interface KeyPress {
  key: string
  ctrl: boolean
  meta: boolean
  alt: boolean
  /** AltGr, which many keyboards need for a bracket; browsers report it as Ctrl and Alt too. */
  altGraph: boolean
  /** Held down, or part of a word that an input method is still making. */
  partial: boolean
  /** The focus is where characters are typed. */
  typing: boolean
  /** A dialog is open, and keeps the keys to itself. */
  inDialog: boolean
}

/** The longest pause between the two keys of `g` `i`. */
const SECOND_KEY_MS = 1_500

/**
 * Makes what finds the shortcut that a row of key presses means.
 * @param deps.now Reads a clock in milliseconds.
 * @param deps.singleKeysOn Whether single characters count now.
 * @returns Gives the shortcut that this key completes; null for any other key.
 */
export function createShortcutMatcher(deps: { now: () => number; singleKeysOn: () => boolean }) {
  let first: { key: string; at: number } | null = null
  return (press: KeyPress): Shortcut | null => {
    const before = first
    first = null
    if (press.partial) return null
    const key = press.key.toLowerCase()
    if ((press.ctrl || press.meta) && !press.altGraph) {
      return press.alt ? null : (SHORTCUTS.find(one => !isSingleKey(one) && one.keys[1] === key) ?? null)
    }
    if (press.typing || press.inDialog || (press.alt && !press.altGraph) || !deps.singleKeysOn()) return null
    const singles = SHORTCUTS.filter(isSingleKey)
    if (before && deps.now() - before.at <= SECOND_KEY_MS) {
      const found = singles.find(({ keys }) => keys[0] === before.key && keys[1] === key)
      if (found) return found
    }
    if (singles.some(({ keys }) => keys.length > 1 && keys[0] === key)) first = { key, at: deps.now() }
    return singles.find(({ keys }) => keys.length === 1 && keys[0] === key) ?? null
  }
}
