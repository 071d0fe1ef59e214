import type { Icon } from '@tabler/icons-react'

/** Something that can be done with a row. */
export interface RowActionItem<Action extends string> {
  action: Action
  /** A verb. */
  label: string
  icon: Icon
  /** Why it is off, in a sentence; null when it is not. */
  reason: string | null
  /** Cannot be undone: stands last, in red, under a line. */
  danger?: boolean
}

/** The id of the element that holds a row's buttons: the focus comes back there when a dialog closes. */
export function rowActionsId(key: string): string {
  return `actions-${key}`
}

/** The button of a row's menu, which takes the focus where the one that was pressed is gone. */
export function menuButtonOf(key: string): HTMLElement | undefined {
  return [...(document.getElementById(rowActionsId(key))?.querySelectorAll('button') ?? [])].at(-1)
}
