import type { Call } from '@berth/contract/call'
import { Suspense, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { lazyPart } from '../app/lazy-part.ts'
import { VerifiedButton } from '../app/session/VerifiedButton.tsx'
import { MenuButton } from './MenuButton.tsx'
import classes from './RowActions.module.css'
import { type RowActionItem, rowActionsId } from './row-action.ts'

const load = () => import('./RowMenu.tsx')
const RowMenu = lazyPart(() => load().then(module => module.RowMenu))

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
  // What floats is heavy, so it is loaded when the pointer or the focus comes near.
  const [asked, setAsked] = useState(false)
  const preload = () => void load().catch(() => undefined)
  const closedMenu = (
    <MenuButton
      name={name}
      aria-expanded={false}
      onPointerEnter={preload}
      onFocus={preload}
      onClick={() => setAsked(true)}
    />
  )
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
      {asked ? (
        <Suspense fallback={closedMenu}>
          <RowMenu name={name} items={props.items()} onAsk={action => onAsk(action as Action)} />
        </Suspense>
      ) : (
        closedMenu
      )}
    </div>
  )
}
