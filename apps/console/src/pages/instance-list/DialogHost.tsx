import type { Instance } from '@berth/contract/instances'
import { type ComponentType, type LazyExoticComponent, lazy, Suspense, useCallback, useState } from 'react'
import { focusBack } from '../../ui/focus-back.ts'
import type { RowAction } from './instance-actions.ts'
import type { InstanceDialogProps } from './instance-dialog.ts'
import { rowActionsId } from './RowActions.tsx'

type LazyDialog = LazyExoticComponent<ComponentType<InstanceDialogProps>>

const confirms = () => import('./ConfirmDialogs.tsx')

/** Each action's dialog; its code comes when it is first asked for. */
const DIALOGS: Record<RowAction, LazyDialog> = {
  connect: lazy(() => import('./ConnectDialog.tsx').then(module => ({ default: module.ConnectDialog }))),
  start: lazy(() => confirms().then(module => ({ default: module.StartDialog }))),
  stop: lazy(() => confirms().then(module => ({ default: module.StopDialog }))),
  restart: lazy(() => confirms().then(module => ({ default: module.RestartDialog }))),
  edit: lazy(() => import('./RenameDialog.tsx').then(module => ({ default: module.RenameDialog }))),
  events: lazy(() => import('./EventsDialog.tsx').then(module => ({ default: module.EventsDialog }))),
  terminate: lazy(() => confirms().then(module => ({ default: module.TerminateDialog }))),
}

interface Asked {
  action: RowAction
  /** As it was when it was asked for: an instance that is gone is still named while its dialog closes. */
  instance: Instance
  opened: boolean
  /** What had the focus: a button of the row, or an item of its menu, which is gone with the menu. */
  opener: HTMLElement | null
}

export interface Dialogs {
  asked: Asked | null
  /** `opener` gets the focus back; without one its row does. */
  ask: (action: RowAction, instance: Instance, opener?: HTMLElement | null) => void
  close: () => void
}

/** Which dialog is open, for which instance. */
export function useDialogs(): Dialogs {
  const [asked, setAsked] = useState<Asked | null>(null)
  const ask = useCallback<Dialogs['ask']>((action, instance, opener = focused()) => {
    setAsked({ action, instance, opened: true, opener })
  }, [])
  const close = useCallback(() => {
    if (asked?.opened) focusBack(() => openerOf(asked))
    setAsked(before => before && { ...before, opened: false })
  }, [asked])
  return { asked, ask, close }
}

/** The one dialog that is open, over the newest that is known of its instance. */
export function DialogHost({ dialogs, instances }: { dialogs: Dialogs; instances: readonly Instance[] }) {
  const { asked, close } = dialogs
  if (!asked) return null
  const { action, opened } = asked
  const id = asked.instance.instance_id
  const instance = instances.find(({ instance_id }) => instance_id === id) ?? asked.instance
  const Dialog = DIALOGS[action]
  return (
    <Suspense>
      <Dialog key={`${action}${id}`} instance={instance} opened={opened} onClose={close} />
    </Suspense>
  )
}

function focused(): HTMLElement | null {
  return document.activeElement instanceof HTMLElement ? document.activeElement : null
}

/** What gets the focus back: the button that was pressed, or its row's menu. */
function openerOf({ instance, opener }: Asked): HTMLElement | undefined {
  const buttons = document.getElementById(rowActionsId(instance.instance_id))?.querySelectorAll('button')
  return opener?.isConnected ? opener : buttons?.[buttons.length - 1]
}
