import type { Call } from '@berth/contract/call'
import { VerifiedButton } from '../app/session/VerifiedButton.tsx'
import { ActionMenu } from './ActionMenu.tsx'
import classes from './RowActions.module.css'
import { RowButton } from './RowButton.tsx'
import { type RowActionItem, rowActionsId } from './row-action.ts'

interface RowActionsProps<Action extends string> {
  /** The row's own id. */
  rowKey: string
  /** The likeliest action. */
  primary: {
    action: Action
    label: string
    /** Its name with that of the row, for screen readers. */
    said: string
    call: Call
    /** Why it is off, in a sentence; null when it is not. */
    off: string | null
  }
  /** What the menu is called, for screen readers. */
  menuLabel: string
  /** Every action, asked for when the menu opens. */
  items: () => readonly RowActionItem<Action>[]
  /** Its dialog opens. */
  onAsk: (action: Action) => void
}

/**
 * The likeliest action as a button, and all of them in a menu. Rows come by the hundred while a list is scrolled: all
 * words are given, so that none follows the language or the session by itself.
 */
export function RowActions<Action extends string>(props: RowActionsProps<Action>) {
  const { rowKey, primary, menuLabel, onAsk } = props
  const ask = () => onAsk(primary.action)
  return (
    <div className={classes.actions} id={rowActionsId(rowKey)}>
      {primary.off === null ? (
        <RowButton data-row-target aria-label={primary.said} onClick={ask}>
          {primary.label}
        </RowButton>
      ) : (
        <VerifiedButton
          call={primary.call}
          size="xs"
          variant="default"
          data-row-target
          aria-label={primary.said}
          reason={primary.off}
        >
          {primary.label}
        </VerifiedButton>
      )}
      <ActionMenu label={menuLabel} items={props.items} onAsk={onAsk} />
    </div>
  )
}
