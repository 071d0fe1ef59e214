import type { Instance } from '@berth/contract/instances'
import { Button } from '@mantine/core'
import { lazy, Suspense, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { VerifiedButton } from '../../app/session/VerifiedButton.tsx'
import { needsVerified, primaryAction, type RowAction } from './instance-actions.ts'
import { useInstanceTexts } from './instance-texts.ts'
import { MenuButton } from './MenuButton.tsx'
import classes from './RowActions.module.css'

const load = () => import('./RowMenu.tsx')
const RowMenu = lazy(() => load().then(module => ({ default: module.RowMenu })))

interface RowActionsProps {
  instance: Instance
  /** Asks for an action; its dialog opens. */
  onAsk: (action: RowAction, instance: Instance) => void
}

/** The likeliest action as a button, and all of them in a menu. */
export function RowActions({ instance, onAsk }: RowActionsProps) {
  const { t } = useTranslation('instances')
  const texts = useInstanceTexts()
  // What floats is heavy, so it is loaded when the pointer or the focus comes near.
  const [asked, setAsked] = useState(false)
  const preload = () => void load().catch(() => undefined)
  const primary = primaryAction(instance)
  const label = t('row.action', { action: texts.action(primary), name: instance.name })
  const PrimaryButton = needsVerified(primary) ? VerifiedButton : Button
  const closedMenu = (
    <MenuButton
      name={instance.name}
      aria-expanded={false}
      onPointerEnter={preload}
      onFocus={preload}
      onClick={() => setAsked(true)}
    />
  )
  return (
    <div className={classes.actions} id={rowActionsId(instance.instance_id)}>
      <PrimaryButton size="xs" variant="default" aria-label={label} onClick={() => onAsk(primary, instance)}>
        {texts.action(primary)}
      </PrimaryButton>
      {asked ? (
        <Suspense fallback={closedMenu}>
          <RowMenu instance={instance} onAsk={onAsk} />
        </Suspense>
      ) : (
        closedMenu
      )}
    </div>
  )
}

/** The id of the element that holds a row's buttons: the focus comes back there when a dialog closes. */
export function rowActionsId(instanceId: string): string {
  return `actions-${instanceId}`
}
