import type { Call } from '@berth/contract/call'
import { useTranslation } from 'react-i18next'
import { VerifiedButton } from '../app/session/VerifiedButton.tsx'
import { ActionMenu } from './ActionMenu.tsx'
import classes from './RowActions.module.css'
import { type RowActionItem, rowActionsId } from './row-action.ts'

interface RowActionsProps<Action extends string> {
  /** The row's own id. */
  rowKey: string
  /** What the row is called, for screen readers. */
  name: string
  /** The likeliest action. */
  primary: { action: Action; label: string; call: Call }
  /** Every action, asked for when the menu opens. */
  items: () => readonly RowActionItem<Action>[]
  /** Its dialog opens. */
  onAsk: (action: Action) => void
}

/** The likeliest action as a button, and all of them in a menu. */
export function RowActions<Action extends string>(props: RowActionsProps<Action>) {
  const { rowKey, name, primary, onAsk } = props
  const { t } = useTranslation('common')
  return (
    <div className={classes.actions} id={rowActionsId(rowKey)}>
      <VerifiedButton
        call={primary.call}
        size="xs"
        variant="default"
        data-row-target
        aria-label={t('row.action', { action: primary.label, name })}
        onClick={() => onAsk(primary.action)}
      >
        {primary.label}
      </VerifiedButton>
      <ActionMenu name={name} items={props.items} onAsk={onAsk} />
    </div>
  )
}
