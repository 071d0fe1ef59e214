import type { IconServer } from '@tabler/icons-react'

/** The parts of the palette, in the order in which they stand before anything is typed. */
export const PALETTE_GROUPS = ['pages', 'instances', 'commands'] as const
export type PaletteGroup = (typeof PALETTE_GROUPS)[number]

/** Something that the palette offers. */
export interface PaletteRow {
  id: string
  group: PaletteGroup
  label: string
  /** Beside the label: what it belongs to. */
  hint?: string
  /** Found by these words too. */
  words?: string
  icon: typeof IconServer
  /** The shortcut that does the same. */
  keys?: readonly string[]
  /** Why it cannot be done now. */
  off?: string | null
  /** Only shown to those who type for it. */
  onlyAsked?: boolean
  /** Where it ends: `opens` another dialog, once this one is closed; `leaves` for another page; `stays` in the palette. */
  ends?: 'opens' | 'leaves' | 'stays'
  run: () => void
}

/** Instances that are shown at a time: what is further down is found by typing more. */
const INSTANCES_SHOWN_MAX = 8

/**
 * The rows that a text finds: every one of its words stands in the row, whatever their case and width. What begins
 * with the text comes first, and so does its group.
 * @param rows Everything that there is.
 * @param text As typed; blank finds all that need not be asked for.
 * @returns Groups that have rows, in order.
 */
export function findRows(
  rows: readonly PaletteRow[],
  text: string,
): { group: PaletteGroup; rows: PaletteRow[] }[] {
  const wanted = plain(text).split(/\s+/).filter(Boolean)
  const found = rows
    .filter(row => wanted.length > 0 || !row.onlyAsked)
    .map(row => ({ row, rank: rankOf(row, wanted) }))
    .filter(({ rank }) => rank < NOT_FOUND)
    .sort((one, other) => one.rank - other.rank)
  return PALETTE_GROUPS.map(group => found.filter(({ row }) => row.group === group))
    .filter(group => group.length > 0)
    .sort((one, other) => (one[0]?.rank ?? 0) - (other[0]?.rank ?? 0))
    .map(found => {
      const group = found[0]?.row.group ?? 'pages'
      const shown = group === 'instances' ? found.slice(0, INSTANCES_SHOWN_MAX) : found
      return { group, rows: shown.map(({ row }) => row) }
    })
}

const NOT_FOUND = 3

/** 0: the label begins so. 1: every word begins one of the row's. 2: each stands somewhere in it. */
function rankOf({ label, hint = '', words = '' }: PaletteRow, wanted: readonly string[]): number {
  if (plain(label).startsWith(wanted.join(' '))) return 0
  const all = plain(`${label} ${hint} ${words}`)
  if (!wanted.every(word => all.includes(word))) return NOT_FOUND
  const begins = all.split(/[\s·_-]+/)
  return wanted.every(word => begins.some(one => one.startsWith(word))) ? 1 : 2
}

function plain(text: string): string {
  return text.normalize('NFKC').toLowerCase().trim()
}
